"""torchair.tools.gegraph_check.filter_operators: the collectives of a profile."""

from anabranch.missing import not_built

__all__ = ["filter_comm_ops"]


@not_built(
    "torchair.tools.gegraph_check.filter_operators.filter_comm_ops",
    "filter the JSON that `anabranch run --trace FILE` writes by operator name",
)
def filter_comm_ops(input_path, output_path, merge_gap=0.0):
    """Keeps the collectives of a profile."""
