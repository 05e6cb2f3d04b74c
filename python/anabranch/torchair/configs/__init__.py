"""torchair.configs: options of the compiler."""

from anabranch.torchair.configs import compiler_config

__all__ = ["compiler_config"]
