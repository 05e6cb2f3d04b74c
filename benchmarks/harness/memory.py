"""Bytes that a call holds at its peak beyond parameters and inputs."""

import logging
import re

import torch
from torch.profiler import ProfilerActivity, profile

from anabranch.log import logger

_ARENA = re.compile(r"memory: \d+ buffers in (\d+) bytes a call")


class Reports(logging.Handler):
    """Collects, while it is a context, what the compiler says: the arena's bytes and its notes."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.arena, self.notes = 0, []

    def emit(self, record):
        message = record.getMessage()
        if found := _ARENA.search(message):
            self.arena += int(found.group(1))
        if record.levelno >= logging.INFO:
            self.notes.append(message)

    def __enter__(self):
        self.level_before, self.propagate_before = logger.level, logger.propagate
        self.handlers_before = logger.handlers[:]
        logger.handlers[:] = [self]
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        return self

    def __exit__(self, *problem):
        logger.handlers[:] = self.handlers_before
        logger.setLevel(self.level_before)
        logger.propagate = self.propagate_before


def allocated(call):
    """The most bytes of tensors that a call has allocated at one time on the calling thread.

    torch's profiler counts; what a worker thread of ours allocates outside the arena is missing.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        results = call()
    events = [event for event in recorded.profiler.kineto_results.events()
              if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    del results
    return most
