"""Two ranks over a slow link: one branch's all-reduce runs beside the other branch's products."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from support import ROOT

BENCHMARK = os.path.join(ROOT, "benchmarks", "slow_link.py")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(what the benchmark printed, the folder of its traces)"""
    folder = tmp_path_factory.mktemp("traces")
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python")}
    done = subprocess.run(
        [sys.executable, BENCHMARK, "--pairs", "2", "--megabytes", "2", "--traces", str(folder)],
        capture_output=True, text=True, env=environment, timeout=400)
    if done.returncode == 3:
        pytest.skip(json.loads(done.stdout)["not_measured"])
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return json.loads(done.stdout), folder


def operators(folder, rank):
    """{(program, call): its operators}, and the tracks by stream label."""
    with open(folder / f"rank{rank}.json", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    labels = {event["tid"]: event["args"]["label"] for event in events
              if event["name"] == "thread_name"}
    calls = {}
    for event in events:
        if event.get("cat") == "operator":
            key = event["args"]["program"], event["args"]["call"]
            calls.setdefault(key, []).append((labels[event["tid"]], event))
    return calls


@pytest.mark.parametrize("rank", [0, 1])
def test_products_run_while_the_all_reduce_waits(run, rank):
    overlapped = 0
    for spans in operators(run[1], rank).values():
        waits = [(label, e) for label, e in spans if "wait_tensor" in e["args"]["op"]]
        products = [(label, e) for label, e in spans if "aten.mm" in e["args"]["op"]]
        ((label, wait),) = waits
        inside = [e for _, e in products
                  if wait["ts"] <= e["ts"] and e["ts"] + e["dur"] <= wait["ts"] + wait["dur"]]
        if label == "comm":
            assert inside and all(where == "" for where, _ in products)
            overlapped += 1
        else:
            assert not inside  # without streams the products come after the wait
    assert overlapped == 2


def test_the_benchmark_prints_the_hidden_share(run):
    numbers = run[0]
    assert numbers["pairs"] == 2 and numbers["link_mbit"] == 400
    assert {"hidden_share_median", "waiting_ms_median", "streams_ms_median",
            "single_ms_median"} <= numbers.keys()
    assert 0 < numbers["overlapped_share_median"] <= 1


def test_what_is_missing_is_said(monkeypatch):
    loader = importlib.util.spec_from_file_location("slow_link", BENCHMARK)
    benchmark = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(benchmark)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    assert benchmark.missing() == "ip and tc not found: install iproute2"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert benchmark.missing() == "network namespaces need root"
