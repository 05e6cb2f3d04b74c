"""Found through PYTHONPATH by processes that `anabranch run` starts."""

from anabranch.aliases import take_over

take_over(__name__)
