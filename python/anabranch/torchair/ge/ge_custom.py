"""torchair.ge.ge_custom: operators of the user's own in a converter."""

from typing import Dict, List, Optional, Tuple, Union

from anabranch.missing import not_built
from anabranch.torchair.ge.attr import _Attr

__all__ = ["custom_op"]


@not_built(
    "torchair.ge.custom_op",
    "define the operator with torch.library.custom_op; it is captured and run as it is",
)
def custom_op(
    op_type: str,
    *args,
    inputs: Optional[Dict[str, Union["Tensor", List["Tensor"], None]]] = None,  # noqa: F821
    outputs: Optional[List[Union[str, Tuple[str, int]]]] = None,
    attrs: Optional[Dict[str, _Attr]] = None,
    node_name: Optional[str] = None,
):
    """An operator by its GE type."""
