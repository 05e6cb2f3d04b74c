"""The harness of the benchmarks: tiny rows run, what cannot run says why. No times are asserted."""

import json
import os
import subprocess
import sys

import pytest
import torch
from support import ROOT

BENCHMARKS = os.path.join(ROOT, "benchmarks")
sys.path.append(BENCHMARKS)

import bench  # noqa: E402 (the folder of the benchmarks is on the path from here on)
import workloads  # noqa: E402
from harness import bounds, candidates, publish, report, timing  # noqa: E402


def run(folder, *words):
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python")}
    done = subprocess.run(
        [sys.executable, os.path.join(BENCHMARKS, "bench.py"), "--quick", "--out", str(folder),
         "--budget", "0.1", *words], capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(folder / "results.json", encoding="utf-8") as file:
        return json.load(file)


def test_rows_have_times_bounds_memory_and_the_machine(tmp_path):
    results = run(tmp_path, "X2", "X4", "--only", "eager,inductor,streams,aten_streams")
    assert set(results["rows"]) == {"X2 ensemble", "X4 draft ∥ verify"}
    for row in results["rows"].values():
        ran = {key for key, entry in row["candidates"].items() if entry.get("ms", 0) > 0}
        assert ran == {"eager", "aten_streams"}
        assert "--quick" in row["candidates"]["inductor"]["failed"]
        assert all(row["candidates"][key]["peak_bytes"] > 0 for key in ran)
        assert row["bounds"]["bound"] >= row["bounds"]["path"] > 0
    assert results["machine"]["cores"] >= 1
    assert run(tmp_path, "X1", "--only", "eager")["rows"].keys() > results["rows"].keys()
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "| X2 ensemble" in table and "--quick" in table


@pytest.mark.parametrize("file", workloads.names())
def test_both_forms_of_a_workload_equal_each_other(file):
    with torch.no_grad():
        torch.manual_seed(0)
        plain_rows = list(workloads.load(file, False).rows(True))
        for plain, labelled in zip(plain_rows, workloads.load(file, True).rows(True), strict=True):
            models = candidates.Models.of(plain, labelled, 1)
            want = candidates.as_list(models.plain(*models.inputs))
            for other in (models.labelled, *models.other_forms.values()):
                got = candidates.as_list(other(*models.inputs))
                assert candidates.compare("streams", got, want) == ""
            for mine, theirs in zip(models.plain.parameters(), models.labelled.parameters()):
                assert mine.data_ptr() == theirs.data_ptr()


def test_a_candidate_that_fails_or_differs_says_so():
    def broken():
        raise ValueError("no such operator\nmore")

    expected = [torch.ones(3)]
    assert candidates.make("inductor", broken, expected).reason == "ValueError: no such operator"
    wrong = candidates.make("inductor", lambda: lambda: [torch.zeros(3)], expected)
    assert wrong.reason == "wrong results: result 0 differs by 1.0e+00 of the largest value"
    nearly = [torch.ones(3) + 1e-6]
    assert callable(candidates.make("streams", lambda: lambda: nearly, expected))
    exact = candidates.make("aten_one_stream", lambda: lambda: nearly, expected)
    assert "bit for bit" in exact.reason


def test_a_candidate_that_ends_its_process_is_left_out(monkeypatch):
    tries = []

    def run_once(job, folder, limit):
        tries.append(job["excluded"])
        if "inductor" in job["excluded"]:
            return {"candidates": {}}, "", "", ""
        return None, "memory of inductor", "the process died of SIGSEGV", ""

    monkeypatch.setattr(bench, "run_once", run_once)
    assert bench.run_row({}, 1) == {"candidates": {}}
    assert tries[1] == {"inductor": "memory of inductor: the process died of SIGSEGV"}
    monkeypatch.setattr(bench, "run_once", lambda *_: (None, "timing", "exit code 1", "trace"))
    assert bench.run_row({}, 1) == {"failed": "timing: exit code 1", "output": "trace"}


def test_only_quiet_rounds_count():
    quiet, busy = [(0.0, {"a": [1.0, 1.2]})] * 5, [(0.5, {"a": [9.0, 9.0]})] * 20
    times, info = timing._summary({"a": None}, quiet + busy)
    assert times["a"]["ms"] == 1.1 and info["clean"] == 5 and info["estimate"] == "median"
    times, info = timing._summary({"a": None}, quiet[:1] + busy)
    assert times["a"]["ms"] == 9.0 and info["estimate"] == "10th percentile"


def test_the_path_goes_through_data_views_and_writes():
    def function(x):
        out = torch.zeros_like(x)
        out[0].add_(x[0] * 2)  # after zeros_like and the product
        return out + 1, x - 1

    graph = torch.fx.experimental.proxy_tensor.make_fx(function)(torch.ones(2, 2)).graph
    # zeros_like or mul, add_, add: the views and the other branch take no part
    assert bounds.Path(graph, lambda node: 0.0 if bounds._is_view(node) else 1.0).longest == 3.0


def test_the_best_form_of_the_best_peer_counts():
    row = {"candidates": {"eager": {"ms": 4.0}, "inductor": {"ms": 3.0}, "streams": {"ms": 1.0},
                          "inductor_gather": {"ms": 2.0}, "inductor_max": {"failed": "why"}},
           "rounds": {"estimate": "median"}}
    assert report.peer_times(row) == {"eager": (4.0, ""), "inductor": (2.0, "gather")}
    assert report.against_best(row) == (0.5, "Inductor")
    text = report.document({"rows": {"W": row}})
    assert "| W | 4.00 | 2.00 (gather) | no [1] | – | 1.00 |" in text
    assert "[1] W, Inductor max: why" in text and "No row is slower" in text


def test_what_is_slower_is_listed_with_its_cause():
    def row(streams, used):
        return {"candidates": {"onnxruntime": {"ms": 2.0}, "streams": {"ms": streams},
                               "one_stream": {"ms": 3.0}},
                "bounds": {"used_work": used}, "rounds": {"estimate": "median"}}

    assert report.missed(row(1.9, 1.0)) == []
    ((against, _, cause),) = report.missed(row(2.5, 2.2))
    assert against == "ORT" and cause.startswith("kernels")
    first, second = report.missed(row(3.5, 1.0))
    assert first[0] == "one stream" and second[2].startswith("between the kernels")


def test_results_are_published_between_the_marks(tmp_path):
    row = {"candidates": {"eager": {"ms": 4.0}, "streams": {"ms": 1.0}, "one_stream": {"ms": 2.0}},
           "rounds": {"estimate": "median"}}
    (tmp_path / "r.json").write_text(json.dumps({"rows": {"W": row}}))
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n{publish._BEGIN}\nstale\n{publish._END}\nafter\n")
    for _ in range(2):
        publish.publish(tmp_path / "r.json", tmp_path)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "stale" not in text
    assert text.count("| W | 4.00 |") == 1
    assert (tmp_path / "benchmarks" / "results.json").exists()
