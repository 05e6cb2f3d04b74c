"""How tensors and literal arguments of an ATen graph look in the graph text."""

import json

import torch

from anabranch.expressions import Unsupported, expression_of, print_size

DTYPES = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fnuz: "f8e4m3fnuz",
    torch.float8_e5m2fnuz: "f8e5m2fnuz",
    torch.complex32: "c32",
    torch.complex64: "c64",
    torch.complex128: "c128",
}


class Buffers:
    """Numbers the storages of a graph. The tensors must live as long as the numbers are used."""

    def __init__(self):
        self._numbers = {}
        self._count = 0

    def known(self, tensor):
        return self._key(tensor) in self._numbers

    def number(self, tensor):
        key = self._key(tensor)
        if key not in self._numbers:
            self._numbers[key] = self.fresh()
        return self._numbers[key]

    def fresh(self):
        self._count += 1
        return self._count - 1

    @staticmethod
    def _key(tensor):
        return tensor.untyped_storage()._cdata


def check_tensor(tensor):
    """Raises Unsupported for a tensor that is not a strided window on CPU memory."""
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise Unsupported(f"a tensor of layout {str(tensor.layout).removeprefix('torch.')}")
    if tensor.dtype not in DTYPES:
        raise Unsupported(f"a tensor of dtype {tensor.dtype}")
    if tensor.device.type != "cpu":
        raise Unsupported(f"a tensor on the device {tensor.device}")


def _contiguous(sizes):
    strides, running = [], 1
    for size in reversed(sizes):
        strides.append(running)
        running = running * (size if not isinstance(size, int) or size > 1 else 1)
    return strides[::-1]


def print_type(tensor, buffer):
    """`f16[4,8](1,4)+16 @b3`: strides only when not row-major, the offset only when not 0."""
    check_tensor(tensor)
    sizes = [expression_of(size) for size in tensor.size()]
    strides = [expression_of(stride) for stride in tensor.stride()]
    offset = expression_of(tensor.storage_offset())
    text = f"{DTYPES[tensor.dtype]}[{','.join(print_size(size) for size in sizes)}]"
    if strides != _contiguous(sizes):
        text += f"({','.join(print_size(stride) for stride in strides)})"
    if offset != 0:
        text += f"+{print_size(offset)}"
    text += f" @b{buffer}"
    if tensor.is_conj():
        text += " conj"
    if tensor.is_neg():
        text += " neg"
    return text


def quote(text):
    """The text in double quotes, as the graph text reads it: UTF-8 with C escapes."""
    out = ['"']
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char in "\n\r\t":
            out.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char])
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(char)
    out.append('"')
    return "".join(out)


def print_attributes(attributes):
    """`{"key": "text", "flag": true}`, sorted by key; nothing for no attributes."""
    if not attributes:
        return ""
    items = (
        f"{quote(key)}: {quote(value) if isinstance(value, str) else json.dumps(value)}"
        for key, value in sorted(attributes.items())
    )
    return " {" + ", ".join(items) + "}"


def _print_real(value):
    text = repr(value)
    return text if any(c in text for c in ".einf") else text + ".0"


def print_literal(value):
    """The text of an argument that is no value of the graph; Unsupported when there is none."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, torch.SymBool):
        condition = expression_of(value)
        if isinstance(condition, int):
            return "true" if condition else "false"
        return "{" + print_size(value) + "}"
    if isinstance(value, torch.SymInt):
        size = expression_of(value)
        return str(size) if isinstance(size, int) else "{" + print_size(size) + "}"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise Unsupported(f"the integer {value}, which does not fit in 64 bits")
        return str(value)
    if isinstance(value, float):
        return _print_real(value)
    if isinstance(value, complex):
        return f"complex({_print_real(value.real)}, {_print_real(value.imag)})"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, torch.dtype):
        if value not in DTYPES:
            raise Unsupported(f"the dtype {value}")
        return f"dtype({DTYPES[value]})"
    if isinstance(value, torch.device):
        return f'device("{value}")'
    if isinstance(value, torch.layout):
        return f'layout("{str(value).removeprefix("torch.")}")'
    if isinstance(value, torch.memory_format):
        return f'memory_format("{str(value).removeprefix("torch.")}")'
    raise Unsupported(f"an argument of type {type(value).__name__}")
