"""One line on the terminal that says where a long compile stands.

Nothing is shown in the first seconds, when standard error is no terminal, or when the logger's level
is above WARNING. Each compile has its own line, which is gone when the compile ends.
"""

import logging
import sys
import threading
import time

from torch._guards import CompileContext

from anabranch.log import logger

PATIENCE = 3.0  # seconds before anything is shown
_EVERY = 0.25  # seconds between two updates


class _State(threading.local):
    compile_id = None
    began = 0.0
    shown = 0.0  # when the line was last written; 0: never
    width = 0


_state = _State()


def _write(text):
    sys.stderr.write("\r" + text.ljust(_state.width) + ("" if text else "\r"))
    sys.stderr.flush()
    _state.width = len(text)


def _is_watched():
    stream = sys.stderr
    return stream is not None and stream.isatty() and logger.isEnabledFor(logging.WARNING)


def at(stage, count, things):
    """The compile has come to `stage`, which has `count` things ("operators") before it or done."""
    now = time.monotonic()
    compile_id = CompileContext.current_compile_id()
    if compile_id != _state.compile_id:
        end()
        _state.compile_id, _state.began = compile_id, now
    if now - _state.began < PATIENCE or now - _state.shown < _EVERY or not _is_watched():
        return
    _state.shown = now
    _write(f"anabranch: compiling for {now - _state.began:.0f} s: {stage} ({count} {things})")


def end():
    """The compile has ended: its line goes."""
    if _state.shown and _state.width:
        _write("")
    _state.compile_id, _state.shown, _state.width = None, 0.0, 0
