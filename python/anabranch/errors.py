"""Errors of anabranch as the user sees them.

Dynamo wraps whatever a backend raises, unless it is a ShortenTraceback: deriving from it keeps the
type of our errors, with ``fullgraph=True`` and without.
"""

from torch._dynamo.exc import ShortenTraceback


class CompileError(ShortenTraceback):
    """The graph cannot be compiled: says which operator, from which line, and the way out."""

    def __init__(self, message):
        super().__init__(message, first_useful_frame=None)


class ScopeBreakError(CompileError):
    """A graph break inside a scope: the scope's operators would not all be in one graph."""


class _Argument(ShortenTraceback):
    def __init__(self, message):
        Exception.__init__(self, message)
        self.first_useful_frame = None


class ScopeTypeError(_Argument, TypeError):
    """An argument of a scope or a wait has the wrong type."""


class ScopeValueError(_Argument, ValueError):
    """An argument of a scope or a wait has a value that is not allowed."""


class OptionError(_Argument, ValueError):
    """An unknown option or a value outside its list; the message lists what is valid."""


ARGUMENT_ERRORS = {"TypeError": ScopeTypeError, "ValueError": ScopeValueError}


def compile_error(what, *, node=None, source=None, fix):
    """A CompileError about one operator of a graph, in the form of the C++ diagnostics."""
    where = f" in {node.name} ({node.target})" if node is not None else ""
    line = f" at {source}" if source else ""
    return CompileError(f"{what}{where}{line}\n  fix: {fix}")
