"""Checks many random programs in several processes: `python -m fuzz --help`.

Each process prints one line a program, so that a crash or a hang is put down to its program.
"""

import argparse
import collections
import os
import queue
import subprocess
import sys
import threading
import time

CHUNK = 100  # programs of one process: torch's compiler keeps memory
HANG = 300  # seconds for one program, after which it counts as one that does not end


def parse(arguments):
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program; then + 1 each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--kind", choices=["static", "dynamic", "training"], help="only these")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def work(options):
    """One process: `@start SEED`, then `@done …`, or `@fail …` and, shrunk, a script."""
    import torch

    from anabranch import aliases
    from fuzz import check

    sys.path.append(aliases.SHIMS)
    aliases.install_aliases()
    torch.set_num_threads(1)
    for seed in range(options.seed, options.seed + options.count):
        print("@start", seed, flush=True)
        verdict = check.check(seed, options.kind)
        if not verdict.found:
            print("@done", seed, verdict.program.kind, verdict.refused, flush=True)
            continue
        print("@fail", seed, verdict.program.kind, flush=True)
        print(check.report(verdict, seed), flush=True)


class Worker:
    """A process that works on some seeds, and a thread that passes on what it prints."""

    def __init__(self, options, seeds, lines):
        command = [sys.executable, "-m", "fuzz", "--worker", "--seed", str(seeds.start),
                   "--count", str(len(seeds))]
        if options.kind:
            command += ["--kind", options.kind]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.errors = collections.deque(maxlen=30)
        self.text = []  # lines of the failure that it is reporting
        self.seeds, self.seed, self.since = seeds, seeds.start, time.monotonic()
        self.reader = threading.Thread(target=self.read, args=(lines,))
        threading.Thread(target=self.read_errors, daemon=True).start()
        self.reader.start()

    def read(self, lines):
        for line in self.process.stdout:
            lines.put((self, line.rstrip("\n")))
        lines.put((self, None))

    def read_errors(self):
        self.errors.extend(self.process.stderr)


class Run:
    """All processes of one command."""

    def __init__(self, options):
        self.options = options
        self.lines = queue.Queue()
        end = options.seed + options.count
        chunk = min(CHUNK, -(-options.count // max(1, options.jobs)) or 1)
        self.waiting = collections.deque(
            range(s, min(s + chunk, end)) for s in range(options.seed, end, chunk))
        self.workers = set()
        self.kinds = collections.Counter()
        self.refused = self.failed = 0

    def run(self):
        """True if no program failed."""
        start = said = time.monotonic()
        self.fill()
        while self.workers:
            try:
                worker, line = self.lines.get(timeout=1)
                self.handle(worker, line)
            except queue.Empty:
                pass
            self.stop_hanging()
            if time.monotonic() - said > 10:
                said = time.monotonic()
                print(f"fuzz: {self.kinds.total()} of {self.options.count} programs",
                      file=sys.stderr, flush=True)
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items()))
        print(f"fuzz: {self.kinds.total()} programs through torch.compile ({kinds}), "
              f"{self.failed} failed, {self.refused} that torch itself refuses left out, "
              f"{time.monotonic() - start:.0f} s (seed {self.options.seed})")
        return not self.failed

    def fill(self):
        """Starts processes while there is work for them."""
        if self.failed and not self.options.keep_going:
            self.waiting.clear()
        while self.waiting and len(self.workers) < self.options.jobs:
            self.workers.add(Worker(self.options, self.waiting.popleft(), self.lines))

    def handle(self, worker, line):
        if line is None:
            return self.ended(worker)
        if not line.startswith(("@start ", "@done ", "@fail ")):  # scripts have decorators
            worker.text.append(line)
            return None
        self.say(worker)
        word, seed, *rest = line.split(" ")
        worker.seed, worker.since = int(seed), time.monotonic()
        if word == "@done":
            self.kinds[rest[0]] += 1
            self.refused += int(rest[1])
        elif word == "@fail":
            worker.since = float("inf")  # shrinking takes its time
            self.kinds[rest[0]] += 1
            self.failed += 1
            worker.text.append(f"FAILED: python -m fuzz --seed {seed} --count 1")
        return None

    def say(self, worker):
        """The report of a failure, in one piece."""
        if worker.text:
            print("\n".join(worker.text), flush=True)
        worker.text = []

    def ended(self, worker):
        self.workers.discard(worker)
        self.say(worker)
        if code := worker.process.wait():
            self.failed += 1
            print(f"FAILED: the process ended with {code}: "
                  f"python -m fuzz --seed {worker.seed} --count 1", flush=True)
            print("".join(worker.errors), flush=True)
            left = range(worker.seed + 1, worker.seeds.stop)
            if left:
                self.waiting.append(left)
        self.fill()

    def stop_hanging(self):
        for worker in self.workers:
            if time.monotonic() - worker.since > HANG:
                worker.process.kill()


def main(arguments=None):
    options = parse(arguments)
    if options.worker:
        return work(options)
    return 0 if Run(options).run() else 1


if __name__ == "__main__":
    sys.exit(main())
