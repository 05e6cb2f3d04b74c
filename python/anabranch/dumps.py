"""Dump files of compiled graphs, with the names that TorchAir gives them."""

import datetime
import os

import torch

from anabranch.errors import compile_error
from anabranch.log import logger


def rank():
    """The process's rank in the default group, 0 without one."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return 0


def dump_path(which, graph_id, kind, folder):
    """`<folder>/dynamo_original_graph_1_rank_0_pid_7_ts_<UTC>.pbtxt`."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d%H%M%S%f")
    name = f"dynamo_{which}_graph_{graph_id}_rank_{rank()}_pid_{os.getpid()}_ts_{now}.{kind}"
    return os.path.join(folder, name)


def write_dumps(texts, graph_id, config):
    """Writes `texts(which)` of the original and the optimized graph if a dump is asked for."""
    kind, folder = config.debug.graph_dump.type, config.debug.graph_dump.path
    if kind is None:
        return []
    paths = []
    for which in ("original", "optimized"):
        path = dump_path(which, graph_id, kind, folder)
        _write(path, texts(which, kind))
        logger.info("wrote %s", path)
        paths.append(path)
    return paths


def _write(path, text):
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise compile_error(
            f"the dump {path} cannot be written: {problem.strerror}",
            fix="set debug.graph_dump.path to a folder that exists or can be made") from None
