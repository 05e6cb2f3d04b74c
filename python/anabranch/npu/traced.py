"""The device name "npu" while Dynamo traces: it traces as if the mode of names.py were not there.

A function mode changes what Dynamo does: comparisons become methods, calls take other ways, and
NumPy and parts of torch.func fail. So Dynamo does not see ours, and the names are mapped among the
arguments that Dynamo itself passes to torch. This is Dynamo's internal interface: when it is another
one, Dynamo traces the mode, which works for most programs.
"""

import contextlib
import functools

import torch

from anabranch.log import logger


def install(mode, mapped):
    """Hides modes of the class `mode`; `mapped(function, args, kwargs, read, write)` maps names."""
    try:
        _learn_torch()
        _hide(mode)
        _map_arguments(mapped)
    except (ImportError, AttributeError) as problem:
        logger.warning('device="npu" in compiled functions works in part only: %s', problem)


def _learn_torch():
    """Dynamo's tables of torch's functions are made before names.py wraps some of them: a wrapper
    is then traced as what it is, and the function inside is the one that Dynamo knows."""
    from torch._dynamo import trace_rules
    from torch._dynamo.variables import TorchInGraphFunctionVariable

    trace_rules.get_torch_obj_rule_map()
    TorchInGraphFunctionVariable._get_handlers()


def _hide(mode):
    from torch._dynamo.variables.torch_function import SymbolicTorchFunctionState as State

    pop = State._pop_mode_for_inlining

    def is_hidden(variable):
        return isinstance(_known(variable), mode)

    def in_torch_function_mode(self):
        return not all(map(is_hidden, self.mode_stack))

    @contextlib.contextmanager
    def pop_mode(self):
        """Pops the innermost mode that is not hidden; those above it are away meanwhile."""
        above = []
        while is_hidden(self.mode_stack[-1]):
            above.append(self.mode_stack.pop())
        try:
            with pop(self) as popped:
                yield popped
        finally:
            self.mode_stack.extend(reversed(above))

    State.in_torch_function_mode = in_torch_function_mode
    State._pop_mode_for_inlining = pop_mode


def _known(variable):
    """The constant, or the mode, that Dynamo's variable stands for, without a guard on it."""
    from torch._dynamo.variables import ConstantVariable, LazyVariableTracker
    from torch._dynamo.variables.torch_function import TorchFunctionModeVariable

    if isinstance(variable, LazyVariableTracker):
        if not variable.is_realized():
            return variable.peek_value()
        variable = variable.realize()
    if isinstance(variable, (ConstantVariable, TorchFunctionModeVariable)):
        return variable.value
    return None


def _map_arguments(mapped):
    from torch._dynamo.variables import (
        ConstantVariable,
        TensorVariable,
        TorchInGraphFunctionVariable,
        UserDefinedClassVariable,
    )

    def write(variable, value):
        variable.realize()  # with its guard: the graph holds for this name only
        return ConstantVariable.create(value)

    def map_variables(function, args, kwargs):
        args, kwargs = mapped(function, args, kwargs, _known, write)
        return list(args), kwargs

    def map_calls(kind, concerns):
        original = kind.call_function

        @functools.wraps(original)
        def call_function(self, tx, args, kwargs):
            if concerns(self.value):
                args, kwargs = map_variables(self.value, args, kwargs)
            return original(self, tx, args, kwargs)

        kind.call_function = call_function

    call_method = TensorVariable.call_method

    @functools.wraps(call_method)
    def map_method(self, tx, name, args, kwargs):
        if args or kwargs:
            method = getattr(torch.Tensor, name, None)
            (_, *args), kwargs = map_variables(method, [self, *args], kwargs)
        return call_method(self, tx, name, args, kwargs)

    map_calls(TorchInGraphFunctionVariable, lambda function: True)
    map_calls(UserDefinedClassVariable, lambda kind: kind is torch.device)
    TensorVariable.call_method = map_method
