"""The least time a row can take: critical path, work ÷ cores, bytes ÷ bandwidth.

From operator times that our own one-stream program recorded with one thread and with all cores, so
the bound is one of the kernels that ran: faster kernels may beat it. Products and convolutions may
be split over all cores without loss; any other operator takes the better of its two times.
"""

import glob
import json
import os
import statistics
import time

import torch
from torch._functorch.aot_autograd import aot_module_simplified

import anabranch
from harness.candidates import fresh

CALLS = 7  # traced; medians count
ENOUGH = 3.0  # seconds after which fewer calls do
_SPLITTABLE = ("mm", "bmm", "addmm", "baddbmm", "linear", "convolution")


def _spans(model, inputs, options, keep=None):
    """{operator: milliseconds} in one-stream calls; `keep` is given the ATen graph."""
    compiler = anabranch.get_compiler(anabranch.CompilerConfig().copy_with(
        {"ge_config.enable_single_stream": True} | options))

    def compile_aten(graph, example_inputs):
        compiled = compiler(graph, example_inputs)
        if keep:
            keep(graph)
        return compiled

    def backend(graph, example_inputs):
        return aot_module_simplified(
            graph, example_inputs, fw_compiler=compile_aten, inference_compiler=compile_aten,
            disable_functionalization=True, keep_inference_input_mutations=True)

    function = torch.compile(fresh(model), backend=backend, dynamic=False, fullgraph=True)
    for _ in range(2):
        function(*inputs)
    return _traced(function, inputs)


def _traced(function, inputs):
    path = os.path.join(os.environ["BENCH_SCRATCH"], "trace.json")
    calls, begin = 0, time.perf_counter()
    with anabranch.trace(path):
        while calls < CALLS and (calls < 2 or time.perf_counter() - begin < ENOUGH):
            function(*inputs)
            calls += 1
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    spans = {}
    for event in events:
        if event.get("cat") == "operator":
            spans.setdefault(event["args"]["name"], []).append(event["dur"] / 1e3)
    return {name: statistics.median(values) * len(values) / calls
            for name, values in spans.items()}


def _is_view(node):
    """True if the result is memory of an input that the operator does not write."""
    returns = node.target._schema.returns
    alias = returns[0].alias_info if returns else None
    return alias is not None and not alias.is_write


class Path:
    """Longest chain of operators through data and through writes to a buffer, in milliseconds."""

    def __init__(self, graph, duration):
        self.longest = 0.0
        self.ends, self.roots, self.writers = {}, {}, {}
        for node in graph.nodes:
            if node.op == "call_function":
                self.visit(node, duration)

    def root(self, node):
        return self.roots.get(node, node)

    def visit(self, node, duration):
        begin = max((max(self.ends.get(given, 0.0), self.writers.get(self.root(given), 0.0))
                     for given in node.all_input_nodes), default=0.0)
        end = self.ends[node] = begin + duration(node)
        self.longest = max(self.longest, end)
        if not hasattr(node.target, "_schema"):  # an element of several results
            self.roots[node] = self.root(node.args[0])
            return
        if _is_view(node):
            self.roots[node] = self.root(node.args[0])
        for given, argument in zip(node.args, node.target._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self.roots[node] = self.root(given)
                self.writers[self.root(given)] = end


def _splits(node):
    return getattr(node.target, "_opname", "") in _SPLITTABLE


def _weight_bytes(model):
    """Bytes of all parameters that a call reads whole: of a table it reads some rows."""
    tables = {id(module.weight) for module in model.modules()
              if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag))}
    return sum(p.numel() * p.element_size() for p in model.parameters() if id(p) not in tables)


def last_level_cache():
    """Bytes of the largest cache, 0 if unknown."""
    sizes = [0]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
        sizes.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}[text[-1]])
    return max(sizes)


def bandwidth():
    """Bytes per second that all cores read from memory together: the best of 30 sums of 256 MB."""
    block, best = torch.zeros(2**26), 0.0
    for _ in range(30):
        begin = time.perf_counter()
        block.sum()
        best = max(best, block.numel() * 4 / (time.perf_counter() - begin))
    return best


def measure(models, fused):
    """{"path", "work", "bandwidth", "bound"} in ms with ATen's kernels, "used_work" in ms with fused
    ones if `fused`, else with ATen's, and the number of "operators"."""
    aten = {"anabranch.fuse": False, "anabranch.tune": "off"}
    graphs = []
    single = _spans(models.plain, models.inputs, aten | {"anabranch.threads": 1}, graphs.append)
    shared = _spans(models.plain, models.inputs, aten | {"anabranch.threads": models.threads})
    used = _spans(models.plain, models.inputs, {
        "anabranch.fuse": fused, "anabranch.tune": "off", "anabranch.threads": 1})

    def duration(node):
        alone = single.get(node.name, 0.0)
        divided = alone / models.threads if _splits(node) else alone
        return min(alone, divided, shared.get(node.name, alone))

    work = sum(min(time_, models.threads * shared.get(name, time_))
               for name, time_ in single.items()) / models.threads
    weights = _weight_bytes(models.plain)
    transfer = 1e3 * weights / bandwidth() if weights > last_level_cache() else 0.0
    path = Path(graphs[0].graph, duration).longest
    return {"path": path, "work": work, "bandwidth": transfer, "bound": max(path, work, transfer),
            "used_work": max(sum(used.values()) / models.threads, transfer),
            "operators": len(single)}
