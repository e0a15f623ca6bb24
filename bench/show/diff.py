"""The diff: findings for people and programs; the same findings give the same bytes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence

from tabulate import tabulate

from bench.compare.counters import NOT_COUNTED, OTHERWISE_COUNTED
from bench.compare.findings import COMPARED, MARGIN, VERDICTS, Finding, codes, means
from bench.compare.intervals import Interval
from bench.exit_codes import Code, worst
from bench.show import github
from bench.units import engineering, more, pace, percent

COLUMNS = ("case", "verdict", "time", "before", "now", "counters", "note")
ACCEPT = 'python -m bench baseline accept FILE --reason "why"'
FORMATS = ("terminal", "github", "json")


def text(findings: Sequence[Finding], style: str = "terminal") -> str:
    if style == "json":
        return json.dumps(as_data(findings), indent=1, ensure_ascii=False)
    listed = [one for one in findings if one.verdict != "counted" or one.changes or one.uncounted]
    lines = [dict(zip(COLUMNS, cells(finding), strict=True)) for finding in listed]
    # Empty columns are left out.
    shown = [name for name in COLUMNS if any(line[name] for line in lines)]
    lines = [{name: line[name] for name in shown} for line in lines]
    if style == "github":
        table = github.table(lines).rstrip()
    else:
        table = tabulate(lines, "keys", "simple", disable_numparse=True)
    return "\n\n".join(filter(None, [table, averages(findings), headline(findings), advice(findings)]))


def publish(findings: Sequence[Finding]) -> None:
    """Append the table to GitHub's job summary, if there is one."""
    if path := github.summary_file():
        github.publish("Benchmarks", [f"{text(findings, 'github')}\n"], path)


def cells(finding: Finding) -> tuple[str, ...]:
    numbers = [engineering(n, finding.unit) if n else "" for n in (finding.before, finding.after)]
    changes = [change.text() for change in finding.changes]
    counted = ", ".join(filter(None, [*changes, finding.uncounted]))
    return (finding.name, finding.text, span(finding.ratio), *numbers, counted, finding.note)


def span(ratio: Interval | None) -> str:
    """The interval of the ratio of times, as a relative change: '+8 % … +17 %'."""
    return f"{more(ratio.low)} … {more(ratio.high)}" if ratio else ""


def averages(findings: Sequence[Finding]) -> str:
    """The means by backend; for times from another hour, with a caveat."""
    ratios = means(findings).items()
    lines = [f"{name}: {pace(mean)} in the geometric mean of {n}" for name, (mean, n) in ratios]
    if lines and any(finding.before and not finding.is_paired for finding in findings):
        limit = percent(MARGIN)
        lines.append(f"(Runs at different times differ by up to this much; ignore changes below {limit}.)")
    return "\n".join(lines)


def headline(findings: Sequence[Finding]) -> str:
    """One sentence: slower cases first, even if none, unless no times were compared; then what applies."""
    counted = Counter(finding.verdict for finding in findings)
    others = [verdict for verdict in VERDICTS if verdict not in (*COMPARED, "unstable")]
    parts = [f"{counted[verdict]} {verdict}" for verdict in (*COMPARED, *others) if counted[verdict]]
    noisy = [f"{counted['unstable']} of {len(findings)} rows too noisy"] if counted["unstable"] else []
    if any(counted[verdict] for verdict in COMPARED) or not findings:
        first = [] if counted["slower"] else ["Nothing slower"]
        clauses = [", ".join([*first, *parts]), *(f"{one} to compare" for one in noisy)]
    else:  # counters and results may still have been compared
        nothing = "" if counted["counted"] or counted["mismatch"] else "No times could be compared: "
        clauses = [nothing + ", ".join([*noisy, *parts])]
    accepted = sum(finding.is_accepted for finding in findings)
    clauses += [f"changes accepted in {accepted} of {len(findings)} cases"] if accepted else []
    return f"{'; '.join(filter(None, [*clauses, counters(findings)]))}."


def counters(findings: Sequence[Finding]) -> str:
    if findings and all(finding.verdict in ("mismatch", "failed") for finding in findings):
        return ""
    grown = sum(bool(finding.grown) for finding in findings)
    if grown:
        return f"counters grew in {grown} of {len(findings)} cases"
    refused = sum(bool(finding.uncounted) for finding in findings)
    if refused and refused == len(findings):
        if all(finding.uncounted == NOT_COUNTED for finding in findings):
            return "no baseline has counters of these cases"
        if all(finding.uncounted == OTHERWISE_COUNTED for finding in findings):
            return "no counter was compared: the baseline has another seed, sampling or measuring code"
        return "no counter was compared, see `python -m bench baseline check`"
    unaccepted = " that was not accepted" if any(one.accepted for f in findings for one in f.changes) else ""
    return f"no counter grew{unaccepted}" + (
        f", those of {refused} of {len(findings)} cases are not compared" if refused else ""
    )


def advice(findings: Sequence[Finding]) -> str:
    """What to do if growth is intended, or if an old baseline raises a suspicion."""
    parts = []
    if any(finding.grown and not finding.is_paired for finding in findings):
        parts.append(
            f"GROWN counters exit with {Code.REGRESSION:d}. If that is intended: commit the change, run this "
            f"again, accept the result file (`{ACCEPT}`), and commit bench/baselines/."
        )
    elif any(change.fell for finding in findings if not finding.is_paired for change in finding.changes):
        parts.append("Counters fell: accept them too, or growth up to the old numbers stays unseen.")
    if suspects := sum(finding.verdict == "slower" and not finding.is_paired for finding in findings):
        parts.append(
            f"SLOWER than the baseline: {suspects}. A machine has slow hours too: "
            "`python -m bench run --against REV` measures both sides now and is certain."
        )
    return "\n".join(parts)


def as_data(findings: Sequence[Finding]) -> dict[str, object]:
    """For programs: nothing in it depends on when or where the diff was made."""
    outcomes = codes(findings)
    return {
        "headline": headline(findings),
        "exit_code": int(worst(outcomes)),
        "exit_code_strict": int(worst(outcomes, strict=True)),
        "means": {name: {"ratio": mean, "cases": n} for name, (mean, n) in means(findings).items()},
        "findings": [_row(finding) for finding in findings],
    }


def _row(finding: Finding) -> dict[str, object]:
    changes = [
        {
            **one._asdict(),
            "growth": one.growth if math.isfinite(one.growth) else None,
            "regression": one.grew and not one.accepted,
        }
        for one in finding.changes
    ]
    return {
        **finding._asdict(),
        "code": int(finding.code),
        "ratio": finding.ratio and finding.ratio._asdict(),
        "changes": changes,
    }
