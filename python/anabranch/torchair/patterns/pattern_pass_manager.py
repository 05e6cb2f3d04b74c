"""torchair.patterns.pattern_pass_manager: user-defined rewrites of the graph."""

from anabranch.missing import not_built

__all__ = ["fwd_only", "register_replacement"]


def fwd_only(function, arguments):
    """The graph of the function's forward computation."""
    from torch._inductor.pattern_matcher import fwd_only as trace

    return trace(function, arguments)


def _return_true(match):
    return True


@not_built(
    "torchair.register_replacement",
    "replace the pattern in the model's code; the captured graph is what the code says",
)
def register_replacement(
    search_fn,
    replace_fn,
    example_inputs,
    trace_fn=fwd_only,
    extra_check=_return_true,
    search_fn_pattern=None,
    scalar_workaround=None,
    skip_duplicates=False,
):
    """Registers a rewrite of a pattern of operators."""
