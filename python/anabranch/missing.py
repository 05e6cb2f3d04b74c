"""Names of TorchAir that are not built yet: they exist, and say what to use instead."""

import functools


class NotBuilt(NotImplementedError):
    """The name is known and not built; the message says what to use instead."""


class NotBuiltAttribute(NotBuilt, AttributeError):
    """The same for an attribute of a module, so that hasattr says it is missing."""


def refuse(name, instead, kind=NotBuilt):
    raise kind(f"{name} is not available in anabranch: {instead}")


def not_built(name, instead):
    """Decorator: the function keeps its signature and docstring; a call raises."""

    def decorate(function):
        @functools.wraps(function)
        def refused(*arguments, **keywords):
            refuse(name, instead)

        return refused

    return decorate
