"""Findings: the rows of a result compared with earlier numbers, and the resulting exit codes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bench.compare import counters
from bench.compare.counters import Change
from bench.compare.intervals import Interval, interval
from bench.exit_codes import Code
from bench.records import Comparison, Result, Row
from bench.storage.baselines import Baselines, key_of
from bench.storage.machine import differing
from bench.units import engineering, pace, percent


def environment_share(row: Row) -> str:
    """For training, the environment's share of the time; "" for other rows."""
    if row.case.measure != "train" or not row.parts:
        return ""
    return f"environment {percent(row.parts['environment'] / row.parts['update'])} of the time"


def in_short(row: Row) -> str:
    if row.status == "counted":
        return f"{len(row.counters)} counters"
    if not row.is_ok:
        return f"{row.status}: {row.error}"
    known = engineering(row.numbers.median, row.unit)
    if row.is_modelled:
        return known
    known += f" ± {percent(row.numbers.cv)}"
    return ", ".join(filter(None, [known, environment_share(row), row.doubt]))


# On a shared machine, runs of the same code at different hours differ by a third: less means nothing (008).
MARGIN = 0.50
# The exit code of a single row by its verdict, worst first. Slower than an old baseline is only a suspicion,
# for an A/B run to confirm.
CODES = {
    "mismatch": Code.MISMATCH,
    "failed": Code.FAILED,
    "slower": Code.INCONCLUSIVE,
    "out of memory": Code.INCONCLUSIVE,
    "inconclusive": Code.INCONCLUSIVE,
    "unstable": Code.INCONCLUSIVE,
    "not comparable": Code.NOT_COMPARABLE,
    "gone": Code.NOT_COMPARABLE,
    "new": Code.NOT_COMPARABLE,
    "counted": Code.FINE,  # it was not run, so only its counters count
    "same": Code.FINE,
    "faster": Code.FINE,
}
VERDICTS = tuple(CODES)
WRONG = "other results than before"
COMPARED = ("slower", "faster", "same", "inconclusive")


class Finding(NamedTuple):
    name: str
    backend: str
    verdict: str
    text: str  # the verdict with its number or its reason: "12 % slower", "not comparable: other cpu"
    code: Code
    ratio: Interval | None = None  # of times, now to before
    before: float | None = None
    after: float | None = None
    unit: str = ""
    changes: tuple[Change, ...] = ()  # of counters
    uncounted: str = ""  # why counters are not compared
    note: str = ""
    is_paired: bool = False  # measured alternately, as in an A/B, and not at different times
    accepted: tuple[str, ...] = ()  # the reasons for other results or more time

    @property
    def grown(self) -> list[Change]:
        return [change for change in self.changes if change.grew and not change.accepted]

    @property
    def is_accepted(self) -> bool:
        return bool(self.accepted) or any(change.accepted for change in self.changes)

    @property
    def codes(self) -> set[Code]:
        found = {self.code}
        if self.grown:
            found.add(Code.REGRESSION)
        if self.uncounted or any(change.vanished for change in self.changes):
            found.add(Code.NOT_COMPARABLE)
        return found


def judge(head: Result, baselines: Baselines, whole: bool = False) -> list[Finding]:
    """A finding for each row, worst first; `whole` also reports earlier rows that are gone."""
    found = [judge_pair(row, row.ab) if row.ab else _of_row(head, row, baselines) for row in head.rows]
    if whole:
        here = {_key(row) for row in head.rows}
        gone = [row for result in baselines.timings for row in result.rows if _key(row) not in here]
        found += [_finding(row, "gone", "gone: measured only before") for row in gone]
    return sorted(found, key=_badness)


def _badness(finding: Finding) -> tuple[float, float, float, str]:
    """The sort key: a counter that grew is certain, so it comes before a row that seems slower."""
    rank: float = VERDICTS.index(finding.verdict)
    if finding.grown:
        rank = min(rank, VERDICTS.index("slower") - 0.5)
    growth = max((change.growth for change in finding.grown), default=0.0)
    return rank, -growth, -finding.ratio.median if finding.ratio else 0.0, finding.name


def _key(row: Row) -> tuple[str, str]:
    return row.library, row.name


def _finding(row: Row, verdict: str, text: str, **more: Any) -> Finding:
    return Finding(row.name, row.case.backend, verdict, text, CODES[verdict], **more)


# A row compared with an earlier one


def _of_row(head: Result, row: Row, baselines: Baselines) -> Finding:
    """Wrong results first; then the counters, and the times where they can be compared."""
    if row.status in ("mismatch", "failed"):
        return _finding(row, row.status, in_short(row))
    not_run = row.is_modelled or row.status == "counted"
    finding = _finding(row, "counted", "counted") if not_run else _timing(head, row, baselines.timings)
    counted = counters.compare(head, row, baselines.counters)
    if counted.wrong:
        finding = _finding(row, "mismatch", f"mismatch: {WRONG}")
    return finding._replace(changes=counted.changes, uncounted=counted.refused)


def _timing(head: Result, row: Row, timings: Sequence[Result]) -> Finding:
    pairs = [(base, before) for base in timings for before in base.rows if _key(before) == _key(row)]
    refused = [refusal(base, before, head, row) for base, before in pairs]
    if ("mismatch", WRONG) in refused:
        return _finding(row, "mismatch", f"mismatch: {WRONG}")
    fitting = [
        (before, verdict)
        for (_, before), (verdict, _) in zip(pairs, refused, strict=True)
        if verdict in ("", "unstable")
    ]
    if not row.is_ok:
        return _without_numbers(row, [before for before, verdict in fitting if not verdict])
    numbers = {"after": row.numbers.median, "unit": row.unit}
    if fitting:
        before, shaky = min(fitting, key=lambda one: one[1])  # a steady one if there is one
        ratio = time_ratio(before, row)
        numbers |= {"ratio": ratio, "before": before.numbers.median}
        if doubt := row.doubt or (f"{before.doubt} before" if shaky else ""):
            return _finding(row, "unstable", doubtful(doubt, ratio.median), **numbers)
        verdict = verdict_of(ratio)
        text = f"same within {percent(MARGIN)}" if verdict == "same" else _text(verdict, ratio)
        return _finding(row, verdict, text, **numbers)
    if doubt := row.doubt:
        return _finding(row, "unstable", _because("unstable", doubt), **numbers)
    none = ("new", "no earlier row") if timings else ("not comparable", "no earlier times")
    verdict, why = next(iter(refused), none)
    return _finding(row, verdict, _because(verdict, why), **numbers)


def doubtful(doubt: str, ratio: float) -> str:
    """A ratio of times that is too noisy to judge, with the reason: 'unstable; 12 % slower is doubtful'."""
    seen = pace(ratio)
    shown = "no change, but doubtful" if seen == "the same" else f"{seen} is doubtful"
    return f"{_because('unstable', doubt)}; {shown}"


def _because(verdict: str, why: str) -> str:
    return why if why.startswith(verdict) else f"{verdict}: {why}"


def _without_numbers(row: Row, fitting: list[Row]) -> Finding:
    """Running out of memory is a finding; if memory was enough before, it is inconclusive."""
    if not fitting:
        return _finding(row, "out of memory", row.status)._replace(code=Code.FINE)
    return _finding(row, "out of memory", f"{row.status}, which it was not before")


def refusal(base: Result, before: Row, run: Result, row: Row) -> tuple[str, str]:
    """Why a row is not compared with an earlier one: a verdict and its reason, both "" if it is.

    A trajectory is the same on every machine, so it is compared before the machine. The sides of an A/B share
    one core, so their speeds say something only about each other.
    """
    if row.identity != before.identity or before.ab:
        plans = {one.configuration.plan._replace(samples=0) for one in (base, run)}
        other = "sampled with other --iterations or --warmup" if len(plans) > 1 else "measured in another way"
        return "not comparable", other
    if counters.other_results(before, row):
        return "mismatch", WRONG
    if row.is_modelled:
        backend, measure = row.case.backend, row.case.measure
        if key_of(run.system, backend, measure) != key_of(base.system, backend, measure):
            return "not comparable", "compiled by another jaxlib"
    elif run.fingerprint != base.fingerprint:
        return "not comparable", f"other {' and '.join(differing(base.system, run.system)) or 'machine'}"
    if not before.is_ok:
        return "not comparable", f"{before.status} before"
    doubt = before.doubt
    return ("unstable", f"{doubt} before") if doubt else ("", "")


def time_ratio(before: Row, after: Row) -> Interval:
    """Time now over time before; the interval is as wide as the two intervals of the medians allow."""
    old, new = (interval(_seconds(row)) for row in (before, after))
    return Interval(new.median / old.median, new.low / old.high, new.high / old.low)


def _seconds(row: Row) -> list[float]:
    return [1 / value for value in row.samples] if row.is_rate else row.samples


def verdict_of(ratio: Interval) -> str:
    """Slower and faster exclude 1 and lie beyond the margin; "same" lies entirely within it."""
    limit = 1 + MARGIN
    if ratio.low > 1 and ratio.median > limit:
        return "slower"
    if ratio.high < 1 and ratio.median < 1 / limit:
        return "faster"
    return "same" if 1 / limit < ratio.low and ratio.high < limit else "inconclusive"


def _text(verdict: str, ratio: Interval) -> str:
    seen = pace(ratio.median)
    if verdict == "inconclusive":
        return verdict if seen == "the same" else f"{verdict}: {seen}"
    return "the same" if verdict == "same" else seen


# A/B, and all rows together


def judge_pair(row: Row, ab: Comparison) -> Finding:
    """The finding of an A/B run: its verdict stands, and a confirmed slowdown is a regression.

    Rounds may vary by more than 20 %: disturbances affect both sides, and the verdict allows for them.
    """
    before, after = ({name: both[side] for name, both in ab.counters.items()} for side in (0, 1))
    changes = [
        one._replace(accepted=ab.accepted.get(one.name, "")) for one in counters.changes(before, after)
    ]
    return _pair_finding(row, ab)._replace(changes=tuple(changes), is_paired=True)


def _pair_finding(row: Row, ab: Comparison) -> Finding:
    verdict = ab.verdict
    if not row.is_ok:
        return _finding(row, row.status, in_short(row))
    if verdict == "new":  # the base cannot run it, and need not
        note = f"base cannot run it: {ab.why_new}"
        return _finding(row, verdict, verdict, note=note)._replace(code=Code.FINE)
    if verdict not in COMPARED:
        return _finding(row, verdict, verdict)
    assert ab.ratio is not None  # as every row that was compared has it
    assert ab.low is not None
    assert ab.high is not None
    ratio = Interval(ab.ratio, ab.low, ab.high)
    note = f"slowdowns of {percent(ab.smallest or 0.0)} or more would be detected"
    # The paired ratio gives base's speed: the ratio of two medians would contradict it on a busy machine.
    after = row.numbers.median
    numbers = {"before": after * ab.ratio, "after": after, "unit": row.unit}
    finding = _finding(row, verdict, _text(verdict, ratio), ratio=ratio, note=note, **numbers)
    accepted = {name: ab.accepted[name] for name in ("time", "results") if name in ab.accepted}
    if "time" in accepted:
        finding = finding._replace(text=f"{finding.text}, accepted: {accepted['time']}", code=Code.FINE)
    elif verdict == "slower" and ab.confirmed:
        finding = finding._replace(text=f"{finding.text}, confirmed", code=Code.REGRESSION)
    if "results" in accepted:
        finding = finding._replace(text=f"{finding.text}; other results, accepted: {accepted['results']}")
    return finding._replace(accepted=tuple(accepted.values()))


def means(findings: Iterable[Finding]) -> dict[str, tuple[float, int]]:
    """By backend, the geometric mean of the ratios of times, and their number; without undecided ones."""
    ratios: dict[str, list[float]] = {}
    for finding in findings:
        if finding.ratio and finding.verdict not in ("unstable", "inconclusive"):
            ratios.setdefault(finding.backend, []).append(finding.ratio.median)
    return {name: (statistics.geometric_mean(ratios[name]), len(ratios[name])) for name in sorted(ratios)}


def codes(findings: Iterable[Finding]) -> set[Code]:
    return {code for finding in findings for code in finding.codes}
