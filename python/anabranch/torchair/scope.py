"""torchair.scope: where operators run and what they wait for."""

from anabranch.scopes import (
    data_dump,
    limit_core_num,
    npu_stream_switch,
    op_never_timeout,
    super_kernel,
)
from anabranch.waits import npu_wait_tensor

__all__ = [
    "data_dump",
    "limit_core_num",
    "npu_stream_switch",
    "npu_wait_tensor",
    "op_never_timeout",
    "super_kernel",
]
