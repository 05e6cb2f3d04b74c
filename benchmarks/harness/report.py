"""Results as tables in Markdown and as a plot."""

_NO_LOSS = 1.02  # streams ÷ one stream that counts as equal
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


def document(results):
    """The Markdown text: machine, times, ratios and bounds, what is missed, peak memory, and why
    candidates did not run."""
    order = sorted(name for name in results["rows"])
    rows = {name: results["rows"][name] for name in order if "candidates" in results["rows"][name]}
    notes = []
    sections = [_machine_lines(results.get("machine", {})), _time_table(rows, notes),
                _ratio_table(rows), _missed_table(rows), _memory_table(rows),
                [f"[{number}] {note}  " for number, note in enumerate(notes, 1)],
                [f"{name}: {results['rows'][name]['failed']}  " for name in order
                 if "failed" in results["rows"][name]]]
    sections += [_other_table(name, other) for name, other in results.get("others", {}).items()]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _machine_lines(machine):
    if not machine:
        return []
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return [f"{machine['processor']}, {machine['cores']} cores, {machine['instructions']}, "
            f"{caches}, {machine['memory_gib']} GiB; {machine['system']}; Python "
            f"{machine['python']}, {versions}; `OMP_WAIT_POLICY={machine['omp_wait_policy']}`; "
            f"{machine['day']}."]


def _table(head, body):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join(cells) + " |" for cells in body)]


def _time_table(rows, notes):
    body = []
    for name, row in rows.items():
        cells = [_peer(row, key, notes, name) if key in _PEERS else _time(row, key, notes, name)
                 for key in _TITLES]
        body.append([name + _mark(row), *cells, _spread(row)])
    return ["Milliseconds of a call, and the quartiles of the calls with streams.", "",
            *_table(["row", *_TITLES.values(), "quartiles"], body)]


def _spread(row):
    entry = row["candidates"].get("streams", {})
    return f"{_number(entry['low'])} to {_number(entry['high'])}" if "low" in entry else "–"


def _ratio_table(rows):
    body = []
    for name, row in rows.items():
        best, peer = against_best(row)
        bounds = row.get("bounds", {})
        body.append([name + _mark(row), _share(ratio(row, "streams", "one_stream")),
                     _share(ratio(row, "aten_streams", "aten_one_stream")),
                     _share(best) + (f" ({peer})" if peer else "")]
                    + [_number(bounds.get(key))
                       for key in ("path", "work", "bandwidth", "bound", "used_work")])
    return ["Ratios, and the least milliseconds: of ATen's kernels the largest of critical path, "
            "work ÷ cores and weights ÷ bandwidth; of the kernels used the last two.", "",
            *_table(["row", "streams ÷ one stream", "the same, ATen", "streams ÷ best peer", "path",
                     "work", "bandwidth", "least, ATen", "least, used"], body)]


def missed(row):
    """[(against what, ratio, cause)]: where a row is slower than one stream or than the best peer.

    The cause is measured: kernels whose work, spread over the cores without any loss, takes as long
    as the peer cannot be scheduled to beat it; otherwise the rest is between the kernels.
    """
    found = []
    single, (best, peer) = ratio(row, "streams", "one_stream"), against_best(row)
    if single is not None and single > _NO_LOSS:
        found.append(("one stream", single, "placement: the kernels are the same"))
    if best is not None and best > 1:
        mine, least = _ms(row, "streams"), row.get("bounds", {}).get("used_work")
        if least is None:
            cause = "–"
        elif least >= mine / best:
            cause = f"kernels: without any loss they take {_number(min(least, mine))} ms"
        else:
            cause = (f"between the kernels: they take {_number(least)} ms without any loss, "
                     f"{mine / least:.1f} times that is used")
        found.append((peer, best, cause))
    return found


def _missed_table(rows):
    body = [[name + _mark(row), against, _share(value), cause] for name, row in rows.items()
            for against, value, cause in missed(row)]
    if not body:
        return ["No row is slower than the same on one stream, or than the best peer."]
    return [f"Rows that are slower than one stream (over {_NO_LOSS}), or than the best peer.", "",
            *_table(["row", "slower than", "ratio", "cause, as measured"], body)]


def _memory_table(rows):
    keys = ("eager", "inductor", "streams", "one_stream", "aten_streams", "aten_one_stream")
    return ["Peak megabytes of tensors that a call holds beyond parameters and inputs.", "",
            *_table(["row", *(_TITLES[key] for key in keys)],
                    [[name, *(_megabytes(row, key) for key in keys)] for name, row in rows.items()])]


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
    by_candidate = {key: value for key, value in result.items() if isinstance(value, dict)}
    if not by_candidate:
        return [other_line(name, result)]
    columns = list(dict.fromkeys(key for value in by_candidate.values() for key in value))
    body = [[key] + [_cell(value.get(column)) for column in columns]
            for key, value in by_candidate.items()]
    return [f"{name}: {result.get('unit', '')}.", "", *_table(["", *columns], body)]


def _cell(value):
    return value if isinstance(value, str) else _number(value)


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
