"""torchair.tools."""

from anabranch.torchair.tools import gegraph_check

__all__ = ["gegraph_check"]
