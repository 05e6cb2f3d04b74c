"""`anabranch run`: arguments, exit codes, recordings, child processes, real packages."""

import json
import os
import textwrap

import pytest
from support import run_script


def write(folder, text, name="script.py"):
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def test_a_script_is_main_and_gets_its_arguments(tmp_path):
    write(tmp_path, "VALUE = 7\n", "neighbour.py")
    script = write(tmp_path, """
        import os, sys
        import neighbour
        assert "torch" in sys.modules and os.environ["OMP_WAIT_POLICY"] == "passive"
        print(__name__, sys.argv[1:], os.path.basename(__file__), neighbour.VALUE)
        print(sys.modules["__main__"].__file__ == __file__)
    """)
    done = run_script(script, "a", "--trace", "b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "__main__ ['a', '--trace', 'b'] script.py 7\nTrue\n"


@pytest.mark.parametrize("ending, code", [
    ("sys.exit(5)", 5), ("raise SystemExit", 0), ("raise ValueError('mine')", 1),
    ("sys.exit('text')", 1)])
def test_exit_codes(tmp_path, ending, code):
    done = run_script(write(tmp_path, f"import sys\n{ending}\n"))
    assert done.returncode == code
    assert ("ValueError: mine" in done.stderr) == ("ValueError" in ending)


def test_a_missing_script_and_bad_arguments(tmp_path):
    done = run_script(tmp_path / "nothing.py")
    assert done.returncode == 2 and "nothing.py" in done.stderr


def test_recordings_are_written_also_when_the_script_raises(tmp_path):
    script = write(tmp_path, """
        import torch, torchair
        def f(x):
            with torchair.scope.npu_stream_switch("side"):
                y = x @ x
            return y + 1, x @ x
        torch.compile(f, backend=torchair.get_npu_backend(), dynamic=False)(torch.ones(8, 8))
        raise KeyError("at the end")
    """)
    trace, page = tmp_path / "t.json", tmp_path / "t.html"
    done = run_script(script, runner=["--trace", str(trace), "--timeline", str(page),
                                      "--threads", "1"])
    assert done.returncode == 1 and "at the end" in done.stderr
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    assert sum("aten.mm" in json.dumps(event) for event in events) >= 2
    assert "side" in trace.read_text()
    assert "<html" in page.read_text().lower() and "side" in page.read_text()


def test_child_processes_find_the_names_and_the_backend(tmp_path):
    script = write(tmp_path, """
        import subprocess, sys
        child = '''
        import torch, torch_npu, torchair, npugraph_ex
        from torchair.scope import npu_stream_switch
        assert torch.ones(2).npu().is_npu
        print(torch.compile(lambda x: x + 1, backend="anabranch")(torch.ones(1)).item())
        '''
        import textwrap
        sys.exit(subprocess.run([sys.executable, "-c", textwrap.dedent(child)]).returncode)
    """)
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2.0\n"


def test_a_real_torch_npu_wins(tmp_path):
    site = tmp_path / "site"
    for name in ("torch_npu", "torchair"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text(f"REAL = '{name}'\n")
    script = write(tmp_path, """
        import torch, torch_npu, torchair
        print(torch_npu.REAL, torchair.REAL, hasattr(torch.Tensor, "npu"))
    """)
    path = os.pathsep.join([os.path.join(os.path.dirname(__file__), "..", "..", "python"),
                            str(site)])
    done = run_script(script, env={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "torch_npu torchair False\n"
    assert "torch_npu is installed" in done.stderr
