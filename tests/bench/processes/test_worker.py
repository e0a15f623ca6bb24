"""The protocol: what a worker answers, and every way in which it can fail, as one sentence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench import ROOT
from bench.processes.turns import Reading, in_turns, noise_of
from bench.processes.worker import Worker, WorkerFailed

PROGRAM = """
import os, signal, sys, time
from bench.processes.protocol import serve

class Mismatch(AssertionError):
    pass

def handle(request):
    print("whatever is printed is no answer")
    exec(request["do"], globals())
    return {"sum": request["a"] + request["b"]}

serve(handle)
"""
COMMAND = (sys.executable, "-c", PROGRAM)


def ask(code: str, patience: float = 60.0) -> tuple[dict[str, int], Worker]:
    with Worker(COMMAND, cwd=ROOT, patience=patience) as worker:
        return worker.ask({"do": code, "a": 1, "b": 2}), worker


def test_every_line_gets_its_answer_and_prints_are_none() -> None:
    with Worker(COMMAND) as worker:
        answers = [worker.ask({"do": "pass", "a": number, "b": 1}) for number in range(3)]
        assert worker.is_alive
    assert answers == [{"sum": 1}, {"sum": 2}, {"sum": 3}]
    assert not worker.is_alive


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("raise ValueError('no such thing\\nsecond line')", "failed", "ValueError: no such thing"),
        (
            "raise TypeError('carries differ:\\n\\n  * state.cells is int8\\n  second line')",
            "failed",
            r"TypeError: carries differ: \* state\.cells is int8$",
        ),
        ("raise ValueError('nothing follows:')", "failed", "ValueError: nothing follows:$"),
        ("raise ValueError", "failed", "ValueError: $"),
        ("raise MemoryError('too large')", "out of memory", "MemoryError: too large"),
        ("raise RuntimeError('RESOURCE_EXHAUSTED: 9 GB')", "out of memory", "RESOURCE_EXHAUSTED"),
        ("raise Mismatch('other bits')", "mismatch", "other bits"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "out of memory",
            "killed, most likely because",
        ),
        ("os.kill(os.getpid(), signal.SIGTERM)", "failed", "ended by signal SIGTERM"),
        ("os._exit(3)", "failed", "ended with exit code 3"),
        (
            "print('the last words', file=sys.stderr); sys.stderr.flush(); os._exit(3)",
            "failed",
            "the last words",
        ),
    ],
)
def test_every_failure_has_a_status_and_a_sentence(code: str, status: str, reason: str) -> None:
    with pytest.raises(WorkerFailed, match=reason) as failure:
        ask(code)
    assert failure.value.status == status
    assert failure.value.worker is not None
    assert "second line" not in str(failure.value)


def test_a_failure_leaves_the_worker_able_to_answer() -> None:
    with Worker(COMMAND) as worker:
        with pytest.raises(WorkerFailed):
            worker.ask({"do": "1 / 0", "a": 1, "b": 2})
        assert worker.ask({"do": "pass", "a": 1, "b": 2}) == {"sum": 3}


def test_a_worker_that_does_not_answer_is_given_up() -> None:
    with (
        Worker(COMMAND, patience=1.0) as worker,
        pytest.raises(WorkerFailed, match="no answer for 1 s") as failure,
    ):
        worker.ask({"do": "time.sleep(600)", "a": 1, "b": 2})
    assert failure.value.status == "failed"
    assert not worker.is_alive


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="python cannot be started: No such file") as failure:
        Worker([str(tmp_path / "python"), "-c", ""])
    assert (failure.value.status, failure.value.worker) == ("failed", None)


def test_a_python_without_our_libraries_says_what_is_missing() -> None:
    command = (sys.executable, "-c", "import no_such_library")
    with Worker(command) as worker, pytest.raises(WorkerFailed, match="No module named 'no_such_library'"):
        worker.ask()


def test_a_crash_of_xla_has_its_message_without_the_prefix_of_a_log() -> None:
    log = "F1118 03:16:21.573030   19959 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_no"
    command = (
        sys.executable,
        "-c",
        f"import os, sys; print({log!r}, file=sys.stderr, flush=True); os.abort()",
    )
    with Worker(command) as worker, pytest.raises(WorkerFailed) as failure:
        worker.ask()
    assert str(failure.value) == "the process ended by signal SIGABRT: Unknown flag in XLA_FLAGS: --xla_no"


@pytest.mark.parametrize("answer", ["hello", "7", "null", "[1]"])
def test_what_is_no_object_is_no_answer(answer: str) -> None:
    command = (sys.executable, "-c", f"import sys; sys.stdin.readline(); print('{answer}', flush=True)")
    with Worker(command) as worker, pytest.raises(WorkerFailed, match=re.escape(f"answered '{answer}'")):
        worker.ask()


# By turns


def test_takers_are_asked_by_turns_and_disturbed_rounds_are_repeated() -> None:
    asked: list[str] = []
    calls = {"a": 0, "b": 0}

    def taker(name: str) -> Reading:
        asked.append(name)
        calls[name] += 1
        disturbed = float(name == "a" and calls[name] == 2)
        return Reading(float(calls[name]), {"disturbed": disturbed, "steal": 0.5})

    kept = in_turns([lambda: taker("a"), lambda: taker("b")], 4)
    assert "".join(asked) == "abbaabbaab"
    assert [[sample.value for sample in one] for one in kept] == [[1, 1], [3, 3], [4, 4], [5, 5]]
    noise = noise_of([one[0].noise for one in kept])
    assert noise == {"steal": 0.5, "disturbed": 0.0}


def test_no_more_than_half_of_the_rounds_are_repeated() -> None:
    count = 0

    def taker() -> Reading:
        nonlocal count
        count += 1
        return Reading(1.0, {"disturbed": 1.0})

    assert len(in_turns([taker], 4)) == 4
    assert count == 6
