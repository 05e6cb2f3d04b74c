"""Results as tables in Markdown and as a plot."""

_PEERS = ("eager", "inductor", "inductor_max", "onnxruntime")
_TITLES = {"eager": "eager", "inductor": "Inductor", "inductor_max": "Inductor max",
           "onnxruntime": "ORT", "streams": "streams", "one_stream": "one stream",
           "aten_streams": "ATen streams", "aten_one_stream": "ATen one"}


def peer_times(row):
    """{peer: (ms, form)} of the peers that ran, each in its faster form."""
    found = {}
    for key, entry in row.get("candidates", {}).items():
        peer = next((name for name in reversed(_PEERS) if key.startswith(name)), None)
        if peer and "ms" in entry and entry["ms"] < found.get(peer, (float("inf"), ""))[0]:
            found[peer] = entry["ms"], key[len(peer) + 1:]
    return found


def _ms(row, key):
    return row.get("candidates", {}).get(key, {}).get("ms")


def ratio(row, above, below):
    """streams ÷ one stream and the like, or None."""
    a, b = _ms(row, above), _ms(row, below)
    return a / b if a and b else None


def against_best(row):
    """(our time ÷ that of the best peer, its name), or (None, "")"""
    peers, mine = peer_times(row), _ms(row, "streams")
    if not peers or mine is None:
        return None, ""
    best = min(peers, key=lambda name: peers[name][0])
    return mine / peers[best][0], _TITLES[best]


def _number(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _share(value):
    return "–" if value is None else f"{value:.2f}"


def _megabytes(row, key):
    size = row.get("candidates", {}).get(key, {}).get("peak_bytes")
    return "–" if size is None else f"{size / 1e6:.2f}"


def _time(row, key, notes, name):
    entry = row.get("candidates", {}).get(key)
    if entry is None:
        return "–"
    if "failed" in entry:
        notes.append(f"{name}, {_TITLES.get(key, key)}: {entry['failed']}")
        return f"no [{len(notes)}]"
    return _number(entry["ms"])


def _peer(row, key, notes, name):
    best = peer_times(row).get(key)
    if best is None:
        return _time(row, key, notes, name)
    return _number(best[0]) + (f" ({best[1]})" if best[1] else "")


def _mark(row):
    return "" if row["rounds"]["estimate"] == "median" else " *"


def tables(results):
    """The Markdown text: times, ratios and bounds, peak memory, and why candidates did not run."""
    rows = {name: row for name, row in results["rows"].items() if "candidates" in row}
    notes = []
    lines = ["Milliseconds of a call.", "",
             "| row | " + " | ".join(_TITLES.values()) + " |",
             "|---" * (len(_TITLES) + 1) + "|"]
    for name, row in rows.items():
        cells = [_peer(row, key, notes, name) if key in _PEERS else _time(row, key, notes, name)
                 for key in _TITLES]
        lines.append(f"| {name}{_mark(row)} | " + " | ".join(cells) + " |")
    lines += _ratio_table(rows) + _memory_table(rows)
    lines += [""] + [f"[{number}] {note}  " for number, note in enumerate(notes, 1)]
    lines += [f"{name}: {row['failed']}  " for name, row in results["rows"].items()
              if "failed" in row]
    for name, other in results.get("others", {}).items():
        lines += [""] + _other_table(name, other)
    return "\n".join(lines) + "\n"


def _ratio_table(rows):
    lines = ["", "Ratios, and the least time in ms: with ATen's kernels the largest of critical "
             "path, work ÷ cores and weights ÷ bandwidth; with the kernels used of the last two.",
             "",
             "| row | streams ÷ one stream | the same, ATen | streams ÷ best peer | path | work "
             "| bandwidth | least, ATen | least, used |", "|---|---|---|---|---|---|---|---|---|"]
    for name, row in rows.items():
        best, peer = against_best(row)
        bounds = row.get("bounds", {})
        cells = [_share(ratio(row, "streams", "one_stream")),
                 _share(ratio(row, "aten_streams", "aten_one_stream")),
                 _share(best) + (f" ({peer})" if peer else "")]
        cells += [_number(bounds.get(key))
                  for key in ("path", "work", "bandwidth", "bound", "used_work")]
        lines.append(f"| {name}{_mark(row)} | " + " | ".join(cells) + " |")
    return lines


def _memory_table(rows):
    keys = ("eager", "inductor", "streams", "one_stream", "aten_streams", "aten_one_stream")
    lines = ["", "Peak megabytes of tensors that a call holds beyond parameters and inputs.", "",
             "| row | " + " | ".join(_TITLES[key] for key in keys) + " |",
             "|---" * (len(keys) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(_megabytes(row, key) for key in keys) + " |")
    return lines


def line(name, row):
    """One line for the terminal."""
    if "failed" in row:
        return f"{name}: FAILED {row['failed']}\n{row['output']}"
    times = [f"{key} {_number(entry['ms']) if 'ms' in entry else 'no'}"
             for key, entry in row["candidates"].items()]
    best, peer = against_best(row)
    rounds = row["rounds"]
    return (f"{name}: {', '.join(times)} ms; streams ÷ one stream "
            f"{_share(ratio(row, 'streams', 'one_stream'))} "
            f"(ATen {_share(ratio(row, 'aten_streams', 'aten_one_stream'))}), "
            f"÷ best peer {_share(best)} {peer}; "
            f"least {_number(row.get('bounds', {}).get('bound'))}; "
            f"{rounds['estimate']} of {rounds['clean']} clean rounds in {rounds['rounds']}")


def _other_table(name, result):
    """Lines: a table where the figures are by candidate, a list where they are single."""
    tables = {key: value for key, value in result.items() if isinstance(value, dict)}
    if not tables:
        return [other_line(name, result)]
    columns = list(dict.fromkeys(column for value in tables.values() for column in value))
    lines = [f"{name}, {result.get('unit', '')}", "", "| | " + " | ".join(columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for key, value in tables.items():
        cells = [value.get(column, "–") for column in columns]
        cells = [str(cell) if isinstance(cell, str) else _number(cell) for cell in cells]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return lines


def other_line(name, result):
    """One line for the terminal."""
    if "failed" in result:
        return f"{name}: FAILED {result['failed']}\n{result.get('output', '')}"
    return f"{name}: " + ", ".join(f"{key} {value}" for key, value in result.items())


def plot(results, path):
    """Bars of our time ÷ the best peer's and ÷ our own on one stream, as SVG; False without
    matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "anabranch", "font.size": 9}
    from matplotlib import pyplot

    rows = [(name, ratio(row, "streams", "one_stream"), against_best(row)[0])
            for name, row in results["rows"].items()]
    rows = [row for row in rows if row[1] is not None][::-1]
    if not rows:
        return False
    figure, axes = pyplot.subplots(figsize=(7.5, 0.8 + 0.34 * len(rows)), layout="constrained")
    for shift, column, label, colour in ((0.2, 1, "÷ the same on one stream", "#2a6f97"),
                                         (-0.2, 2, "÷ the best peer", "#e07a5f")):
        axes.barh([place + shift for place in range(len(rows))], [row[column] or 0 for row in rows],
                  height=0.38, label=label, color=colour)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_xlabel("time of a call with streams, as a ratio (shorter is better)")
    axes.legend(loc="upper right")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True
