"""Size expressions: from torch's symbolic integers to the text of the graph."""

import sympy
import torch


class Unsupported(Exception):
    """The size is not an integer expression that the graph text knows."""


def expression_of(value):
    """An int stays; a SymInt becomes its sympy expression, or an int when it is constant."""
    if isinstance(value, torch.SymInt):
        value = value.node.expr
    if isinstance(value, sympy.Integer):
        return int(value)
    return value


def symbols_of(value):
    """The names of the symbols in a size."""
    value = expression_of(value)
    return {str(s) for s in value.free_symbols} if isinstance(value, sympy.Basic) else set()


def _fold(items, separator):
    text = items[0]
    for item in items[1:]:
        text = f"({text}{separator}{item})"
    return text


def _call(name, items):
    text = items[0]
    for item in items[1:]:
        text = f"{name}({text},{item})"
    return text


def print_size(value):
    """The text of a size; Unsupported when it has no integer form."""
    value = expression_of(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, sympy.Symbol):
        return str(value)
    kind = type(value).__name__
    items = getattr(value, "args", ())
    if isinstance(value, (sympy.Add, sympy.Mul)) or kind in ("Min", "Max"):
        items = sorted(items, key=lambda item: (item.is_number, str(item)))  # `s0*2`, always
    arguments = [print_size(item) for item in items]
    if isinstance(value, sympy.Add):
        return _fold(arguments, "+")
    if isinstance(value, sympy.Mul):
        return _fold(arguments, "*")
    if isinstance(value, sympy.Pow) and isinstance(value.exp, sympy.Integer) and value.exp > 0:
        return _fold([arguments[0]] * int(value.exp), "*")
    if kind == "PowByNatural" and isinstance(value.args[1], sympy.Integer):
        return _fold([arguments[0]] * int(value.args[1]), "*")
    if kind in ("FloorDiv", "CleanDiv"):
        return f"({arguments[0]}//{arguments[1]})"
    if kind in ("Mod", "PythonMod"):
        return f"mod({arguments[0]},{arguments[1]})"
    if kind == "ModularIndexing":
        return f"mod(({arguments[0]}//{arguments[1]}),{arguments[2]})"
    if kind in ("Min", "Max"):
        return _call(kind.lower(), arguments)
    raise Unsupported(str(value))
