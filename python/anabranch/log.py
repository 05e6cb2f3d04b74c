"""The logger of the package. At DEBUG it shows every captured graph, its streams and its events."""

import logging
import sys


class _CurrentStderr(logging.StreamHandler):
    """Writes to whatever sys.stderr is now, so that redirection and capturing work."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        return sys.stderr


# The name is a contract with users' scripts: torchair.core.utils.logger is this object.
logger = logging.getLogger("torchair")
if not logger.handlers:
    _handler = _CurrentStderr()
    _handler.setFormatter(logging.Formatter("[%(levelname)s] anabranch: %(message)s"))
    logger.addHandler(_handler)
    logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)

_said = set()


def warn_once(key, message):
    """Logs the warning the first time that `key` is seen in this process."""
    if key not in _said:
        _said.add(key)
        logger.warning(message)
