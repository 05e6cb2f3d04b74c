"""`.npu()`, device="npu" and torch.npu mean the device that anabranch runs on.

The names are installed in a process of their own: they change torch for the whole thread.
"""

import os
import subprocess
import sys
import textwrap

import pytest
from support import ROOT, run_script

SCRIPT = """
    import torch, torch_npu
    import torchair
    import anabranch

    for x in (torch.ones(2).npu(), torch.ones(2).to("npu:0"), torch.zeros(2, device="npu"),
              torch.tensor([1.0], device="npu:0"), torch.rand(2, device=torch.device("npu"))):
        assert x.device.type == "cpu" and x.is_npu
    model = torch.nn.Linear(2, 2, device="npu").npu().to("npu:0")
    assert model.weight.device.type == "cpu"
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert model(torch.ones(2)).dtype == torch.bfloat16

    assert torch_npu.npu is torch.npu and torch.npu.is_available()
    assert torch.npu.device_count() == 1 and torch.npu.current_device() == 0
    torch.npu.set_device(0), torch.npu.set_device("npu:0"), torch.npu.synchronize()
    try:
        torch.npu.set_device("npu:1")
    except RuntimeError as error:
        assert "npu:0" in str(error)
    else:
        raise AssertionError("there is no npu:1")
    assert 0 < torch.npu.memory_allocated() <= torch.npu.max_memory_allocated()
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        assert torch.npu.current_stream() is side
    assert torch.npu.current_stream() is torch.npu.default_stream()
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record(), end.record(), side.wait_event(start)
    assert start.elapsed_time(end) >= 0 and end.query()
    torch.npu.manual_seed(5); a = torch.rand(3)
    torch.manual_seed(5); assert torch.equal(a, torch.rand(3))

    def f(x):
        with torchair.scope.npu_stream_switch("s"):
            y = x.npu() + torch.zeros(2, device="npu:0")
        return y * 2

    g = torch.compile(f, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
    assert torch.equal(g(torch.ones(2)), f(torch.ones(2)))
    print("all right")
"""


EVERYWHERE = """
    import os, tempfile, threading
    import torch, torch_npu, torchair
    from concurrent.futures import ThreadPoolExecutor

    def same(*devices):
        assert all(torch.device(device).type == "cpu" for device in devices), devices

    same(torch.device("npu"), torch.device("npu:0"), torch.device("npu", 0),
         torch.device(type="npu", index=0))
    with torch.device("npu"):
        same(torch.zeros(2).device)
    torch.set_default_device("npu"); same(torch.ones(1).device); torch.set_default_device(None)
    same(torch.nn.LayerNorm(2, device="npu").to(device="npu").weight.device)
    assert torch.ones(1).to("npu", torch.float16).dtype == torch.float16

    for device in ("npu", "npu:0", torch.device("npu")):
        generator = torch.Generator(device)
        assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    generator = torch.Generator(device="npu").manual_seed(3)
    drawn = torch.rand(4, generator=generator, device="npu")
    assert torch.equal(drawn, torch.rand(4, generator=torch.Generator().manual_seed(3)))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.pt")
        torch.save({"a": torch.ones(2)}, path)
        for place in ("npu", "npu:0", torch.device("npu:0")):
            same(torch.load(path, map_location=place)["a"].device)
        # a file as an NPU writes it
        torch.serialization.register_package(1, lambda storage: "npu:3", lambda *at: None)
        torch.save(torch.ones(2), path)
        same(torch.load(path).device)

    def f(x):
        device = torch.device("npu:0")
        with torchair.scope.npu_stream_switch("s"):
            y = torch.zeros(2, device=device) + x
        return y.to("npu") + x.new_ones(2, device="npu")

    compiled = torch.compile(f, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
    want = f(torch.ones(2))
    assert torch.equal(compiled(torch.ones(2)), want)

    def in_a_thread():
        torch.npu.set_device("npu:0")
        side = torch.npu.Stream()
        with torch.npu.stream(side):
            assert torch.npu.current_stream() is side
            assert torch.equal(compiled(torch.ones(2, device="npu")), want)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(in_a_thread) for _ in range(4)]:
            done.result()
    class Own(threading.Thread):
        def run(self):
            self.found = torch.zeros(1, device="npu:0").device
    own = Own(); own.start(); own.join(); same(own.found)
    assert torch.npu.current_stream() is torch.npu.default_stream()

    for wrong in ("npu:1", "npu:x", "npu:-1"):
        for use in (lambda: torch.zeros(1, device=wrong), lambda: torch.device(wrong),
                    lambda: torch.Generator(wrong), lambda: torch.npu.set_device(wrong)):
            try:
                use()
            except RuntimeError as error:
                assert "there is no device " + wrong in str(error)
            else:
                raise AssertionError(wrong)
    print("all right")
"""

FIGURES = """
    import torch, torch_npu

    npu = torch.npu
    assert npu.get_device_properties(0).total_memory >= npu.mem_get_info()[0] > 0
    assert npu.memory_stats()["allocated_bytes.all.current"] > 0
    assert npu.memory_reserved() > 0 and npu.max_memory_reserved() > 0
    npu.empty_cache(), npu.reset_peak_memory_stats(), npu.init()
    assert npu.is_initialized() and npu.is_bf16_supported()
    assert npu.FloatTensor is torch.FloatTensor
    state = npu.get_rng_state(); a = torch.rand(2)
    npu.set_rng_state(state); assert torch.equal(a, torch.rand(2))
    npu.manual_seed_all(7); assert npu.initial_seed() == 7
    with npu.device(0), npu.device_of(torch.ones(1)):
        assert npu.current_device() == 0
    for path, name in ((npu, "NPUGraph"), (npu, "memory_snapshot"), (torch_npu, "npu_rms_norm")):
        assert not hasattr(path, name)
        try:
            getattr(path, name)
        except NotImplementedError as error:
            assert name + " is not available in anabranch: " in str(error), error
    try:
        npu.nothing
    except AttributeError as error:
        assert not isinstance(error, NotImplementedError)
    npu.set_compile_mode(jit_compile=False), npu.set_compile_mode(jit_compile=False)
    print("all right")
"""

RANKS = """
    import torch, torch_npu
    import torch.distributed as dist

    dist.init_process_group("hccl")
    rank = dist.get_rank()
    assert torch.npu.device_count() == 2 and dist.get_backend() == "hccl"
    torch.npu.set_device(rank)
    assert torch.npu.current_device() == rank
    x = torch.ones(2, device=f"npu:{rank}") * (rank + 1)
    dist.all_reduce(x)

    def f(x):
        dist.all_reduce(x)
        return x + 1

    y = torch.compile(f, backend="anabranch", fullgraph=True)(x.clone())
    assert x.tolist() == [3, 3] and y.tolist() == [7, 7], (x, y)
    dist.destroy_process_group()
    print("all right")
"""


@pytest.mark.parametrize("text", [SCRIPT, EVERYWHERE, FIGURES], ids=["names", "everywhere", "npu"])
def test_names(tmp_path, text):
    script = tmp_path / "names.py"
    script.write_text(textwrap.dedent(text))
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all right\n"
    assert done.stderr.count("set_compile_mode has no effect here") == (text is FIGURES)


def test_each_rank_has_a_device_and_hccl_is_gloo(tmp_path):
    script = tmp_path / "ranks.py"
    script.write_text(textwrap.dedent(RANKS))
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone",
         "-m", "anabranch", "run", str(script)], capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": os.path.join(ROOT, "python"), "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("all right") == 2  # lines of two processes may mix


# Under a function mode Dynamo traces differently: comparisons are methods named like `__eq__`.
TRACED = """
    import torch, torchair

    def f(x):
        with torchair.scope.npu_stream_switch("s"), torch.autocast("npu", dtype=torch.bfloat16):
            y = x @ x
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = x @ x
        x.masked_fill_((torch.arange(4) == 2) | (x <= 0), 7.0)
        return x.unflatten(0, (2, -1)) + 1, y, z

    g = torch.compile(f, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
    x = torch.randn(4, 4)
    assert all(map(torch.equal, g(x.clone()), f(x.clone())))
    print("all right")
"""


def test_what_is_traced_under_the_names(tmp_path):
    script = tmp_path / "traced.py"
    script.write_text(textwrap.dedent(TRACED))
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all right\n"
