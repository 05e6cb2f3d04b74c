"""torchair.configs.compiler_config: the class of the options."""

from anabranch.config import CompilerConfig

__all__ = ["CompilerConfig"]
