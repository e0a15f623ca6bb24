"""The diff: verdicts, headline and means, in every format, and the same bytes each time."""

from __future__ import annotations

import json

import pytest

from bench.compare.findings import Finding, judge
from bench.records import Row
from bench.show import diff
from bench.storage.baselines import Baselines
from tests.bench.support import around, paired, result, row


def findings() -> list[Finding]:
    rows = [
        row(name="slow", speed=0.5e6),
        row(name="same"),
        row(name="grown", counters={"equations": 153, "flops": 1031, "bytes_accessed": 1000}),
        row(name="shaky", samples=around(1e6, 0.5)),
        row(name="fast", mode="numpy-batch", speed=2e6),
        row(name="fresh"),
    ]
    before = [row(name=found.name, mode=found.case.mode, identity=found.identity) for found in rows[:5]]
    return judge(result(rows), Baselines.of(result(before)))


def test_the_terminal_has_verdicts_means_and_a_headline() -> None:
    lines = diff.text(findings()).splitlines()
    assert [line.split()[0] for line in lines[2:8]] == ["grown", "slow", "shaky", "fresh", "same", "fast"]
    grown, slow = lines[2:4]
    assert "flops grew 3.1 %, bytes_accessed fell 50 %" in grown
    assert "100 % slower" in slow
    assert "+92 % … +108 %" in slow
    assert "1 M steps/s" in slow
    assert "500 K steps/s" in slow
    assert "jax: 26 % slower in the geometric mean of 3" in lines
    assert "numpy: 100 % faster in the geometric mean of 1" in lines
    assert "(Runs at different times differ by up to this much; ignore changes below 50 %.)" in lines
    (shaky,) = (line for line in lines if line.startswith("shaky"))
    assert "unstable; no change, but doubtful" in shaky
    assert shaky.count("1 M steps/s") == 2
    assert lines[-4] == (
        "1 slower, 1 faster, 2 same, 1 new; 1 of 6 rows too noisy to compare; counters grew in 1 of 6 cases."
    )
    assert lines[-2].startswith("GROWN counters exit with 20. If that is intended: commit the change,")
    assert '`python -m bench baseline accept FILE --reason "why"`' in lines[-2]
    assert lines[-1].startswith("SLOWER than the baseline: 1. ")


def test_the_headline_of_a_quiet_day() -> None:
    found = judge(result([row()]), Baselines.of(result([row()])))
    assert diff.text(found).splitlines()[-1] == "Nothing slower, 1 same; no counter grew."
    found = judge(result([row()], jaxlib="0.11.0"), Baselines.of(result([row()])))
    assert diff.headline(found) == (
        "No times could be compared: 1 not comparable; "
        "no counter was compared, see `python -m bench baseline check`."
    )
    found = judge(result([row(name="own sweep")]), Baselines.of(result([row()])))
    assert diff.headline(found) == (
        "No times could be compared: 1 new; no baseline has counters of these cases."
    )


def test_counters_that_fell_are_to_be_accepted() -> None:
    fewer = row(counters={"equations": 152, "flops": 1000, "bytes_accessed": 2000})
    found = judge(result([fewer]), Baselines.of(result([row()])))
    *_, headline, advice = filter(None, diff.text(found).splitlines())
    assert headline == "Nothing slower, 1 same; no counter grew."
    assert advice.startswith("Counters fell: accept them too")


def test_the_headline_when_nothing_was_compared() -> None:
    def of(*rows: Row) -> str:
        before = Baselines.of(result([row(name=one.name, identity=one.identity) for one in rows]))
        return diff.headline(judge(result(list(rows)), before))

    shaky, broken = row(name="a", samples=around(1e6, 0.5)), row(name="b", error="no")
    counted = row(name="c", status="counted", samples=[], statistics=None)
    assert of(shaky) == "No times could be compared: 1 of 1 rows too noisy; no counter grew."
    assert of(broken) == "No times could be compared: 1 failed."
    assert (
        of(shaky, broken) == "No times could be compared: 1 of 2 rows too noisy, 1 failed; no counter grew."
    )
    assert of(counted, broken) == "1 failed, 1 counted; no counter grew."
    assert of(row(name="d", checksum="f" * 16)) == "1 mismatch."


def test_another_seed_has_no_counters_to_compare_and_no_dead_end() -> None:
    found = judge(result([row(identity="a" * 12)]), Baselines.of(result([row(identity="b" * 12)])))
    assert diff.headline(found) == (
        "No times could be compared: 1 not comparable; "
        "no counter was compared: the baseline has another seed, sampling or measuring code."
    )


def test_an_ab_shows_the_speeds_of_both_sides_and_an_undecided_case_is_in_no_mean() -> None:
    rows = [row(name="a", ab=paired(1.25, "slower")), row(name="b", ab=paired(1.02, "inconclusive"))]
    text = diff.text(judge(result(rows), Baselines()))
    (slow,) = (line for line in text.splitlines() if line.startswith("a "))
    assert "1.25 M steps/s" in slow
    assert "1 M steps/s" in slow.replace("1.25 M steps/s", "")
    assert "jax: 25 % slower in the geometric mean of 1\n\n" in text, "and no caveat of another time"
    assert "SLOWER than the baseline" not in text


def test_a_confirmed_regression_needs_no_advice() -> None:
    found = judge(result([row(ab=paired(1.12, "slower"))]), Baselines())
    assert diff.text(found).splitlines()[-1].startswith("1 slower; ")
    assert "slowdowns of 3.0 % or more would be detected" in diff.text(found)


def test_github_gets_a_table_in_which_nothing_is_markup() -> None:
    found = judge(result([row(name="<b>|@x", error="a|b\n`c`")]), Baselines())
    lines = diff.text(found, "github").splitlines()
    assert lines[0] == "| case | verdict |"
    assert lines[2] == "| &#60;b&#62;&#124;&#64;x | failed: a&#124;b &#96;c&#96; |"


def test_json_is_for_programs() -> None:
    found = json.loads(diff.text(findings(), "json"))
    assert (found["exit_code"], found["exit_code_strict"]) == (20, 20)
    assert found["headline"].startswith("1 slower, 1 faster")
    assert found["means"]["numpy"]["cases"] == 1
    grown, slow = found["findings"][:2]
    assert grown["changes"][0] == {
        "name": "flops",
        "before": 1000,
        "after": 1031,
        "growth": pytest.approx(0.031),
        "accepted": "",
        "regression": True,
    }
    assert slow["ratio"]["median"] == pytest.approx(2.0)
    endless = judge(result([row(counters={"x": 1})]), Baselines.of(result([row(counters={"x": 0})])))
    assert json.loads(diff.text(endless, "json"))["findings"][0]["changes"][0]["growth"] is None


@pytest.mark.parametrize("style", diff.FORMATS)
def test_the_same_findings_give_the_same_bytes(style: str) -> None:
    assert diff.text(findings(), style) == diff.text(findings(), style)


def test_nothing_to_say_is_said() -> None:
    assert diff.text([]) == "Nothing slower; no counter grew."
