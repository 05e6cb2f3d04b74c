"""Puts results into the documentation: tables between two marks, JSON and plot beside them."""

import json
import os
import shutil

from harness import report

_BEGIN, _END = "<!-- results: ./dev bench --publish -->", "<!-- end of results -->"


def publish(path, docs):
    """Fills DOCS/benchmarks.md and DOCS/benchmarks/ from the results file at `path`."""
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    folder = os.path.join(docs, "benchmarks")
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(path, os.path.join(folder, "results.json"))
    picture = report.plot(results, os.path.join(folder, "ratios.svg"))
    page = os.path.join(docs, "benchmarks.md")
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(_BEGIN)
    after = rest.partition(_END)[2]
    plot = "![ratios](benchmarks/ratios.svg)\n\n" if picture else ""
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{_BEGIN}\n\n{plot}{report.document(results)}\n{_END}{after}")
