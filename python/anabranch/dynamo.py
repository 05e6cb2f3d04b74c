"""Makes Dynamo enter and leave scopes, and wait, without tracing our functions: much faster.

Also lets scope objects that were made outside the compiled function be used in it. This is Dynamo's
internal interface, so all of it is guarded: without it scopes are traced like any other class.
"""

import torch

from anabranch import markers, progress
from anabranch.log import logger


def know_scopes(classes):
    """Registers the scope classes, and objects of exactly these classes, with Dynamo."""
    try:
        _register(classes)
    except (ImportError, AttributeError, TypeError) as problem:
        logger.warning("scope objects must be made inside the compiled function: %s", problem)


def know_wait(function):
    """Registers npu_wait_tensor with Dynamo."""
    try:
        _register_wait(function)
    except (ImportError, AttributeError, TypeError) as problem:
        logger.warning("waits are traced slowly: %s", problem)


def _register_wait(function):
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.variables import TensorVariable, UserFunctionVariable
    from torch._dynamo.variables.builder import VariableBuilder

    class WaitVariable(UserFunctionVariable):
        def call_function(self, tx, args, kwargs):
            tensors = [variable.realize() for variable in args]
            if kwargs or len(tensors) != 2 or not all(
                    type(variable) is TensorVariable for variable in tensors):
                # Traced, so that a refused argument leaves its marker for the backend to raise.
                return super().call_function(tx, args, kwargs)
            _show_progress(tx)
            # The marker makes nothing, so no fake tensors have to run through it.
            tx.output.create_proxy(
                "call_function", markers.wait_mark,
                tuple(variable.as_proxy() for variable in tensors), {})
            return tensors[0]

    def wrap(builder, value):
        builder.install_guards(GuardBuilder.ID_MATCH)
        return WaitVariable(value, source=builder.source)

    VariableBuilder._id_dispatch()[id(function)] = wrap


def _register(classes):
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.variables.builder import VariableBuilder

    scope_variable, class_variable = _variables()

    def wrap_object(builder, value):
        builder.install_guards(GuardBuilder.ID_MATCH)
        return scope_variable(value, source=builder.source)

    def wrap_class(builder, value):
        builder.install_guards(GuardBuilder.ID_MATCH)
        return class_variable(value, source=builder.source)

    for trace_numpy in (True, False):
        table = VariableBuilder._type_dispatch_impl(trace_numpy)
        table.update(dict.fromkeys(classes, wrap_object))
    VariableBuilder._id_dispatch().update({id(each): wrap_class for each in classes})


def _variables():
    """What stands for a scope object and for a scope class while Dynamo traces."""
    from torch._dynamo.utils import check_constant_args
    from torch._dynamo.variables import ConstantVariable, UserDefinedClassVariable
    from torch._dynamo.variables.ctx_manager import GenericContextWrappingVariable

    class ScopeVariable(GenericContextWrappingVariable):
        def enter(self, tx):
            _show_progress(tx)
            _mark(tx, markers.scope_enter, list(self.cm_obj.attributes))
            return self

        def exit(self, tx, *arguments):
            _mark(tx, markers.scope_exit)
            tx.active_generic_context_managers.pop()
            return ConstantVariable.create(False)

        def reconstruct(self, codegen):
            """After a graph break: the same object, which has no state of its own."""
            if self.source is not None:
                codegen(self.source)
                return
            name = codegen.tx.output.install_global_by_id("anabranch_scope", self.cm_obj)
            codegen.append_output(codegen.create_load_global(name, add=True))

    class ScopeClassVariable(UserDefinedClassVariable):
        def call_function(self, tx, args, kwargs):
            if check_constant_args(args, kwargs):
                given = [value.as_python_constant() for value in args]
                named = {name: value.as_python_constant() for name, value in kwargs.items()}
                try:
                    scope = self.value(*given, **named)
                except (TypeError, ValueError):  # too many arguments, an unknown name
                    scope = None
                if scope is not None and scope.attributes:
                    return ScopeVariable(scope)
            # Traced, so that a refused argument leaves its marker for the backend to raise.
            return super().call_function(tx, args, kwargs)

    return ScopeVariable, ScopeClassVariable


def _show_progress(tx):
    progress.at("tracing", len(tx.output.graph.nodes), "operators so far")


def _mark(tx, marker, *arguments):
    tx.output.create_node("call_function", marker, arguments, {})
