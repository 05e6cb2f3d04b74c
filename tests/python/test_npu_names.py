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


# Dynamo does not see the mode that maps the names: under a mode it traces differently.
TRACED = """
    import numpy as np
    import torch, torchair

    def check(f, *arguments):
        torch._dynamo.reset()
        g = torch.compile(f, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
        copies = [[a.clone() for a in arguments] for _ in range(2)]
        mine, eager = (torch.utils._pytree.tree_leaves(h(*c)) for h, c in zip((g, f), copies))
        assert all(type(a) is type(b) for a, b in zip(mine, eager, strict=True)), f
        for a, b in zip(mine, eager):
            torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b))

    def names(x):
        with torchair.scope.npu_stream_switch("s"), torch.autocast("npu", dtype=torch.bfloat16):
            y = x @ x
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = x @ x
        x.masked_fill_((torch.arange(4) == 2) | (x <= 0), 7.0)
        return x.unflatten(0, (2, -1)) + 1, y, z

    def numpy(x):
        with torchair.scope.npu_stream_switch("s"):
            y = np.sin(x.numpy()) + np.ones((4, 4), dtype=np.float32)
        return torch.from_numpy(y) * 2

    def transforms(x):
        f = lambda t: (t.sin() * t).sum() + torch.ones(1, device="npu")[0]
        row = x[0]
        return (torch.func.hessian(f)(row), torch.func.jacfwd(f)(row), torch.func.jacrev(f)(row),
                torch.func.grad(f)(row), torch.vmap(f)(x), torch.func.jvp(f, (row,), (row,)))

    def branch(x):
        return torch.cond(x.sum() > 0, lambda t: t + torch.ones(4, device="npu"),
                          lambda t: t.to("npu:0") - 1, (x,))

    def attention(x):
        q = x.view(1, 2, 4, 2)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(q, q, q)

    def numbers(x):
        number = torch.npu.current_device()
        return (x.to(number) + torch.zeros(4, device=number), x.to(torch.device(number)),
                torch.zeros(4, device=f"npu:{number}"), torch.Tensor.to(x, "npu", torch.float64),
                x.npu(0), x.type("torch.npu.FloatTensor"), x.to(dtype=torch.int32).to(1 == 1))

    def asked(x):
        if torch.is_autocast_enabled("npu"):
            return x
        return x.to(torch.get_autocast_dtype("npu"))

    class Doubling(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            return result * 2 if function is torch.sin else result

    def own_mode(x):
        with Doubling():
            y = torch.sin(x) + torch.zeros(4, device="npu")
        return y, torch.sin(x)

    x = torch.randn(4, 4)
    for f in (names, numpy, transforms, branch, attention, numbers, asked, own_mode):
        check(f, x)
    with Doubling():
        check(lambda t: torch.sin(t.npu()) + torch.zeros(4, device="npu"), x)
    check(lambda t: torch.sin(t.npu()), x)
    check(lambda t: t * 2 + 1, x.as_subclass(type("Own", (torch.Tensor,), {})))
    torch.set_default_device("npu")
    check(lambda t: t + torch.ones(4), x)
    torch.set_default_device(None)
    assert len(torch.overrides._get_current_function_mode_stack()) == 1  # ours is still there
    try:
        check(lambda t: t.to("npu:7"), x)
    except Exception as error:
        assert "there is no device npu:7" in str(error), error
    print("all right")
"""

# What eager programs do with devices besides making tensors.
EAGER = """
    import copy, pickle
    import torch, torch_npu
    from torch.npu.amp import GradScaler, autocast
    from torch.utils.checkpoint import DefaultDeviceType, checkpoint
    from torch.utils.data import DataLoader, TensorDataset

    generator = torch.Generator("npu").manual_seed(3)
    assert type(generator) is torch.Generator
    again = pickle.loads(pickle.dumps(generator))
    assert torch.equal(torch.rand(3, generator=again), torch.rand(3, generator=generator))
    class Own(torch.Generator):
        pass
    assert isinstance(Own("npu"), Own) and not isinstance(generator, Own)

    x = torch.ones(4, requires_grad=True)
    x.register_hook(lambda g: g + torch.ones(4, device="npu"))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3] * 4
    assert torch.autograd.grad((x * 2).sum(), x)[0].tolist() == [3] * 4

    class Scale(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="npu")
        def forward(ctx, a):
            return a * 2
        @staticmethod
        @torch.amp.custom_bwd(device_type="npu")
        def backward(ctx, g):
            return g * torch.full((4,), 2.0, device="npu")
    assert torch.autograd.grad(Scale.apply(x).sum(), x)[0].tolist() == [3] * 4

    DefaultDeviceType.set_device_type("npu")
    for reentrant in (True, False):
        y = checkpoint(lambda t: torch.nn.functional.dropout(t * 2, 0.5), x,
                       use_reentrant=reentrant)
        x.grad = None
        y.sum().backward()
        assert torch.equal(x.grad - 1, y.detach())  # the same numbers; the hook adds one
    with torch.random.fork_rng(devices=["npu:0"], device_type="npu"):
        inside = torch.rand(2)
    assert torch.equal(inside, torch.rand(2))
    assert torch.get_device_module("npu") is torch.npu is torch.get_device_module("npu:0")

    assert torch.amp.is_autocast_available("npu")
    with autocast():
        assert torch.is_autocast_enabled("npu")
        assert (torch.ones(2, 2).npu() @ torch.ones(2, 2)).dtype == torch.float16
    weight = torch.nn.Parameter(torch.ones(2))
    for scaler in (GradScaler(), torch_npu.npu.amp.GradScaler(init_scale=4.0),
                   torch.amp.GradScaler("npu"), torch.amp.GradScaler(device="npu")):
        steps = torch.optim.SGD([weight], 0.1)
        steps.zero_grad(), scaler.scale(weight.sum()).backward(), scaler.step(steps)
        scaler.update(torch.ones([]))
    assert torch.allclose(weight, torch.full((2,), 0.6))

    y = torch.ones(2).pin_memory()
    assert y.to(torch.npu.current_device()).device.type == "cpu"
    torch.zeros(2, device=0, pin_memory=True), torch.device(0), torch.nn.Linear(1, 1).to(0)
    data = TensorDataset(torch.arange(10).float())
    for options in ({}, {"num_workers": 2}, {"pin_memory": True},
                    {"num_workers": 1, "pin_memory": True, "pin_memory_device": "npu"}):
        assert sum(b[0].npu().sum() for b in DataLoader(data, batch_size=2, **options)) == 45
    assert not hasattr(torch_npu, "profiler")
    print("all right")
"""


@pytest.mark.parametrize("text", [TRACED, EAGER], ids=["traced", "eager"])
def test_programs_run_under_the_names_as_without_them(tmp_path, text):
    script = tmp_path / "programs.py"
    script.write_text(textwrap.dedent(text))
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all right\n"
