"""Names of TorchAir that are not built yet: they exist, and say what to use instead."""

import functools


def refuse(name, instead):
    raise NotImplementedError(f"{name} is not available in anabranch: {instead}")


def not_built(name, instead):
    """Decorator: the function keeps its signature and docstring; a call raises."""

    def decorate(function):
        @functools.wraps(function)
        def refused(*arguments, **keywords):
            refuse(name, instead)

        return refused

    return decorate
