"""torchair.tools.gegraph_check.deadlock_check: streams that wait for each other."""

from anabranch.missing import not_built

__all__ = ["deadlock_check"]


@not_built(
    "torchair.tools.gegraph_check.deadlock_check.deadlock_check",
    "every schedule is verified to be free of deadlock before its first run",
)
def deadlock_check(input_path, output_path, aivec_total, merge_gap=0.0):
    """Looks for deadlocks in a profile."""
