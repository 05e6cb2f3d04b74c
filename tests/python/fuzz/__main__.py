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
HANG = 300  # seconds for one program


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
    """One process: `start SEED`, then `done SEED REFUSED`, or `fail SEED` and a script."""
    import torch

    from anabranch import aliases
    from fuzz import check

    sys.path.append(aliases.SHIMS)
    aliases.install_aliases()
    torch.set_num_threads(1)
    for seed in range(options.seed, options.seed + options.count):
        print("start", seed, flush=True)
        verdict = check.check(seed, options.kind)
        if not verdict.found:
            print("done", seed, verdict.program.kind, verdict.refused, flush=True)
            continue
        text = check.report(verdict, seed)
        print("fail", seed, verdict.program.kind, len(text.splitlines()), flush=True)
        print(text, flush=True)


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
        word, *rest = line.split(" ")
        if word in ("start", "done", "fail") and rest:
            worker.seed, worker.since = int(rest[0]), time.monotonic()
        if word == "done":
            self.kinds[rest[1]] += 1
            self.refused += int(rest[2])
            return None
        if word == "fail":
            self.kinds[rest[1]] += 1
            self.failed += 1
            print(f"FAILED: python -m fuzz --seed {rest[0]} --count 1", flush=True)
            return None
        if word != "start":
            print(line, flush=True)
        return None

    def ended(self, worker):
        self.workers.discard(worker)
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
