"""Size expressions print as the graph text reads them."""

import pytest
import sympy
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod, ModularIndexing, PythonMod

from anabranch.expressions import Unsupported, print_size, symbols_of

S0, S1 = sympy.symbols("s0 s1", integer=True, positive=True)


@pytest.mark.parametrize("expression, text", [
    (4, "4"),
    (sympy.Integer(-2), "-2"),
    (S0, "s0"),
    (S0 * 2, "(s0*2)"),
    (S0 - 1, "(s0+-1)"),
    (S0**3, "((s0*s0)*s0)"),
    (FloorDiv(S0, 2), "(s0//2)"),
    (Mod(S0, 4), "mod(s0,4)"),
    (PythonMod(S0, 4), "mod(s0,4)"),
    (ModularIndexing(S0, 2, 3), "mod((s0//2),3)"),
    (Max(S0, 8), "max(s0,8)"),
    (Min(S0, S1), "min(s0,s1)"),
])
def test_forms(expression, text):
    assert print_size(expression) == text


def test_what_is_no_integer_expression_is_refused():
    with pytest.raises(Unsupported):
        print_size(S0 / 2)
    with pytest.raises(Unsupported):
        print_size(sympy.sqrt(S0))


def test_symbols():
    assert symbols_of(S0 * 2 + S1) == {"s0", "s1"} and symbols_of(3) == set()
