"""Size expressions: from torch's symbolic numbers to the text of the graph."""

import sympy
import torch


class Unsupported(Exception):
    """The size is not an integer expression that the graph text knows."""


def expression_of(value):
    """An int stays; a SymInt or SymBool becomes its sympy expression, or an int when constant."""
    if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
        value = value.node.expr
    if isinstance(value, sympy.Integer):
        return int(value)
    if value is sympy.true or value is sympy.false:
        return int(value is sympy.true)
    return value


def symbols_of(value):
    """The names of the symbols in a size."""
    value = expression_of(value)
    return {str(s) for s in value.free_symbols} if isinstance(value, sympy.Basic) else set()


_COMPARISONS = {
    sympy.Eq: ("eq", False),
    sympy.Ne: ("ne", False),
    sympy.StrictLessThan: ("lt", False),
    sympy.LessThan: ("le", False),
    sympy.StrictGreaterThan: ("lt", True),  # with its sides exchanged
    sympy.GreaterThan: ("le", True),
}


def _print_condition(value):
    """The text of a comparison or a connection of such; None when it is no condition."""
    if isinstance(value, (sympy.And, sympy.Or)):
        name = "and" if isinstance(value, sympy.And) else "or"
        return _call(name, sorted(print_size(item) for item in value.args))
    if isinstance(value, sympy.Not):
        return f"eq({print_size(value.args[0])},0)"
    for kind, (name, exchanged) in _COMPARISONS.items():
        if isinstance(value, kind):
            sides = [print_size(item) for item in value.args]
            return _call(name, sides[::-1] if exchanged else sides)
    return None


def _print_choice(value):
    """`a if condition else b`, which torch writes as a Piecewise of two."""
    if len(value.args) != 2 or value.args[1][1] is not sympy.true:
        raise Unsupported(str(value))
    (first, condition), (second, _) = value.args
    chosen = print_size(condition)
    return f"(({chosen}*{print_size(first)})+(eq({chosen},0)*{print_size(second)}))"


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
    condition = _print_condition(value)
    if condition is not None:
        return condition
    if isinstance(value, sympy.Piecewise):
        return _print_choice(value)
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
