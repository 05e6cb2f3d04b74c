"""TorchAir's public names, served by anabranch (docs/compatibility.md)."""

from anabranch.config import CompilerConfig
from anabranch.log import logger
from anabranch.torchair import (
    configs,
    core,
    experimental,
    ge,
    inference,
    llm_datadist,
    npu_export,
    npu_fx_compiler,
    ops,
    patterns,
    scope,
    tools,
)
from anabranch.torchair.experimental.inference import (
    npu_format_cast_via_cpu,
    use_internal_format_weight,
)
from anabranch.torchair.ge import register_fx_node_ge_converter
from anabranch.torchair.hcom import patch_for_hcom
from anabranch.torchair.npu_export import dynamo_export
from anabranch.torchair.npu_fx_compiler import get_compiler, get_npu_backend
from anabranch.torchair.patterns.pattern_pass_manager import register_replacement

__all__ = [
    "CompilerConfig",
    "configs",
    "core",
    "dynamo_export",
    "experimental",
    "ge",
    "get_compiler",
    "get_npu_backend",
    "inference",
    "llm_datadist",
    "logger",
    "npu_export",
    "npu_format_cast_via_cpu",
    "npu_fx_compiler",
    "ops",
    "patch_for_hcom",
    "patterns",
    "register_fx_node_ge_converter",
    "register_replacement",
    "scope",
    "tools",
    "use_internal_format_weight",
]
