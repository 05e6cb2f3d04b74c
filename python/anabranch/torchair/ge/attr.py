"""torchair.ge.attr: typed attribute values of GE operators."""

__all__ = [
    "Bool",
    "DataType",
    "Float",
    "Int",
    "ListBool",
    "ListDataType",
    "ListFloat",
    "ListInt",
    "ListListFloat",
    "ListListInt",
    "ListStr",
    "Str",
]


class _Attr:
    """A value with its GE kind."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"{type(self).__name__}({self.value!r})"


class Bool(_Attr):
    """A flag."""


class DataType(_Attr):
    """A data type, as torchair.ge.DataType numbers them."""


class Float(_Attr):
    """A number."""


class Int(_Attr):
    """An integer."""


class ListBool(_Attr):
    """Flags."""


class ListDataType(_Attr):
    """Data types."""


class ListFloat(_Attr):
    """Numbers."""


class ListInt(_Attr):
    """Integers."""


class ListListFloat(_Attr):
    """Lists of numbers."""


class ListListInt(_Attr):
    """Lists of integers."""


class ListStr(_Attr):
    """Texts."""


class Str(_Attr):
    """A text."""
