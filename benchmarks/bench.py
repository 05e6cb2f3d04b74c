"""Measures the workloads against eager execution and other compilers: `./dev bench [names]`.

    ./dev bench                      all rows (most of an hour)
    ./dev bench W2 "W5 DLRM B=1"     rows whose names begin so
    ./dev bench --quick              all of them in tiny sizes, to see that they work
    ./dev bench --list               names only
    ./dev bench --publish            puts the results in OUT into docs/benchmarks.md

Each row runs in a process of its own: all candidates compile, their results are compared with
eager's, then they are timed in turn, round after round. A round counts only if other processes used
less than 6 % of a core in it. Rows go into OUT/results.json, where those of earlier runs stay;
OUT/table.md and OUT/ratios.svg are made from it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent import futures

from harness import machine, publish, report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# What is no single call of one process: (script, its words, its words with --quick).
_OTHERS = {
    "W6 slow link": ("slow_link.py", [], ["--pairs", "2", "--megabytes", "1"]),
    "W6 loopback": ("slow_link.py", ["--loopback"],
                    ["--loopback", "--pairs", "2", "--megabytes", "1"]),
    "W7 overhead": ("overhead.py", [], ["--quick"]),
}
_QUICK_WITH_ALL = ("w8_serial",)  # all candidates also with --quick


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of row names; none: all rows")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, few rounds")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--publish", action="store_true",
                        help="measure nothing; fill docs/benchmarks.md from the results in OUT")
    parser.add_argument("--budget", type=float, metavar="S",
                        help="seconds of timing for a row at most (default 45, quick 1)")
    parser.add_argument("--only", metavar="A,B", help="these candidates only")
    parser.add_argument("--out", metavar="DIR", default=os.path.join(ROOT, ".dev", "bench"))
    parser.add_argument("--limit", type=float, metavar="S", default=900,
                        help="seconds after which a row's process is ended (default 900)")
    return parser.parse_args(arguments)


def start(code, *words):
    """A process of ours that runs `code` with the harness at hand."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=HERE, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def list_rows(quick):
    """[(file, index, name)]"""
    process = start("import json, sys\nfrom harness import worker\n"
                    "print(json.dumps(worker.list_rows(sys.argv[1] == 'quick')))",
                    "quick" if quick else "full")
    text = process.communicate()[0]
    if process.returncode:
        raise SystemExit(text)
    return json.loads(text.splitlines()[-1])


def chosen(name, patterns):
    return not patterns or any(name.lower().startswith(each.lower()) for each in patterns)


def run_once(job, folder, limit):
    """One try at a row: (result or None, what was being done, why it ended, its output)."""
    job = job | {"progress": os.path.join(folder, "progress"),
                 "result": os.path.join(folder, "result.json")}
    process = start("import sys\nfrom harness import worker\nworker.run(sys.argv[1])",
                    json.dumps(job))
    try:
        output = process.communicate(timeout=limit)[0]
        why = f"exit code {process.returncode}"
        if process.returncode < 0:
            why = f"the process died of {signal.Signals(-process.returncode).name}"
    except subprocess.TimeoutExpired:
        process.kill()
        output, why = process.communicate()[0], f"not finished after {limit:.0f} s"
    if os.path.exists(job["result"]):
        with open(job["result"], encoding="utf-8") as file:
            result = json.load(file)
        if process.returncode:
            result["bounds_failed"] = why
        return result, "", "", ""
    doing = "start"
    if os.path.exists(job["progress"]):
        with open(job["progress"], encoding="utf-8") as file:
            doing = file.read()
    return None, doing, why, output


def run_row(job, limit):
    """The row's result; a candidate that ends the process is left out in the next try."""
    excluded = {}
    while True:
        with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder:
            result, doing, why, output = run_once(job | {"excluded": excluded}, folder, limit)
        if result is not None:
            return result
        key = doing.split()[-1]
        if key in excluded or key in ("start", "timing"):
            return {"failed": f"{doing}: {why}", "output": output[-2000:]}
        excluded[key] = f"{doing}: {why}" if doing != key else why


def run_other(name, options):
    """The JSON that one of the other benchmarks prints."""
    script, full, quick = _OTHERS[name]
    words = [sys.executable, os.path.join(HERE, script), *(quick if options.quick else full)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished after {options.limit:.0f} s"}
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"failed": f"exit code {done.returncode}",
                "output": (done.stdout + done.stderr)[-2000:]}


def job_of(row, options):
    """What the process of one of list_rows() is told."""
    file, index, _ = row
    return {"file": file, "index": index, "quick": options.quick,
            "slow_compilers": not options.quick or file in _QUICK_WITH_ALL,
            "budget": options.budget or (1 if options.quick else 45),
            "candidates": options.only.split(",") if options.only else None}


def read_results(path):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    return {"rows": {}}


def write_results(folder, results):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, ensure_ascii=False)
        file.write("\n")
    with open(os.path.join(folder, "table.md"), "w", encoding="utf-8") as file:
        file.write(report.document(results))
    report.plot(results, os.path.join(folder, "ratios.svg"))


def main(arguments=None):
    options = parse(arguments)
    path = os.path.join(options.out, "results.json")
    if options.publish:
        publish.publish(path, os.path.join(ROOT, "docs"))
        return 0
    rows = [row for row in list_rows(options.quick) if chosen(row[2], options.names)]
    others = [name for name in _OTHERS if chosen(name, options.names)]
    if options.list:
        print("\n".join([name for _, _, name in rows] + others))
        return 0
    if not rows and not others:
        raise SystemExit(f"no row begins with {' or '.join(options.names)}; see --list")
    results = read_results(path)
    results["machine"] = machine.describe()
    # Times of tiny sizes mean nothing, so those rows may share the machine.
    with futures.ThreadPoolExecutor(os.cpu_count() if options.quick else 1) as pool:
        started = [("rows", row[2], pool.submit(run_row, job_of(row, options), options.limit))
                   for row in rows]
        started += [("others", name, pool.submit(run_other, name, options)) for name in others]
        for kind, name, running in started:
            result = results.setdefault(kind, {})[name] = running.result()
            print((report.line if kind == "rows" else report.other_line)(name, result), flush=True)
            write_results(options.out, results)
    print(f"written: {os.path.relpath(options.out)}/results.json, table.md, ratios.svg")
    failed = [name for name, row in results["rows"].items() if "failed" in row]
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
