"""torchair.patterns."""

from anabranch.torchair.patterns import pattern_pass_manager

__all__ = ["pattern_pass_manager"]
