"""A/B: this checkout against another revision, in pairs of fresh processes that are timed alternately."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from bench import ROOT
from bench.compare import ab_statistics
from bench.compare.ab_statistics import FIRST_PAIRS, ROUNDS, SECOND_PAIRS, Judged
from bench.measure.plan import Plan
from bench.processes.checkout import checkout_of
from bench.processes.pair import CaseSamples, Checkout, Pair
from bench.processes.setting import NONE as NO_SETTING
from bench.processes.setting import Setting
from bench.processes.turns import noise_of
from bench.records import Comparison, Measurement, Parameters, Result, Row
from bench.runner import row_of
from bench.show.progress import Progress
from bench.storage import acceptances, results
from bench.storage.acceptances import Acceptances
from cogrid._core.profiling import VARIABLE as PROFILING
from cogrid._io.messages import several
from cogrid.benchmarks.case import Case

NOT_SLOWED: Mapping[str, float] = MappingProxyType({})


def run(result: Result, path: Path, sha: str, progress: Progress, setting: Setting = NO_SETTING) -> None:
    """Run the planned cases against the commit, or against this checkout without the setting.

    The file is written once everything is judged.
    """
    cases = [parameters.case for parameters in result.configuration.planned]
    accepted = acceptances.none() if setting.text else acceptances.since(sha)
    with contextlib.nullcontext(ROOT) if setting.text else checkout_of(sha) as base:
        found = compare(base, cases, progress, setting=setting, accepted=accepted)
    result.rows = [ab_row(samples, result.configuration.plan, len(cases)) for samples in found]
    results.write(path, result)


def compare(
    base: Path,
    cases: Sequence[Case],
    progress: Progress,
    slow: Mapping[str, float] = NOT_SLOWED,
    setting: Setting = NO_SETTING,
    accepted: Acceptances | None = None,
) -> list[CaseSamples]:
    """A first look at every case, and a second one, with fresh processes, at cases that seem to differ.

    `slow` makes head slower by a factor in the cases that it names, for the self-check.
    """
    accepted = accepted or acceptances.none()
    found = [
        CaseSamples(case, setting.applied(case), accepted.of(case.name, Parameters.of(case)))
        for case in cases
    ]
    with tempfile.TemporaryDirectory(prefix="cogrid-ab-") as folder:
        named = (("base", base, NO_SETTING), ("head", ROOT, setting))
        before, after = (
            Checkout(name, place, {**environment(Path(folder) / name), **own.env})
            for name, place, own in named
        )

        def look(chosen: Sequence[CaseSamples], number: int, total: int, name: str) -> None:
            looked_at = several(len(chosen), "case")
            progress.start(f"{name} look, pair {number + 1} of {total}, {looked_at}", number, total)
            with Pair(before, after) as pair:
                for samples in chosen:
                    if samples.failure is None:
                        pairs = samples.first if name == "first" else samples.second
                        pair.measure(samples, pairs, slow.get(samples.case.name, 1.0), ROUNDS)

        for number in range(FIRST_PAIRS):
            look(found, number, FIRST_PAIRS, "first")
        suspects = [one for one in found if one.is_compared and ab_statistics.is_suspect(one.first)]
        for number in range(SECOND_PAIRS if suspects else 0):
            look(suspects, number, SECOND_PAIRS, "second")
    return found


def judged(samples: CaseSamples, cases: int) -> Judged | None:
    return ab_statistics.judge(samples.first, samples.second, cases) if samples.is_compared else None


def environment(cache: Path) -> dict[str, str]:
    """The environment variables of a checkout: it compiles once, and later processes read that cache.

    What would vary between two processes of the same code is fixed: XLA has one thread, and glibc returns no
    memory to the system, which it otherwise does at random. No path leads to another checkout.
    """
    return {
        "NPROC": "1",
        "MALLOC_MMAP_THRESHOLD_": str(2**25),
        "MALLOC_TRIM_THRESHOLD_": str(2**32),
        "MALLOC_TOP_PAD_": str(2**26),
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # two processes share a GPU
        PROFILING: "",
        "PYTHONPATH": "",
        "PYTHONSAFEPATH": "",
    }


def ab_row(samples: CaseSamples, plan: Plan, cases: int) -> Row:
    seconds = samples.alone + [head for pair in samples.first + samples.second for _, head in pair]
    failure = samples.failure or (None if seconds else ("failed", "it was never measured."))
    agents = samples.head_case.spec.num_agents
    if failure or not samples.head:
        status, error = failure or ("failed", "it was never prepared.")
        measurement = Measurement(agents=agents, status=status, error=error)
    else:
        measurement = Measurement(
            agents=agents,
            status="ok",
            samples=[samples.head.steps / value for value in seconds],
            counters=samples.head.counters,
            noise=noise_of(samples.noise),
            checksum=samples.head.checksum,
        )
    return replace(row_of(samples.head_case, plan, measurement), ab=_comparison(samples, cases))


def _comparison(samples: CaseSamples, cases: int) -> Comparison:
    found = judged(samples, cases)
    before, after = (one.counters if one else {} for one in (samples.base, samples.head))
    numbers = found._asdict() if found else dict.fromkeys(Judged._fields) | {"confirmed": False}
    if found is None:
        numbers["verdict"] = samples.failure[0] if samples.failure else "new"
    return Comparison(
        **numbers,
        why_new=samples.new,
        pairs=samples.first,
        second=samples.second,
        counters={name: (before.get(name), after.get(name)) for name in before | after if before},
        accepted=_accepted(samples, before, after, found),
    )


def _accepted(
    samples: CaseSamples, before: Mapping[str, int], after: Mapping[str, int], found: Judged | None
) -> dict[str, str]:
    """The reasons for what differs and was accepted since base."""
    allowed = samples.allowed
    grown = [name for name in before.keys() & after.keys() if after[name] > before[name]]
    reasons = {name: why for name, why in allowed.counters.items() if name in grown}
    if samples.plays_another_game:
        reasons["results"] = allowed.results
    if found and found.verdict == "slower" and found.ratio is not None and found.ratio <= allowed.limit:
        reasons["time"] = allowed.slowdown
    return {name: why for name, why in reasons.items() if why}
