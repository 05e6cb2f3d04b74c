"""torchair.npu_fx_compiler: the ways to make a compiler."""

from typing import Dict

from anabranch import capture
from anabranch.config import CompilerConfig

__all__ = ["get_compiler", "get_npu_backend"]


def get_npu_backend(*, compiler_config: CompilerConfig = None, custom_decompositions: Dict = {}):
    """A backend for torch.compile with these options."""
    return capture.backend(compiler_config, decompositions=custom_decompositions or None)


def get_compiler(compiler_config: CompilerConfig = None):
    """A compiler of ATen graphs for AOTAutograd with these options."""
    return capture.get_compiler(compiler_config)
