"""npugraph_ex: TorchAir's second front door, served by anabranch."""

from anabranch.config import CompilerConfig
from anabranch.torchair.npu_fx_compiler import get_compiler, get_npu_backend
from anabranch.torchair.patterns.pattern_pass_manager import register_replacement

__all__ = [
    "CompilerConfig",
    "compile_fx",
    "get_compiler",
    "get_npu_backend",
    "register_replacement",
]


def compile_fx(model_, example_inputs_, config_patches=None, **kwargs):
    """A torch.compile backend as a function of the graph, with the default options."""
    from anabranch import capture

    return capture.backend(model_, example_inputs_, options=config_patches, **kwargs)
