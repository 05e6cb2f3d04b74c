"""docs/migration.md: both of its scripts run, print the same and write the same graph."""

import os
import re
import subprocess
import sys

from support import ROOT, run_script


def scripts():
    with open(os.path.join(ROOT, "docs", "migration.md"), encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.S)


def dump_of(folder):
    """The text of the folder's dump of the captured graph, without source lines."""
    (path,) = folder.glob("dynamo_original_graph_*.pbtxt")
    return re.sub(r"[^\s\"']*script\.py:\d+", "script.py", path.read_text())


def test_both_scripts_print_and_write_the_same(tmp_path):
    before, after = scripts()
    folders = tmp_path / "before", tmp_path / "after"
    for folder, text in zip(folders, (before, after), strict=True):
        folder.mkdir()
        (folder / "script.py").write_text(text)
    first = run_script(folders[0] / "script.py", cwd=folders[0])
    second = subprocess.run(
        [sys.executable, "script.py"], cwd=folders[1], capture_output=True, text=True, timeout=240,
        env=os.environ | {"PYTHONPATH": os.path.join(ROOT, "python")})
    for done in (first, second):
        assert done.returncode == 0, done.stderr
        assert done.stdout == "[32.0, 64.0]\n"
    assert dump_of(folders[0]) == dump_of(folders[1])
    assert dump_of(folders[0]).count("_enable_inner_parallel") == 2  # the wait and the product


def test_five_lines_change():
    before, after = (text.strip().split("\n") for text in scripts())
    changed = [line for line in after if line not in before and "torch.ones" not in line]
    assert len(changed) == 5, changed
