"""torchair.inference: compile caches and size gears."""

from typing import Callable, Dict, List, Optional

import torch

from anabranch.config import CompilerConfig
from anabranch.missing import not_built

__all__ = ["cache_compile", "readable_cache", "set_dim_gears"]


@not_built(
    "torchair.inference.cache_compile",
    "use torch.compile(func, backend=anabranch.backend(config)); compiling is not cached on disk",
)
def cache_compile(
    func,
    *,
    config: Optional[CompilerConfig] = None,
    dynamic: bool = True,
    cache_dir: Optional[str] = None,
    global_rank: Optional[int] = None,
    tp_rank: Optional[int] = None,
    pp_rank: Optional[int] = None,
    **kwargs,
) -> Callable:
    """Compiles a method and keeps the result on disk."""


@not_built(
    "torchair.inference.readable_cache",
    'set config.debug.graph_dump.type = "txt" to read what was compiled',
)
def readable_cache(cache_bin, print_output=True, file=None):
    """Shows a compile cache as text."""


@not_built(
    "torchair.inference.set_dim_gears",
    "use torch._dynamo.mark_dynamic(t, dim), or dynamic=False for one graph per size",
)
def set_dim_gears(t: torch.Tensor, dim_gears: Dict[int, List[int]]):
    """Declares the sizes that a dimension takes."""
