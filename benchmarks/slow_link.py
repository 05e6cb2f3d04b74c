"""How much of an all-reduce over a slow link hides behind compute: the share, as JSON.

Two ranks run in two network namespaces joined by a veth pair whose ends send no faster than a token
bucket lets them. One branch of the model reduces a tensor over the link, the other multiplies
matrices. The same model is compiled twice, with the all-reduce on a stream of its own and without
streams, and both are called in turn, so that a busy neighbour hits both.

    waiting_ms       how long one stream stands in the all-reduce's second half (its trace)
    hidden_share     (one stream − two streams) ÷ waiting: the median over the pairs of calls
    overlapped_share part of the second half beside which products ran (the trace of two streams)
    ratio            time of two streams ÷ time of one: the median over the pairs of calls

Needs root and iproute2 (`ip`, `tc`); says what is missing otherwise, and makes no measurement.
With --loopback the ranks talk through the host's own loopback, which nearly never waits: the ratio
then shows what the overlap costs where it cannot pay.

    ./dev run --threads 1 benchmarks/slow_link.py [--pairs 9] [--rate 400] [--megabytes 4]
                                                  [--loopback]
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BURST_BYTES = 256 * 1024  # that the bucket lets pass at once
PRODUCT = 256  # rows and columns of the matrices


def command(*words):
    """Runs a command of iproute2; RuntimeError with what it says when it fails."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")


class Link:
    """Two network namespaces and the slow link between them; removed at the end of the `with`."""

    def __init__(self, megabits):
        self.megabits = megabits
        self.names = [f"anabranch-{os.getpid()}-{rank}" for rank in range(2)]
        self.ends = [f"ab{os.getpid()}e{rank}" for rank in range(2)]

    def __enter__(self):
        try:
            for name in self.names:
                command("ip", "netns", "add", name)
            command("ip", "link", "add", self.ends[0], "netns", self.names[0], "type", "veth",
                    "peer", "name", self.ends[1], "netns", self.names[1])
            for rank, (name, end) in enumerate(zip(self.names, self.ends, strict=True)):
                inside = ("ip", "-n", name)
                command(*inside, "address", "add", f"10.231.77.{rank + 1}/24", "dev", end)
                command(*inside, "link", "set", "lo", "up")
                command(*inside, "link", "set", end, "up")
                command("tc", "-n", name, "qdisc", "add", "dev", end, "root", "tbf", "rate",
                        f"{self.megabits}mbit", "burst", str(BURST_BYTES), "latency", "100ms")
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *problem):
        self.remove()

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


class Loopback:
    """In the place of a Link: no namespaces, no limit."""

    names, ends = (None, None), ("lo", "lo")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        pass


def missing():
    """Why this machine cannot make a slow link, or ""."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    absent = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if absent:
        return f"{' and '.join(absent)} not found: install iproute2"
    try:
        with Link(400):
            return ""
    except RuntimeError as problem:
        return f"no slow link between namespaces on this kernel: {problem}"


def start(link, rank, arguments, store):
    """The process of one rank, inside its namespace."""
    inside = ["ip", "netns", "exec", link.names[rank]] if link.names[rank] else []
    words = [*inside, sys.executable, os.path.abspath(__file__),
             "--rank", str(rank), "--store", store, "--end", link.ends[rank],
             "--pairs", str(arguments.pairs), "--rate", str(arguments.rate),
             "--megabytes", str(arguments.megabytes)] + ["--loopback"] * arguments.loopback
    if arguments.traces:
        words += ["--traces", arguments.traces]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True,
                            env=os.environ | {"OMP_NUM_THREADS": "1"})


def run_ranks(arguments):
    """Starts both ranks and prints what rank 0 measured; the exit code."""
    reason = "" if arguments.loopback else missing()
    if reason:
        print(json.dumps({"workload": "slow_link", "not_measured": reason}, indent=2))
        return 3
    with tempfile.TemporaryDirectory() as folder, \
            (Loopback() if arguments.loopback else Link(arguments.rate)) as link:
        ranks = [start(link, rank, arguments, os.path.join(folder, "store")) for rank in range(2)]
        try:
            texts = [process.communicate(timeout=arguments.limit)[0] for process in ranks]
        finally:
            for process in ranks:
                process.kill()
    print(texts[0], end="")
    return max(abs(process.returncode) for process in ranks)


def make_model(labels, rounds):
    """The two branches; `labels` puts the all-reduce on the stream "comm"."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as collectives

    import anabranch

    def scope():
        return anabranch.stream("comm") if labels else contextlib.nullcontext()

    class Branches(torch.nn.Module):
        def forward(self, partial, x, weight):
            with scope():
                total = collectives.all_reduce(partial, "sum", dist.group.WORLD)
            for _ in range(rounds):
                x = x @ weight
            return total + 1, x

    return Branches()


def choose_rounds(arguments, x, weight):
    """Products that take 1.5 times what the link needs for the tensor; the same on both ranks."""
    import torch
    import torch.distributed as dist

    seconds = []
    for _ in range(100):
        begin = time.perf_counter()
        x @ weight
        seconds.append(time.perf_counter() - begin)
    wire = arguments.megabytes * 8 / arguments.rate
    product = statistics.median(seconds[50:])  # the first ones warm up
    rounds = torch.tensor(max(4, round(1.5 * wire / product)))
    dist.broadcast(rounds, 0)
    return int(rounds)


def measure(arguments, models, inputs):
    """Seconds of each pair of calls, as (streams, one stream)."""
    import torch.distributed as dist

    pairs = []
    for index in range(arguments.pairs):
        times = {}
        for which in (0, 1) if index % 2 else (1, 0):  # alternate who goes first
            dist.barrier()
            begin = time.perf_counter()
            models[which](*inputs)
            times[which] = time.perf_counter() - begin
        pairs.append((times[0], times[1]))
    return pairs


def read_trace(path):
    """The second halves: seconds of each in the one-stream program, in order, and for each in the
    other one the share of it that products ran beside."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    calls = {}
    for event in events:
        if event.get("cat") == "operator":
            calls.setdefault((event["args"]["program"], event["args"]["call"]), []).append(event)
    waiting, overlapped = [], []
    for spans in calls.values():
        (half,) = (span for span in spans if "wait_tensor" in span["args"]["op"])
        if half["tid"] == 1:  # the default stream's track
            waiting.append((half["ts"], half["dur"] / 1e6))
            continue
        begin, end = half["ts"], half["ts"] + half["dur"]
        beside = sum(max(0, min(end, span["ts"] + span["dur"]) - max(begin, span["ts"]))
                     for span in spans if span["tid"] == 1)
        overlapped.append(beside / half["dur"])
    return [seconds for _, seconds in sorted(waiting)], overlapped


def run_rank(arguments):
    """One rank; the first prints the measurement."""
    os.environ["GLOO_SOCKET_IFNAME"] = arguments.end
    import torch
    import torch.distributed as dist

    import anabranch
    from anabranch.tracing import trace

    dist.init_process_group("gloo", init_method=f"file://{arguments.store}", rank=arguments.rank,
                            world_size=2, timeout=datetime.timedelta(seconds=120))
    torch.manual_seed(arguments.rank)
    partial = torch.randn(arguments.megabytes * 2**18)
    x, weight = torch.randn(PRODUCT, PRODUCT), torch.randn(PRODUCT, PRODUCT) / PRODUCT**0.5
    folder = arguments.traces or os.path.dirname(arguments.store)
    path = os.path.join(folder, f"rank{arguments.rank}.json")
    with torch.no_grad():
        rounds = choose_rounds(arguments, x, weight)
        compiled = [torch.compile(make_model(labels, rounds), backend=anabranch.backend(),
                                  dynamic=False, fullgraph=True) for labels in (True, False)]
        expected = make_model(False, rounds)(partial, x, weight)
        for model in compiled:
            for _ in range(2):
                for got, want in zip(model(partial, x, weight), expected, strict=True):
                    assert torch.equal(got, want), "results differ from eager"
        with trace(path):
            pairs = measure(arguments, compiled, (partial, x, weight))
    if arguments.rank == 0:
        print(json.dumps(report(arguments, rounds, pairs, *read_trace(path)), indent=2))
    dist.barrier()
    dist.destroy_process_group()
    return 0


def report(arguments, rounds, pairs, waiting, overlapped):
    streams, single = zip(*pairs, strict=True)
    hidden = sorted((b - a) / wait for (a, b), wait in zip(pairs, waiting, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    return {
        "workload": f"all_reduce of {arguments.megabytes} MB beside {rounds} products",
        "link_mbit": "loopback" if arguments.loopback else arguments.rate,
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "pairs": len(pairs),
        "streams_ms_median": round(1e3 * statistics.median(streams), 1),
        "single_ms_median": round(1e3 * statistics.median(single), 1),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_min": round(ratios[0], 3),
        "ratio_max": round(ratios[-1], 3),
        "waiting_ms_median": round(1e3 * statistics.median(waiting), 1),
        "hidden_share_median": round(statistics.median(hidden), 3),
        "hidden_share_min": round(hidden[0], 3),
        "hidden_share_max": round(hidden[-1], 3),
        "overlapped_share_median": round(statistics.median(overlapped), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9, help="interleaved pairs of calls")
    parser.add_argument("--rate", type=int, default=400, help="Mbit/s of the link")
    parser.add_argument("--megabytes", type=int, default=4, help="size of the reduced tensor")
    parser.add_argument("--loopback", action="store_true", help="no slow link, no namespaces")
    parser.add_argument("--traces", metavar="DIR", help="keep each rank's trace here")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which to give up")
    for hidden in ("--store", "--end"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    return run_ranks(arguments) if arguments.rank is None else run_rank(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
