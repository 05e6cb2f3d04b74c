"""torchair.core: scripts import the logger from `torchair.core.utils`, which is anabranch.log."""

import sys

from anabranch import log

utils = sys.modules[__name__ + ".utils"] = log

__all__ = ["utils"]
