"""torchair.npu_export: offline export of models."""

import torch

from anabranch.config import CompilerConfig
from anabranch.missing import not_built

__all__ = ["dynamo_export"]


@not_built(
    "torchair.dynamo_export",
    'set config.debug.graph_dump.type = "pbtxt" and call the compiled model for a dump, or use '
    "torch.export to keep a model",
)
def dynamo_export(
    *args,
    model: torch.nn.Module,
    export_path: str = "export_file",
    export_name: str = "export",
    dynamic: bool = False,
    config=CompilerConfig(),
    **kwargs,
):
    """Exports the model's graph."""
