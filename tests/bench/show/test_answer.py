"""The text of an answer: certain, uncertain, nothing, or a counter."""

from __future__ import annotations

from msgspec.structs import replace

from bench.show.answer import text
from bench.storage.evidence import Candidate, Culprit
from tests.bench.storage.test_evidence import SOUGHT

A, B, C = (letter * 40 for letter in "abc")
FOUND = Culprit(
    certain=True,
    first=[C],
    probability=0.99951,
    nothing=0.0001,
    candidates=[Candidate(C, 0.99951), Candidate(B, 0.0003)],
    broken={},
    comparisons=8,
    ratio=1.101,
    low=1.09,
    high=1.112,
    own_ratio=1.098,
)


def shown(found: Culprit, **changes: object) -> list[str]:
    return text(found, replace(SOUGHT, **changes), lambda sha: f"<{sha[0]}>").splitlines()


def test_a_certain_answer() -> None:
    assert shown(FOUND) == [
        "First commit: <c>",
        "GOOD to BAD: 10 % slower (time +9 % … +11 %).",
        "This commit alone: 10 % slower than the one before it; probability > 99.9 %.",
    ]


def test_commits_that_cannot_be_told_apart() -> None:
    lines = shown(replace(FOUND, first=[B, C], broken={B: "SyntaxError: no"}))
    assert lines[:3] == ["First commit: <c>", "or one before it that cannot run the case:", "  <b>"]
    assert lines[-1] == "bbbbbbbbbb cannot run the case: SyntaxError: no"


def test_an_uncertain_answer_says_so_and_how_to_go_on() -> None:
    unsure = replace(FOUND, certain=False, first=[], probability=0.7, nothing=0.1, own_ratio=None)
    unsure.candidates = [Candidate(C, 0.7), Candidate(B, 0.2)]
    lines = shown(unsure)
    assert lines[0] == "Uncertain: after 8 comparisons no commit has a probability of 99.0 %."
    rows = [line.split(maxsplit=2) for line in lines[4:7]]
    assert rows == [
        ["70.0", "%", "<c>"],
        ["20.0", "%", "<b>"],
        ["10.0", "%", "no commit: nothing became slower"],
    ]
    assert lines[-1] == "The same command with --comparisons 16 goes on from here."


def test_a_likely_commit_whose_neighbour_was_not_compared_is_uncertain() -> None:
    unsure = replace(FOUND, certain=False, first=[], probability=0.995, own_ratio=None)
    assert shown(unsure)[0] == (
        "Uncertain: after 8 comparisons the likeliest commit has not been compared with the one before it."
    )


def test_nothing_became_slower() -> None:
    lines = shown(replace(FOUND, first=[], probability=0.001, nothing=0.9953, own_ratio=None))
    assert lines == ["BAD is not slower than GOOD, with a probability of 99.5 %."]


def test_a_counter_and_who_else_changed_it() -> None:
    found = replace(FOUND, ratio=None, counter={A: 219, B: 220, C: 230}, first=[B])
    line = "operations: 219 at GOOD, 220 from this commit on; BAD has 230, so others changed it too."
    assert shown(found, counter="operations") == ["First commit: <b>", line]
    assert shown(replace(found, first=[C]), counter="operations")[-1].endswith("230 from this commit on.")


def test_notes_of_games_and_counters() -> None:
    lines = shown(replace(FOUND, another_game=[C], grown=["operations"]))
    assert lines[-2:] == [
        "Of another game than the commit that they were compared with: cccccccccc.",
        "These counters grew from GOOD to BAD, and --counter finds them exactly: operations.",
    ]
