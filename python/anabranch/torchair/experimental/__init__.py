"""torchair.experimental."""

from anabranch.torchair.experimental import inference

__all__ = ["inference"]
