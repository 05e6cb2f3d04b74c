"""torchair.ge: names for writing converters to GE operators, which anabranch does not need.

Every operator that torch has runs as it is; the classes exist so that scripts import.
"""

import enum

from anabranch.missing import not_built, refuse
from anabranch.torchair.ge import attr, ge_custom
from anabranch.torchair.ge.ge_custom import custom_op

__all__ = [
    "Cast",
    "Clone",
    "Const",
    "DataType",
    "Format",
    "Tensor",
    "TensorSpec",
    "attr",
    "custom_op",
    "ge_custom",
    "register_fx_node_ge_converter",
]

_INSTEAD = "define the operator with torch.library.custom_op; it is captured and run as it is"


class DataType:
    """GE's numbers of data types."""

    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 6
    DT_UINT16 = 7
    DT_UINT32 = 8
    DT_INT64 = 9
    DT_UINT64 = 10
    DT_DOUBLE = 11
    DT_BOOL = 12
    DT_STRING = 13
    DT_COMPLEX64 = 16
    DT_COMPLEX128 = 17
    DT_BF16 = 27


class Format(enum.Enum):
    """GE's numbers of tensor formats."""

    FORMAT_NCHW = 0
    FORMAT_NHWC = 1
    FORMAT_ND = 2
    FORMAT_FRACTAL_NZ = 29


class TensorBase:
    """What the two tensor classes of converters have in common."""

    @property
    def dtype(self):
        return refuse("torchair.ge.Tensor.dtype", _INSTEAD)

    @property
    def rank(self):
        return refuse("torchair.ge.Tensor.rank", _INSTEAD)


class Tensor(TensorBase):
    """An output of a GE operator inside a converter."""

    @property
    def index(self):
        return refuse("torchair.ge.Tensor.index", _INSTEAD)


class TensorSpec(TensorBase):
    """The shape and type of a converter's output."""

    @property
    def size(self):
        return refuse("torchair.ge.TensorSpec.size", _INSTEAD)


@not_built("torchair.ge.Const", _INSTEAD)
def Const(v, dtype: int = None, node_name=None, readable=True):
    """A constant in a converter."""


@not_built("torchair.ge.Cast", _INSTEAD)
def Cast(x: TensorBase, *, dst_type: int, dependencies=[], node_name=None):
    """A conversion of the data type in a converter."""


@not_built("torchair.ge.Clone", _INSTEAD)
def Clone(x: TensorBase, *, dependencies=[], node_name=None):
    """A copy in a converter."""


@not_built("torchair.register_fx_node_ge_converter", _INSTEAD)
def register_fx_node_ge_converter(aten_op):
    """Registers a converter of an operator."""
