"""Found through PYTHONPATH by processes that `anabranch run` starts."""

from anabranch import aliases

aliases.take_over(__name__)
if aliases.real_spec(__name__) is None:
    from anabranch.npu import install

    install()
