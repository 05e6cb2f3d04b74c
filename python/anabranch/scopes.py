"""Scopes: context managers that give attributes to the operators traced inside them.

A scope keeps no state of its own: entering and leaving leave markers in the graph that is being
traced, and the stack of open scopes exists only there. So a scope object may be entered again,
inside itself too, and an exception leaks nothing. In eager mode a scope does nothing.
"""

import functools

import torch

from anabranch import breaks, dynamo, markers
from anabranch.errors import ARGUMENT_ERRORS


def refuse(kind, message):
    """Raises the TypeError or ValueError; while tracing, leaves it to the backend to raise.

    Raised in traced code it would reach the user as Dynamo's own `Unsupported`.
    """
    if torch.compiler.is_compiling():
        markers.error(kind, message)
    else:
        raise ARGUMENT_ERRORS[kind](message)


def _is_text(value):
    """False for half a character (a lone surrogate), which no file can hold."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


class Scope:
    """Base of all scopes. `attributes` are flattened `key`, `kind:value` pairs; none if refused."""

    def __init__(self, attributes, text):
        self.attributes = attributes
        self.text = text

    def __enter__(self):
        if torch.compiler.is_compiling():
            markers.scope_enter(self.attributes)
        return self

    def __exit__(self, kind, value, trace):
        if torch.compiler.is_compiling():
            markers.scope_exit()
        elif kind is None:
            breaks.check_scope(self.text)
        return False

    def __call__(self, function):
        """Use as a decorator: the whole function is in the scope."""
        attributes, text = self.attributes, self.text

        @functools.wraps(function)
        def scoped(*args, **kwargs):
            with Scope(attributes, text):
                return function(*args, **kwargs)

        return scoped


class npu_stream_switch(Scope):
    """Operators traced inside run on the stream `stream_tag`; "" is the default stream.

    A smaller `stream_priority` runs first. `enable_inner_parallel=False` keeps the label one strict
    queue. The same tag is the same stream wherever it appears.
    """

    def __init__(
        self, stream_tag: str, stream_priority: int = 0, enable_inner_parallel: bool = True
    ):
        attributes = []
        if not isinstance(stream_tag, str):
            refuse("TypeError", f"stream_tag must be a str, not {type(stream_tag).__name__}")
        elif not _is_text(stream_tag):
            refuse("ValueError", f"stream_tag must be text without lone surrogates: {stream_tag!a}")
        elif isinstance(stream_priority, bool) or not isinstance(stream_priority, int):
            found = type(stream_priority).__name__
            refuse("TypeError", f"stream_priority must be an int, not {found}")
        elif not isinstance(enable_inner_parallel, bool):
            found = type(enable_inner_parallel).__name__
            refuse("TypeError", f"enable_inner_parallel must be a bool, not {found}")
        else:
            attributes = [
                "_user_stream_label",
                f"s:{stream_tag}",
                "_user_stream_priority",
                f"s:{int(stream_priority)}",
                "_enable_inner_parallel",
                "b:1" if enable_inner_parallel else "b:0",
            ]
        super().__init__(attributes, f'npu_stream_switch("{stream_tag}")')


stream = npu_stream_switch


class super_kernel(Scope):
    """Operators inside are one launch unit; `None` or "" takes them out of an outer one."""

    def __init__(self, scope: str, options: str = ""):
        attributes = []
        if scope is not None and not isinstance(scope, str):
            refuse("TypeError", f"scope must be a str or None, not {type(scope).__name__}")
        elif scope and not _is_text(scope):
            refuse("ValueError", f"scope must be text without lone surrogates: {scope!a}")
        elif not isinstance(options, str):
            refuse("TypeError", f"options must be a str, not {type(options).__name__}")
        elif not scope:
            attributes = ["_super_kernel_scope", "d:", "_super_kernel_options", "d:"]
        else:
            attributes = [
                "_super_kernel_scope",
                f"s:{scope}",
                "_super_kernel_options",
                f"s:{options}",
            ]
        super().__init__(attributes, f'super_kernel("{scope}")')


def _is_core_count(value):
    if isinstance(value, str):
        return value.isdecimal()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class limit_core_num(Scope):
    """Caps the cores that each operator inside may use; integers or their decimal strings.

    They count cores of an NPU: `op_aicore_num` of 24 for matrix products, convolutions and attention,
    `op_vectorcore_num` of 48 for all others. Here an operator gets its share of the threads.
    """

    def __init__(self, op_aicore_num: int, op_vectorcore_num: int):
        attributes = []
        if not _is_core_count(op_aicore_num):
            refuse("TypeError", "op_aicore_num must be a number of cores, such as 8")
        elif not _is_core_count(op_vectorcore_num):
            refuse("TypeError", "op_vectorcore_num must be a number of cores, such as 16")
        elif int(op_aicore_num) == 0:
            refuse("ValueError", "op_aicore_num must be at least 1")
        elif int(op_vectorcore_num) == 0:
            refuse("ValueError", "op_vectorcore_num must be at least 1")
        else:
            attributes = [
                "_op_aicore_num",
                f"s:{int(op_aicore_num)}",
                "_op_vectorcore_num",
                f"s:{int(op_vectorcore_num)}",
            ]
        super().__init__(attributes, f"limit_core_num({op_aicore_num}, {op_vectorcore_num})")


class op_never_timeout(Scope):
    """Operators inside are exempt from the execution time limit."""

    def __init__(self, enable: bool = True):
        attributes = []
        if not isinstance(enable, bool):
            refuse("TypeError", f"enable must be a bool, not {type(enable).__name__}")
        else:
            attributes = ["_op_exec_never_timeout", "b:1" if enable else "b:0"]
        super().__init__(attributes, f"op_never_timeout({enable})")


class data_dump(Scope):
    """Marks the operators inside for data dumps."""

    def __init__(self):
        super().__init__(["torchair_enable_data_dump", "s:True"], "data_dump()")


_CLASSES = (Scope, npu_stream_switch, super_kernel, limit_core_num, op_never_timeout, data_dump)

for _class in _CLASSES:
    breaks.keep_out_of_own_graph(*(f for f in vars(_class).values() if callable(f)))
breaks.keep_out_of_own_graph(refuse, _is_core_count, _is_text)
dynamo.know_scopes(_CLASSES)
