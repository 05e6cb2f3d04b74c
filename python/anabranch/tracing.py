"""Recording what ran when: Chrome trace JSON (Perfetto) and a self-contained HTML timeline."""

import contextlib

from anabranch import library


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@contextlib.contextmanager
def trace(json_path=None, html_path=None):
    """Records every compiled call inside and writes the files at the end, also after an error."""
    operators = library.operators()
    operators.trace_begin()
    try:
        yield
    finally:
        try:
            if json_path is not None:
                _write(json_path, operators.trace_json())
            if html_path is not None:
                _write(html_path, operators.trace_html())
        finally:
            operators.trace_end()
