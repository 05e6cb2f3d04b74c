"""Measures one row in a process of its own, so that a crash costs one candidate only."""

import contextlib
import gc
import json
import logging
import os
import tempfile
import time
import warnings

import torch

from harness import bounds, candidates, memory, timing
from workloads import load, names


def rows_of(name, labels, quick):
    torch.manual_seed(0)
    return list(load(name, labels).rows(quick))


def list_rows(quick):
    """[(file, index, row name)] of all workloads."""
    return [(name, index, row.name) for name in names()
            for index, row in enumerate(rows_of(name, False, quick))]


class Progress:
    """Tells the parent process, through a file, what is being done."""

    def __init__(self, path):
        self.path = path

    def say(self, what):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(what)


def measure(name, index, settings, progress, keep):
    """Calls `keep` with the results of one row, a dictionary for JSON, and again with its bounds.

    settings: quick, budget (seconds), candidates (names or None for all), excluded {name: reason},
    slow_compilers (whether candidates that compile for long take part).
    """
    warnings.filterwarnings("ignore")
    for other in ("torch", "onnxscript", "onnx_ir"):
        logging.getLogger(other).setLevel(logging.CRITICAL)
    quick = settings["quick"]
    plain, labelled = (rows_of(name, labels, quick)[index] for labels in (False, True))
    with torch.no_grad(), tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch:
        os.environ["BENCH_SCRATCH"] = scratch
        models = candidates.Models.of(plain, labelled, torch.get_num_threads())
        result = _measure(models, settings, progress, scratch)
        keep(result)
        if any("ms" in result["candidates"].get(key, {}) for key in candidates.OURS):
            progress.say("bounds")
            with memory.Reports():
                result["bounds"] = bounds.measure(models, fused=settings["slow_compilers"])
            keep(result)


def _measure(models, settings, progress, scratch):
    result = {"candidates": {}}
    calls = _make_all(models, settings, progress, scratch, result["candidates"])
    progress.say("timing")
    rest = {key: candidates.ORT_REST for key in calls if key == "onnxruntime"}
    times, result["rounds"] = timing.interleave(calls, rest, settings["budget"])
    for key, call in calls.items():
        entry = result["candidates"][key]
        entry.update(times[key])
        if key != "onnxruntime":  # allocates where torch does not see it
            progress.say(f"memory of {key}")
            entry["peak_bytes"] = memory.allocated(call) + entry.get("arena_bytes", 0)
    return result


def _left_out(key, slow_compilers):
    """Why a candidate is not measured though it could be, or ""."""
    if slow_compilers or key in candidates.QUICK:
        return ""
    return "left out: compiling it takes longer than --quick has"


def _make_all(models, settings, progress, scratch, entries):
    """{name: callable} of all candidates that run; `entries` gets how they were made or why not."""
    expected = candidates.eager(models)()
    calls = {}
    for key, maker in candidates.makers(models, scratch).items():
        if settings["candidates"] and key not in settings["candidates"]:
            continue
        entry = entries[key] = {}
        if reason := settings["excluded"].get(key, _left_out(key, settings["slow_compilers"])):
            entry["failed"] = reason
            continue
        progress.say(key)
        begin = time.perf_counter()
        with memory.Reports() as said, open(os.devnull, "w", encoding="ascii") as nowhere, \
                contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            made = candidates.make(key, maker, expected)
        entry["compile_s"] = round(time.perf_counter() - begin, 2)
        if isinstance(made, candidates.Failure):
            entry["failed"] = made.reason
        else:
            calls[key] = made
        if key in candidates.OURS:
            entry["arena_bytes"] = said.arena
            entry["notes"] = said.notes
        gc.collect()
    return calls


def run(arguments):
    """Entry of the process: arguments are the JSON that bench.py made."""
    job = json.loads(arguments)

    def keep(result):
        with open(job["result"], "w", encoding="utf-8") as file:
            json.dump(result, file)

    measure(job["file"], job["index"], job, Progress(job["progress"]), keep)
