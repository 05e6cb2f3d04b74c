"""torchair.tools.gegraph_check: checks of profiles and graphs."""

from anabranch.torchair.tools.gegraph_check import align_trace, deadlock_check, filter_operators

__all__ = ["align_trace", "deadlock_check", "filter_operators"]
