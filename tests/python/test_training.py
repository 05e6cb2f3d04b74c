"""Gradients: AOTAutograd's functionalized path, labels on both graphs."""

import torch
from support import compile_graph

from anabranch import stream as S
from anabranch import wait as W


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(6, 8)
        self.second = torch.nn.Linear(6, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        with S("a"):
            p = torch.relu(self.first(x))
        with S("b"):
            W(self.second.weight, p)
            q = torch.tanh(self.second(x))
        return self.norm(p + q).sum()


def gradients(model, call, x):
    model.zero_grad()
    x = x.clone().requires_grad_(True)
    call(x).backward()
    return [x.grad] + [p.grad.clone() for p in model.parameters()]


def test_gradients_equal_eager(programs, adversary):
    torch.manual_seed(1)
    model, x = Model(), torch.randn(5, 6)
    compiled = compile_graph(model)
    for _ in range(3):
        mine, eager = gradients(model, compiled, x), gradients(model, model, x)
        assert all(map(torch.equal, mine, eager))
    forward, backward = programs
    for graph in (forward, backward):
        assert {label for _, label in graph.labels()} >= {"a", "b"}
    wait, = [s for s in forward.original() if s.op == "wait"]
    assert wait.label == "b" and wait.after == ["relu"]
    assert "wait" not in {s.op for s in backward.captured()}


def test_a_mutated_buffer_in_training(programs):
    norm, reference = torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4)
    compiled = compile_graph(lambda x: norm(x).sum())
    x = torch.randn(6, 4)
    for _ in range(2):
        mine, eager = compiled(x), reference(x).sum()
        assert torch.equal(mine, eager)
        assert torch.equal(norm.running_mean, reference.running_mean)
        assert torch.equal(norm.running_var, reference.running_var)


def test_no_gradient_is_wanted_under_no_grad(programs):
    model, x = Model(), torch.randn(5, 6)
    compiled = compile_graph(model)
    with torch.no_grad():
        assert torch.equal(compiled(x), model(x))
    assert len(programs) == 1
    with torch.inference_mode():
        result = compiled(x)
        assert torch.equal(result, model(x))


def test_optimizer_steps_reach_the_same_parameters():
    torch.manual_seed(2)
    mine = Model()
    eager = Model()
    eager.load_state_dict(mine.state_dict())
    x = torch.randn(5, 6)
    for model, call in ((mine, compile_graph(mine)), (eager, eager)):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            call(x).backward()
            optimizer.step()
    assert all(map(torch.equal, mine.parameters(), eager.parameters()))


def test_get_compiler_with_aot_autograd():
    import torchair
    from torch._dynamo.backends.common import aot_autograd

    compiler = torchair.get_compiler(torchair.CompilerConfig())

    def f(x):
        with S("a"):
            return W(x, x + 1) * 2

    x = torch.ones(3)
    compiled = torch.compile(f, backend=aot_autograd(fw_compiler=compiler), fullgraph=True)
    assert torch.equal(compiled(x), f(x))


def test_random_operators_draw_once():
    dropout = torch.nn.functional.dropout

    def unused(x, y):
        with S("a"):
            dropout(x, 0.3)
        return dropout(x + y, 0.5)

    def without_gradient(x, y):
        with S("a"):
            d = dropout(y.detach(), 0.3)
        return d[1:], x + 1

    def last(x, y):
        torch.rand_like(x)
        return dropout(x @ y, 0.5).view(-1)

    for f in (unused, without_gradient, last):
        seen = []
        for call in (f, compile_graph(f)):
            x, y = (torch.ones(4, 4, requires_grad=True) for _ in range(2))
            torch.manual_seed(3)
            results = call(x, y)
            last_result = results[-1] if isinstance(results, tuple) else results
            last_result.sum().backward()
            seen.append([last_result, x.grad, torch.random.get_rng_state()])
        assert all(map(torch.equal, *seen)), f.__name__


def test_sums_over_the_batch_keep_their_bits_beside_another_stream(adversary):
    """Statistics, and gradients of norms and convolutions, depend on the number of threads."""
    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(16)
            self.layer_norm = torch.nn.LayerNorm(16)
            self.conv = torch.nn.Conv1d(16, 16, 3, padding=1)

        def forward(self, x):
            with S("a"):
                y = self.norm(x)
            with S("b"):
                z = self.layer_norm(x)
            with S("c"):
                c = self.conv(x.t()[None])[0].t()
            return (y * z + c).sum()

    torch.manual_seed(1)
    mine = Normed()
    torch.manual_seed(1)
    eager = Normed()
    x = torch.randn(64, 16)
    assert all(map(torch.equal, gradients(mine, compile_graph(mine), x),
                   gradients(eager, eager, x)))
    assert all(map(torch.equal, mine.buffers(), eager.buffers()))
