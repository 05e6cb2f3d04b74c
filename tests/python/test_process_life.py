"""Processes and threads around compiled programs: interrupts, exit, forks, many callers.

Every test is a process of its own with a time limit: a hang or a crash shows as its exit status.
"""

import os
import subprocess
import sys
import textwrap

import pytest

from support import ROOT

# What every script starts with. Operators implemented in Python: `nap` waits until `release` is set,
# so that a test knows that a call is running; `fail` raises; `apply` does what the test likes.
PRELUDE = """
import os, signal, sys, threading, time
import torch
from program_text import label, program, same
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
started, release = threading.Event(), threading.Event()
operators = torch.library.Library("life", "DEF")
for name in ("nap", "fail", "apply"):
    operators.define(name + "(Tensor x) -> Tensor")
applied = []

def nap(x):
    started.set()
    release.wait()
    return x + 1

def fail(x):
    raise ValueError("on purpose")

operators.impl("nap", nap, "CPU")
operators.impl("fail", fail, "CPU")
operators.impl("apply", lambda x: applied[0](x), "CPU")

def chain(operator="aten.add.Tensor(%{}, 1)", length=6, streams=("", "1", "2"), size=16, **options):
    lines = [f"%v0 = input : f32[{size}] @b0"]
    for i in range(length):
        name = streams[i % len(streams)]
        made = operator.format(f"v{i}")
        lines.append(f"%v{i + 1} = {made} {label(name) if name else ''} : f32[{size}] @b{i + 1}")
    return program("\\n".join(lines + [f"return %v{length}"]), **options)

def check(made, value=0.0, size=16, length=6):
    (out,), _ = made.run([torch.full((size,), value)], [])
    assert same(out, torch.full((size,), value + length)), out

def interrupt_the_nap():
    def interrupt():
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)
        release.set()

    threading.Thread(target=interrupt).start()

x = torch.zeros(16)
"""


def run(script, *arguments, status=0, timeout=180, prelude=PRELUDE):
    """The process's output; fails the test when it ends with another status."""
    here = os.path.dirname(os.path.abspath(__file__))
    environment = os.environ | {"PYTHONPATH": os.path.join(ROOT, "python") + os.pathsep + here,
                                "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run([sys.executable, "-c", prelude + textwrap.dedent(script), *arguments],
                          capture_output=True, text=True, env=environment, timeout=timeout)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def test_an_interrupt_during_a_call_comes_after_it():
    run("""
        made = chain("life.nap.default(%{})", streams=("1",))
        interrupt_the_nap()
        try:
            made.run([x], [])
            for _ in range(1000):  # the handler runs between two Python instructions
                pass
        except KeyboardInterrupt:
            check(made)
            print("interrupted")
        """)


def test_an_interrupt_in_a_python_operator_of_the_calling_thread_ends_the_call():
    run("""
        def interrupt(x):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

        applied.append(interrupt)
        made = chain("life.apply.default(%{})", length=1, streams=("",))
        try:
            made.run([x], [])
            sys.exit("not interrupted")
        except KeyboardInterrupt:
            applied[0] = lambda x: x + 1
            check(made, length=1)
        """)


def test_an_uncaught_interrupt_ends_the_process():
    # Python ends itself with the signal then, so that a shell sees it
    run("""
        made = chain("life.nap.default(%{})", streams=("1",))
        interrupt_the_nap()
        while True:
            made.run([x], [])
        """, status=-2)


@pytest.mark.parametrize("operator", ["aten.add.Tensor(%{}, 1)", "life.apply.default(%{})"])
def test_exit_while_daemon_threads_call_programs(operator):
    run("""
        applied.append(lambda x: x + 1)
        made = [chain(sys.argv[1], length=200), chain(sys.argv[1], streams=("2", "1"))]
        begun = [threading.Event() for _ in range(4)]

        def call(number):
            while True:
                made[number % 2].run([x], [])
                begun[number].set()

        for number in range(4):
            threading.Thread(target=call, args=(number,), daemon=True).start()
        for event in begun:
            event.wait()
        sys.exit(7)
        """, operator, status=7)


def test_exit_waits_for_a_call_that_runs():
    run("""
        made = chain("life.nap.default(%{})", streams=("1",))
        thread = threading.Thread(target=lambda: made.run([x], []), daemon=True)
        thread.start()
        started.wait()
        threading.Thread(target=lambda: (time.sleep(0.3), release.set()), daemon=True).start()
        sys.exit(7)
        """, status=7)


def test_exit_with_a_call_that_never_ends():
    # a short patience, so that the test is short
    run("""
        from anabranch import library
        library._PATIENCE = 0.2
        made = chain("life.nap.default(%{})", streams=("1",))
        threading.Thread(target=lambda: made.run([x], []), daemon=True).start()
        started.wait()
        sys.exit(7)
        """, status=7)


def test_a_thread_that_is_not_a_daemon_finishes_its_calls():
    assert "finished" in run("""
        made = chain()

        def call():
            for _ in range(200):
                check(made)
            print("finished")

        threading.Thread(target=call).start()
        sys.exit(0)
        """)


def test_compiled_models_in_an_exit_handler():
    assert "last" in run("""
        import atexit
        made = chain()
        atexit.register(lambda: (check(made), print("last")))
        check(made)
        """)


FORK = """
size = 1 << 18
made = [chain(size=size), chain(streams=("2", ""), size=size)]
zeros = torch.zeros(size)
torch.set_num_threads(2)
(torch.ones(600, 600) @ torch.ones(600, 600)).sum()  # OpenMP has its threads now
for each in made:
    check(each, size=size)

def child():
    for each in made * 3:
        (out,), _ = each.run([zeros], [])
        assert (out.numpy() == 6).all()  # NumPy: an eager comparison would hang in OpenMP
"""


def test_fork_after_use():
    run(FORK + textwrap.dedent("""
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                signal.alarm(120)
                child()
                sys.exit(3)  # with exit handlers
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
            check(made[0], size=size)
        """))


def test_fork_while_other_threads_call():
    run(FORK + textwrap.dedent("""
        stop = False

        def call():
            while not stop:
                check(made[0], size=size)

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        codes = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                signal.alarm(120)
                child()
                os._exit(3)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        stop = True
        for thread in threads:
            thread.join()
        assert codes == [3] * 4, codes
        """))


MODEL = """
import anabranch
from anabranch.torchair import scope

def model(x):
    with scope.npu_stream_switch("1"):
        a = torch.relu(x @ x)
    with scope.npu_stream_switch("2"):
        b = (x + 1).sum()
    return a * b

compiled = torch.compile(model, backend=anabranch.backend(), fullgraph=True, dynamic=False)
y = torch.arange(64.0).reshape(8, 8) / 64
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method, tmp_path):
    # a file, since "spawn" imports it again
    script = tmp_path / "script.py"
    script.write_text("import sys, torch\n" + MODEL + textwrap.dedent("""
        def work(number):
            torch.set_num_threads(1)
            return compiled(y + number)

        if __name__ == "__main__":
            import torch.multiprocessing as multiprocessing
            assert torch.equal(compiled(y), model(y))
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                for number, result in enumerate(pool.map(work, range(4))):
                    assert torch.allclose(result, model(y + number))
        """))
    run(f"""
        import subprocess
        sys.exit(subprocess.call([sys.executable, {str(script)!r}, {method!r}]))
        """, prelude="import sys\n")


def test_thread_counts_that_change_between_calls():
    run("""
        big = torch.randn(1 << 19)
        made = program(f'''
            %x = input : f32[{1 << 19}] @b0
            %s = aten.sum.default(%x) {label("1")} : f32[] @b1
            %m = aten.mean.default(%x) {label("2")} : f32[] @b2
            return %s, %m
            ''')
        for threads in (2, 1, 3, 1, 2):
            torch.set_num_threads(threads)
            for _ in range(3):
                (s, m), _ = made.run([big], [])
                assert same(s, big.sum()) and same(m, big.mean())
                assert torch.get_num_threads() == threads
        """)


def test_many_threads_call_many_programs_and_some_calls_fail():
    run("""
        fine = [chain(), chain(streams=("2", "1")), chain(streams=("3", "", "1"))]
        bad = chain("life.fail.default(%{})", streams=("1", "2"))
        problems = []

        def call(number):
            for i in range(60):
                try:
                    if (i + number) % 4 == 3:
                        try:
                            bad.run([x], [])
                            problems.append("no error")
                        except ValueError as error:
                            assert "on purpose" in str(error)
                    else:
                        check(fine[(i + number) % 4], float(i))
                except BaseException as error:
                    problems.append(repr(error))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems, problems[:3]
        """)


def test_an_operator_may_wait_for_a_thread_that_calls_programs():
    # on the same worker, on the calling thread, and back into the program that runs
    run("""
        inner = chain()
        outer = chain("life.apply.default(%{})", length=3, streams=("1", "", "2"))

        def through_a_thread(x):
            result = []

            def call():
                result.append(inner.run([x], [])[0][0] - 5)

            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
            return result[0]

        applied.append(through_a_thread)
        for value in range(5):
            check(outer, float(value), length=3)
        """)


def test_the_number_of_threads_is_bounded_and_each_program_may_raise_the_bound():
    run("""
        from anabranch import library
        count = library.operators().worker_count

        def labels(prefix, number):
            return tuple(f"{prefix}{i}" for i in range(number))

        def start(prefix, number, bound):
            made = chain(length=number, streams=labels(prefix, number), max_workers=bound)
            check(made, length=number)
            return count()

        assert start("a", 3, 1) == 1
        assert start("b", 5, 3) == 3
        assert start("c", 6, 2) == 3  # none beyond what is there
        assert start("d", 40, 0) <= max(8, 2 * len(os.sched_getaffinity(0)), 3)
        """)


def test_priority_shows_in_the_trace():
    # one core: while the higher stream has ready operators, none of the lower one starts
    run("""
        import json
        from anabranch import library
        lines = ["%x = input : f32[200,200] @b0"]
        buffer = 1
        for name, priority in (("low", 3), ("high", -1)):
            last = "x"
            for i in range(12):
                attributes = (f'{{"_user_stream_label": "{name}", '
                              f'"_user_stream_priority": "{priority}"}}')
                lines.append(f"%{name}{i} = aten.mm.default(%{last}, %x) {attributes} "
                             f": f32[200,200] @b{buffer}")
                last, buffer = f"{name}{i}", buffer + 1
        made = program("\\n".join(lines + ["return %low11, %high11"]), threads=1)
        y = torch.eye(200)
        for _ in range(10):
            library.operators().trace_begin()
            (low, high), _ = made.run([y], [])
            events = json.loads(library.operators().trace_json())
            library.operators().trace_end()
            assert same(low, y) and same(high, y)
            events = events["traceEvents"] if isinstance(events, dict) else events
            spans = sorted((e["ts"], e["name"]) for e in events if e["ph"] == "X"
                           and e["name"].startswith(("low", "high")))
            names = [name for _, name in spans]
            first = names.index("high0")
            assert names[first:first + 12] == [f"high{i}" for i in range(12)], names
        """)
