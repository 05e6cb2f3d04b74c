"""The example of the README, by the runner and by plain Python, and a script for an NPU."""

import json
import os
import subprocess
import sys
import textwrap

from support import ROOT, run_script

EXAMPLE = os.path.join(ROOT, "examples", "two_streams.py")

TORCHAIR_SCRIPT = """
    import logging

    import torch
    import torch_npu
    import torchair as tng
    from torchair.configs.compiler_config import CompilerConfig
    from torchair.core.utils import logger

    logger.setLevel(logging.DEBUG)

    class Net(torch.nn.Module):
        def forward(self, a, b, c, d):
            first = torch.add(a, b)
            with tng.scope.npu_stream_switch("1"):
                tng.scope.npu_wait_tensor(d, first)
                second = torch.mm(c, d)
            third = torch.mm(c, d)
            with tng.scope.npu_stream_switch("2"):
                tng.scope.npu_wait_tensor(d, second)
                fourth = torch.add(c, d)
            return first, second, third, fourth

    config = CompilerConfig()
    config.debug.graph_dump.type = "pbtxt"
    net = Net()
    model = torch.compile(net, backend=tng.get_npu_backend(compiler_config=config),
                          dynamic=False, fullgraph=True)
    inputs = [torch.randn(64, 64, dtype=torch.float16).npu() for _ in range(4)]
    results = model(*inputs)
    assert all(map(torch.equal, results, net(*inputs)))
    print("equal")
"""


def types(dump):
    """{GE type: how many} of a pbtxt dump."""
    found = {}
    for line in dump.split("\n"):
        line = line.strip()
        if line.startswith("op: "):
            kind = line[5:-1]
            found[kind] = found.get(kind, 0) + 1
    return found


def node(dump, name):
    """The text of one node of a pbtxt dump."""
    for text in dump.split("node {")[1:]:
        if f'name: "{name}"' in text:
            return text
    raise AssertionError(f"no node {name}")


def test_a_torchair_script_runs_as_it_is(tmp_path):
    script = tmp_path / "npu_script.py"
    script.write_text(textwrap.dedent(TORCHAIR_SCRIPT))
    done = run_script(script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "equal\n" and "wait 0" in done.stderr
    dump, = [tmp_path / f for f in os.listdir(tmp_path) if f.startswith("dynamo_original")]
    dump = dump.read_text()
    assert types(dump) == {"Data": 4, "Add": 2, "MatMul": 2, "Identity": 2, "NetOutput": 1}
    labels = {name: [f's: "{tag}"' in node(dump, name) for tag in ("1", "2")]
              for name in ("Add", "Identity", "MatMul", "MatMul_1", "Identity_1", "Add_1")}
    assert labels == {"Add": [False, False], "Identity": [True, False], "MatMul": [True, False],
                      "MatMul_1": [False, False], "Identity_1": [False, True],
                      "Add_1": [False, True]}
    assert '"^Add"' in node(dump, "Identity") and '"^MatMul"' in node(dump, "Identity_1")


def check_example(done, folder):
    assert done.returncode == 0, done.stderr
    assert "bit for bit: True" in done.stdout
    made = folder / "two_streams_out"
    dumps = [name for name in os.listdir(made) if name.endswith(".pbtxt")]
    assert len(dumps) == 2 and all(name in done.stdout for name in dumps)
    events = json.loads((made / "trace.json").read_text())
    assert "aten.mm" in json.dumps(events)
    assert "<html" in (made / "timeline.html").read_text().lower()


def test_example_by_the_runner(tmp_path):
    check_example(run_script(EXAMPLE, cwd=tmp_path), tmp_path)


def test_example_by_plain_python(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python")}
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True,
                          cwd=tmp_path, env=environment, timeout=240)
    check_example(done, tmp_path)
