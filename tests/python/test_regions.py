"""Fusion: operators of one stream become kernels, and nothing that a user can see changes but speed.

Results are compared with eager mode within torch.testing's tolerances.
"""

import os
import threading

import pytest
import torch
from torch import nn

import anabranch
from anabranch import fusible, inductor, kernel_library, widen


@pytest.fixture
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ANABRANCH_CACHE_DIR", str(tmp_path))


def compiled(function, **options):
    options = {"fold": False, "fuse": True} | options
    config = anabranch.CompilerConfig().copy_with(
        {f"anabranch.{name}": value for name, value in options.items()})
    return torch.compile(function, backend=anabranch.backend(config), fullgraph=True, dynamic=False)


def close(mine, eager):
    """torch.testing's relative tolerance, of the largest element where smaller ones cancel."""
    if isinstance(eager, (tuple, list)):
        assert len(mine) == len(eager)
        for pair in zip(mine, eager, strict=True):
            close(*pair)
        return
    relative = {torch.float32: 1.3e-6, torch.float16: 1e-3, torch.bfloat16: 1.6e-2}
    rtol = relative.get(eager.dtype, 0.0)
    torch.testing.assert_close(mine, eager, rtol=rtol,
                               atol=max(1e-5, rtol * float(eager.detach().abs().max())) if rtol else 0.0)


def launched(program):
    """The operators that run, as the graph text names them."""
    return [line.split("(")[0].split()[-1] for line in
            program.program.compiled.text("launched").splitlines() if "anabranch." in line]


def kernels(program):
    return launched(program).count("anabranch.kernel")


class Mlp(nn.Module):
    def __init__(self, width=64, dtype=torch.float32):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.to(dtype)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = Mlp(), Mlp()

    def forward(self, x):
        with anabranch.stream("left"):
            a = self.left(x)
        with anabranch.stream("right"):
            b = self.right(x)
        return torch.softmax(a * b + 1, -1)


def pointwise(x, y):
    z = torch.softmax(x * y + 1, -1)
    return z, torch.cat([x.sin(), z], 1), x.sum(), x.mean(1, keepdim=True).expand(-1, 3)


@torch.no_grad()
def test_pointwise_operators_become_one_kernel(programs):
    x, y = torch.randn(8, 64), torch.randn(8, 64)
    close(compiled(pointwise)(x, y), pointwise(x, y))
    assert kernels(programs[0]) == 1
    assert "aten.mul.Tensor" not in programs[0].program.compiled.text("launched")


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 4, 64])
def test_linear_layers(programs, dtype, rows):
    model, x = Mlp(dtype=dtype), torch.randn(rows, 64).to(dtype)
    close(compiled(model)(x), model(x))
    packed = "packed weights" in programs[0].program.compiled.report()
    assert packed == (dtype is not torch.float32 or rows == 4)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_variable_halves_are_widened(programs, dtype):
    def products(x, y, z):
        return x @ y.t(), torch.addmm(x, x, x), torch.bmm(z, z.transpose(1, 2)), x @ x

    x, y = torch.randn(64, 64).to(dtype), torch.randn(64, 64).to(dtype)
    z = torch.randn(3, 32, 64).to(dtype)
    close(compiled(products)(x, y, z), products(x, y, z))
    text = programs[0].program.compiled.text("launched")
    assert text.count("aten._to_copy.default") == (10 if widen._is_slow(dtype) else 0)
    torch._dynamo.reset()
    mine = compiled(products, fuse=False)(x, y, z)
    assert all(map(torch.equal, mine, products(x, y, z)))


@torch.no_grad()
def test_streams_stay_and_equal_regions_are_lowered_once(programs, adversary, monkeypatch):
    count = []
    lower = inductor.lower
    monkeypatch.setattr(inductor, "lower", lambda *given: count.append(given) or lower(*given))
    model, x = Branches(), torch.randn(4, 64)
    run = compiled(model)
    for _ in range(5):
        close(run(x), model(x))
    assert len(count) == 2  # the two branches are one, the end is another
    text = programs[0].program.compiled.text("schedule")
    assert '"left"' in text and '"right"' in text and kernels(programs[0]) == 5


@torch.no_grad()
def test_dumps_show_the_users_operators(programs):
    x, y = torch.randn(8, 64), torch.randn(8, 64)
    compiled(pointwise)(x, y)
    program = programs[0].program.compiled
    for which in ("original", "optimized"):
        assert "Softmax" in program.dump(which, "txt") and "kernel" not in program.dump(which, "txt")


@torch.no_grad()
def test_a_changed_weight_is_packed_again():
    model, x = Mlp(), torch.randn(4, 64)
    run = compiled(model)
    close(run(x), model(x))
    model.up.weight.mul_(2)
    close(run(x), model(x))
    model.down.weight = nn.Parameter(torch.randn_like(model.down.weight))
    close(run(x), model(x))
    model.up.weight.data = torch.randn_like(model.up.weight)
    close(run(x), model(x))
    model.up.weight.data.mul_(-1)  # no version counts this one
    close(run(x), model(x))


@torch.no_grad()
def test_one_program_for_many_equal_layers(programs):
    layers = nn.ModuleList(Mlp() for _ in range(70))
    run = compiled(lambda layer, x: layer(x))
    x = torch.randn(4, 64)
    for _ in range(2):
        for layer in layers:
            close(run(layer, x), layer(x))


def test_inference_tensors():
    with torch.inference_mode():
        model, x = Mlp(), torch.randn(4, 64)
        run = compiled(model)
        for _ in range(2):
            close(run(x), model(x))
            model.up.weight.mul_(2)


def test_training_fuses_no_weights(programs):
    model, x = Mlp(), torch.randn(4, 64)
    run = compiled(model)
    for _ in range(2):
        close(run(x), model(x))
        mine = torch.autograd.grad(run(x).square().sum(), list(model.parameters()))
        close(mine, torch.autograd.grad(model(x).square().sum(), list(model.parameters())))
    assert not any("packed" in program.program.compiled.report() for program in programs)


@torch.no_grad()
def test_a_weight_that_the_graph_changes_is_not_kept(programs):
    weight = nn.Parameter(torch.randn(64, 64))

    def step(x):
        y = torch.relu(x @ weight) + 1
        weight.add_(1)
        return y, torch.relu(x @ weight) + 1

    x = torch.randn(4, 64)
    run = compiled(step)
    for _ in range(3):
        before = weight.clone()
        mine, after = run(x), weight.clone()
        weight.copy_(before)
        close(mine, step(x))
        close(after, weight)


@torch.no_grad()
def test_writes_between_and_aliases(programs):
    def write(x, y):
        a = torch.relu(x + 1) * 2
        x.mul_(2)
        b = torch.relu(x + 1) * 2
        view = b.t()
        view.add_(1)
        with anabranch.stream("1"):
            c = (y * 2 + b).sin()
        b.add_(1)
        return a, b, view, c

    x, y = torch.randn(8, 8), torch.randn(8, 8)
    mine_in, eager_in = x.clone(), x.clone()
    run = compiled(write)
    close(run(mine_in, y), write(eager_in, y))
    close(mine_in, eager_in)
    # The written input is another input's memory: the user's order counts.
    mine_in, eager_in = x.clone(), x.clone()
    close(run(mine_in, mine_in), write(eager_in, eager_in))


@torch.no_grad()
def test_a_dispatch_mode_sees_every_operator(programs):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class See(TorchDispatchMode):
        def __torch_dispatch__(self, target, types, args=(), kwargs=None):
            seen.append(str(target))
            return target(*args, **(kwargs or {}))

    x, y = torch.randn(8, 64), torch.randn(8, 64)
    compiled(pointwise)(x, y)
    with See():
        mine = programs[0].program(x, y)
    close(mine, pointwise(x, y))
    assert "aten._softmax.default" in seen


@torch.no_grad()
def test_many_callers():
    model, x = Branches(), torch.randn(4, 64)
    run, wanted = compiled(model), Branches.forward(model, x)
    run(x)
    problems = []

    def call():
        try:
            for _ in range(50):
                close(run(x), wanted)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@torch.no_grad()
def test_results_have_the_strides_of_eager(programs):
    def strides(x):
        return (x.t() + 1) * 2, (x.permute(1, 0)[:, None] * 2).relu(), (x[::2] + 1).exp()

    x = torch.randn(6, 8)
    mine, eager = compiled(strides)(x), strides(x)
    close(mine, eager)
    assert [value.stride() for value in mine] == [value.stride() for value in eager]


@torch.no_grad()
def test_integers_stay_with_aten_where_they_divide(programs):
    def divide(x, y):
        return (x + 1) // (y * 2) + 1, (x + y) % 7 * 2

    x, y = torch.arange(8), torch.arange(1, 9)
    close(compiled(divide)(x, y), divide(x, y))
    text = programs[0].program.compiled.text("launched")
    assert "aten.floor_divide.default" in text or "aten.div" in text


@torch.no_grad()
@pytest.mark.parametrize("reason", ["version", "compiler", "inductor", "library"])
def test_without_the_tools_operators_run_one_by_one(programs, logged, monkeypatch, no_cache, reason):
    if reason == "version":
        monkeypatch.setattr(inductor, "TESTED", ("0.",))
    elif reason == "compiler":
        monkeypatch.setattr(kernel_library, "_command", lambda: ["no-such-compiler"])
        monkeypatch.setattr(kernel_library, "_machine", lambda: "none")
    elif reason == "inductor":
        monkeypatch.setattr(inductor, "lower", lambda *_: 1 / 0)
    else:
        monkeypatch.setenv("ANABRANCH_CACHE_DIR", "/proc/none")
        monkeypatch.setattr(kernel_library.tempfile, "gettempdir", lambda: "/proc/none")
    x, y = torch.randn(8, 64), torch.randn(8, 64)
    run = compiled(pointwise)
    for _ in range(2):
        assert all(torch.equal(mine, eager)
                   for mine, eager in zip(run(x, y), pointwise(x, y), strict=True))
    said = [record.getMessage() for record in logged if "one by one" in record.getMessage()]
    assert len(said) == 1 and not kernels(programs[0])


def test_a_folder_that_others_can_change_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("ANABRANCH_CACHE_DIR", str(tmp_path))
    os.chmod(tmp_path, 0o777)
    with pytest.raises(kernel_library.BuildError, match="changed by other users"):
        kernel_library.kernel_folder()


@torch.no_grad()
def test_kernels_are_built_once(monkeypatch, no_cache):
    x, y = torch.randn(8, 64), torch.randn(8, 64)
    close(compiled(pointwise)(x, y), pointwise(x, y))
    torch._dynamo.reset()
    monkeypatch.setattr(kernel_library, "_compile", lambda *_: 1 / 0)
    close(compiled(pointwise)(x, y), pointwise(x, y))


@torch.no_grad()
def test_fuse_false_is_bit_for_bit_eager(programs):
    model, x = Branches(), torch.randn(4, 64)
    assert torch.equal(compiled(model, fuse=False, tune="off")(x), model(x))
    assert not kernels(programs[0])


@torch.no_grad()
def test_symbolic_sizes_are_not_fused(programs):
    config = anabranch.CompilerConfig().copy_with({"anabranch.fuse": True})
    run = torch.compile(pointwise, backend=anabranch.backend(config), fullgraph=True, dynamic=True)
    for rows in (3, 5):
        x, y = torch.randn(rows, 64), torch.randn(rows, 64)
        close(run(x, y), pointwise(x, y))
    assert not kernels(programs[0])


def test_kernels_use_no_shared_flag():
    text = """
#include <a.h>
extern "C"  void  kernel(const float* in, float* out)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    out[0] = in[0];
}
"""
    kernel = inductor.make_kernel(["const float*", "float*"], text, [1, 0])
    assert "div_error" not in kernel.text and kernel.text.startswith("#include <a.h>\n")
    assert "static_cast<const float*>(memory[1])" in kernel.text
    assert inductor.make_kernel(["const float*", "float*"], text, [0, 1]).symbol != kernel.symbol


def test_random_and_written_are_not_fusible():
    def graph(x):
        return torch.rand_like(x) + x.add_(1)

    module = torch.fx.experimental.proxy_tensor.make_fx(graph)(torch.randn(4))
    assert fusible.candidates(module, set()) == ([], ["add"], [])


def test_views_that_depend_on_strides_are_refused(logged, programs):
    def graph(x):
        return torch.as_strided(x.t() + 1, (2, 2), (1, 2)).sin() * 2

    x = torch.randn(4, 4)
    with torch.no_grad():
        close(compiled(graph)(x), graph(x))
    assert not kernels(programs[0])
