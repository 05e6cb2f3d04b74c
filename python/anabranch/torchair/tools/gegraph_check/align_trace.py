"""torchair.tools.gegraph_check.align_trace: profiles of several ranks on one clock."""

from anabranch.missing import not_built

__all__ = ["align_trace_json"]


@not_built(
    "torchair.tools.gegraph_check.align_trace.align_trace_json",
    "open the traces side by side in Perfetto, or use `anabranch run --trace FILE`",
)
def align_trace_json(input, output, merge_gap=0.0):
    """Aligns traces."""
