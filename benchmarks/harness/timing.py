"""Interleaved timing that counts only rounds in which the machine was ours."""

import os
import statistics
import time

QUIET_SHARE = 0.06  # of one core: what other processes may use in a round that counts
WANTED_ROUNDS = 9
FEWEST_ROUNDS = 5  # clean ones; with fewer the 10th percentile of all rounds is the estimate
SHORTEST_SAMPLE = 0.2e-3  # seconds: shorter calls are timed several at once
SLOW = 0.1  # seconds: longer calls are timed once in a turn, and not warmed before it
_TICK = os.sysconf("SC_CLK_TCK")


def _used():
    """(CPU seconds of the whole machine, of this process and its children, wall seconds)"""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft_irq = map(int, file.readline().split()[1:8])
    own = os.times()
    return ((user + nice + system + irq + soft_irq) / _TICK,
            own.user + own.system + own.children_user + own.children_system, time.perf_counter())


def _others(before, after):
    """CPU that other processes used between two `_used()`, in cores."""
    machine, own, wall = (b - a for a, b in zip(before, after, strict=True))
    return max(0.0, machine - own) / wall


def _wait_for_quiet(limit):
    end = time.perf_counter() + limit
    while time.perf_counter() < end:
        before = _used()
        time.sleep(0.06)
        if _others(before, _used()) <= QUIET_SHARE:
            return


def _turn(call, length, seconds):
    """Milliseconds of one candidate's calls in its turn; `length`: seconds that a call takes."""
    if length > SLOW:
        return [_milliseconds(call, 1)]
    repeats = max(1, min(5000, round(SHORTEST_SAMPLE / length)))
    call()  # caches and branch predictors are those of this candidate
    found, begin = [], time.perf_counter()
    while len(found) < 2 or time.perf_counter() - begin < seconds:
        found.append(_milliseconds(call, repeats))
    return found


def _milliseconds(call, repeats):
    start = time.perf_counter_ns()
    for _ in range(repeats):
        call()
    return (time.perf_counter_ns() - start) / 1e6 / repeats


def interleave(calls, rest, budget, turn=0.012):
    """Times callables in turn, round after round, until WANTED_ROUNDS were clean or time is over.

    calls: {name: callable without arguments}; rest: {name: seconds of sleep after its turn}, for
    candidates whose threads go on spinning; budget: seconds; turn: seconds of one turn.
    Returns ({name: {"ms", "low", "high", "samples"}}, {"clean", "rounds", "others", "estimate"}):
    the estimate with the quartiles of its samples, and how quiet the machine was.
    """
    lengths = {}
    for name, call in calls.items():
        lengths[name] = _milliseconds(call, 1) / 1e3
        time.sleep(rest.get(name, 0))
    rounds, begin = [], time.perf_counter()
    while True:
        left = budget - (time.perf_counter() - begin)
        clean = sum(others <= QUIET_SHARE for others, _ in rounds)
        if clean >= WANTED_ROUNDS or (left <= 0 and len(rounds) >= 3):
            break
        _wait_for_quiet(min(0.3, max(0.0, left)))
        before, samples = _used(), {}
        for name, call in calls.items():
            time.sleep(0.003)
            samples[name] = _turn(call, lengths[name], turn)
            time.sleep(rest.get(name, 0))
        rounds.append((_others(before, _used()), samples))
    return _summary(calls, rounds)


def _summary(calls, rounds):
    quiet = [samples for others, samples in rounds if others <= QUIET_SHARE]
    enough = len(quiet) >= FEWEST_ROUNDS
    used = quiet if enough else [samples for _, samples in rounds]
    times = {}
    for name in calls:
        values = sorted(value for samples in used for value in samples[name])

        def rank(share, values=values):
            return values[min(len(values) - 1, int(share * len(values)))]

        times[name] = {"ms": statistics.median(values) if enough else rank(0.10),
                       "low": rank(0.25), "high": rank(0.75), "samples": len(values)}
    return times, {"clean": len(quiet), "rounds": len(rounds),
                   "others": round(statistics.median(others for others, _ in rounds), 3),
                   "estimate": "median" if enough else "10th percentile"}
