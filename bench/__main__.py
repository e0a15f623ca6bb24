"""The commands: python -m bench --help."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tabulate import tabulate

import cogrid
from bench import (
    ab,
    baselines,
    cases,
    diff,
    history,
    judge,
    peers,
    results,
    runner,
    scaling,
    selfcheck,
    tables,
    training,
    trees,
)
from bench.codes import Code, described, worst
from bench.export import to_csv, to_pyperf
from bench.judge import Earlier, Finding
from bench.progress import Progress
from bench.results import RESULTS, NoDevice, ResultError
from bench.verdicts import ROUNDS
from ci import summary
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from cogrid.shadow import VARIABLE as SHADOW
from cogrid.shadow import wanted


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.command(parsed))
    except ResultError as error:
        print(f"bench: {error}", file=sys.stderr)
        return Code.NO_DEVICE if isinstance(error, NoDevice) else Code.USAGE
    except KeyboardInterrupt:
        on = "; `python -m bench run --resume` goes on" if getattr(parsed, "against", "") is None else ""
        print(f"bench: interrupted{on}.", file=sys.stderr)
        return Code.INTERRUPTED


def run(options: argparse.Namespace) -> int:
    """Measure, write the file, print the table and what changed against the baselines."""
    if options.require_platform and (found := results.system()["platform"]) != options.require_platform:
        raise NoDevice(f"the platform is {found}, and {options.require_platform} was required.")
    if options.against:
        return _run_against(options)
    _refuse_lonely_shadow()
    earlier = baselines.earlier(options.baseline or baselines.files())  # says what is wrong before the work
    if options.resume:
        path, result = _unfinished(options)
    else:
        plan = Plan(options.rounds, iterations=options.iterations, warmup_iterations=options.warmup)
        chosen = [dataclasses.replace(case, seed=options.seed) for case in _chosen(options)]
        path, result = _planned("full" if options.full else "quick", chosen, plan, options)
    _measure(path, result)
    if result["configuration"]["suite"] == "profile":
        print(tables.profile(result))
        return exit_code(result)
    print(tables.summary(result))
    return _judged(result, earlier, options.strict)


def _refuse_lonely_shadow() -> None:
    """A shadow that is asked for needs both backends."""
    with _usage():
        if wanted() and results.version_of("jax") is None:
            raise ResultError(f"{SHADOW}=1 needs JAX, which is not installed: run pip install '.[jax]' here.")


def _refuse_shadow(command: str) -> None:
    """Where the environments themselves are timed in other processes."""
    if os.environ.get(SHADOW, "0") not in ("", "0"):
        raise ResultError(
            f"{command} compares speeds, and a shadow would be timed with them: unset {SHADOW}."
        )


def _judged(result: dict[str, Any], earlier: Earlier, strict: bool) -> Code:
    """Print what changed, also for GitHub; the exit code."""
    findings = judge.judge(result, earlier)
    if earlier.timings or earlier.counts or any("ab" in row for row in result["rows"]):
        print(f"\n{diff.text(findings)}")
    else:
        print("\nThere is no baseline to compare with: `python -m bench baseline accept FILE` makes one.")
    _publish(findings)
    return worst(judge.codes(findings), strict)


def _publish(findings: list[Finding]) -> None:
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        summary.publish("Benchmarks", [f"{diff.text(findings, 'github')}\n"], Path(place))


def diff_(options: argparse.Namespace) -> int:
    """Print what changed from one result to another, or from the baselines to one."""
    *before, path = options.files
    if len(before) > 1:
        raise ResultError(f"a diff takes one or two files, and here are {len(options.files)}.")
    head = results.load(path)
    findings = judge.judge(head, baselines.earlier(before or baselines.files()), whole=bool(before))
    print(diff.text(findings, options.format))
    _publish(findings)
    return worst(judge.codes(findings), options.strict)


def _run_against(options: argparse.Namespace) -> int:
    """Compare with a revision: the gate of a pull request."""
    _refuse_shadow("--against")
    sha = trees.sha_of(options.against)
    if other := sorted(_asked(options) & {"resume", "full", "baseline", *SAMPLING}):
        raise ResultError(f"--against compares in one go and in its own rhythm: leave out --{other[0]}.")
    chosen = [case for case in _chosen(options) if case.measure in ("speed", "train")]
    path, result = _planned("ab", chosen, Plan(ROUNDS), options)
    result["configuration"]["against"] = {
        "revision": options.against,
        "sha": sha,
        "head": (result["git"] or {}).get("sha"),
    }
    progress = Progress()
    try:
        ab.run(result, path, sha, progress)
    finally:
        progress.close()
    if results.git_state() != result["git"]:
        raise ResultError(f"the checkout changed during the comparison, so {_short(path)} mixes revisions.")
    if all(row["ab"]["verdict"] == "new" for row in result["rows"]):
        raise ResultError(f"{options.against} runs none of the cases: {result['rows'][0]['ab']['why_new']}")
    print(f"bench: results are in {_short(path)}", file=sys.stderr)
    print(tables.machine(result))
    return _judged(result, Earlier(), options.strict)


def selfcheck_(options: argparse.Namespace) -> int:
    """Compare the checkout with itself many times: how often that cries wolf, and what it misses."""
    _refuse_shadow("selfcheck")
    if options.recompilations:
        return _recompile(options.recompilations)
    if not options.replay:
        kinds = [kind._replace(runs=min(kind.runs, options.runs or kind.runs)) for kind in selfcheck.CAMPAIGN]
        progress = Progress()
        try:
            selfcheck.campaign(options.log, kinds, _installed(cases.standard()), progress)
        finally:
            progress.close()
    print(selfcheck.summary(selfcheck.load(options.log), options.suites, options.style))
    return Code.FINE


def _recompile(times: int) -> int:
    progress = Progress()
    try:
        told, alarms = selfcheck.recompile(times, progress)
    finally:
        progress.close()
    print(told)
    return Code.REGRESSION if alarms else Code.FINE


def profile(options: argparse.Namespace) -> int:
    """Measure the phases of a step and the parts of the flat observation."""
    ids = options.layout or [cases.CRAMPED]
    known = cogrid.registered()
    ids = [next((id for id in known if name.lower() in id.lower()), name) for name in ids]
    with _usage():
        chosen = cases.checked(_installed(cases.profile(ids, options.batch)))
    path, result = _planned("profile", chosen, Plan(), options)
    _measure(path, result)
    print(tables.profile(result))
    return exit_code(result)


def peers_(options: argparse.Namespace) -> int:
    """Measure other libraries beside cogrid, and print how the targets are met."""
    _refuse_shadow("peers")
    chosen = peers.select(options.only)
    rounds = options.rounds or (peers.QUICK_ROUNDS if options.quick else peers.ROUNDS)
    path, result = _planned("peers", [], Plan(rounds), options)
    progress = Progress()
    try:
        found = peers.run(chosen, rounds, options.older, result, path, progress)
    finally:
        progress.close()
    _draw([result], path.with_suffix(""))
    print(f"bench: results are in {_short(path)}", file=sys.stderr)
    print(peers.table(result, found))
    return peers.exit_code(found)


def scaling_(options: argparse.Namespace) -> int:
    """Measure a rollout on more devices and processes, and count what devices say to each other."""
    return scaling.run(options.rounds, options.batch)


def _measure(path: Path, result: dict[str, Any]) -> None:
    progress = Progress()
    try:
        runner.run(result, path, progress)
    finally:
        progress.close()
    print(f"bench: results are in {_short(path)}", file=sys.stderr)


def exit_code(result: dict[str, Any]) -> Code:
    """What the rows say by themselves; running out of memory is a finding and not a failure."""
    told = {"mismatch": Code.MISMATCH, "failed": Code.FAILED}
    return worst(told.get(row["status"], Code.FINE) for row in result["rows"])


def _chosen(options: argparse.Namespace) -> list[Case]:
    arena = {"num_agents": options.agents, "map_size": options.map_size, "density": options.density}
    suite = _suite(options)(arena)
    _refuse_strange(options)
    with _usage():
        chosen = cases.select(suite, options.only, options.layout, options.backend, options.batch)
        chosen = cases.checked(_trainable(chosen) if options.backend else _installed(chosen))
    if arena != cases.TOY and not any(case.id == "Arena-V0" for case in chosen):
        raise ResultError("--agents, --map-size and --density are for the toy arena, which is not selected.")
    if not chosen:
        raise ResultError("no case fits what was asked for: `python -m bench list --full` shows their names.")
    return chosen


def _suite(options: argparse.Namespace) -> Callable[[dict[str, Any]], list[Case]]:
    if getattr(options, "against", None):
        # Training only when it is asked for: the gate's own cases are those that the self-check knows.
        return lambda arena: cases.standard(arena) + (cases.training(short=True) if options.only else [])
    return cases.full if options.full else cases.quick


def _refuse_strange(options: argparse.Namespace) -> None:
    """A layout that nobody knows, a backend that is not there."""
    known = cogrid.registered()
    for name in options.layout or ():
        if not any(name.lower() in id.lower() for id in known):
            raise ResultError(f"--layout {name!r} is unknown: known are {', '.join(known)}.")
    if options.backend == "jax" and results.version_of("jax") is None:
        raise ResultError("--backend jax needs JAX, which is not installed: run pip install '.[jax]' here.")


@contextlib.contextmanager
def _usage() -> Iterator[None]:
    """What cogrid refuses in here was asked for by the person at the keyboard."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ResultError(str(error)) from None


def _installed(chosen: list[Case]) -> list[Case]:
    if results.version_of("jax") is not None:
        return _trainable(chosen)
    print("bench: JAX is not installed, so only NumPy is measured: pip install '.[jax]'.", file=sys.stderr)
    return [case for case in chosen if case.backend == "numpy"]


def _trainable(chosen: list[Case]) -> list[Case]:
    missing, kept = training.missing(), [case for case in chosen if case.measure != "train"]
    if not missing or kept == chosen:
        return chosen
    names = " and ".join(missing)
    print(f"bench: without {names} training is left out: pip install '.[train]'.", file=sys.stderr)
    return kept


def _planned(
    suite: str, chosen: list[Case], plan: Plan, options: argparse.Namespace
) -> tuple[Path, dict[str, Any]]:
    _refuse_existing(options.output)
    if not re.fullmatch(r"[\w.-]*", options.tag):
        raise ResultError(
            f"--tag {options.tag!r} becomes a part of a file's name: use letters, digits, - and _."
        )
    planned = [case.parameters() for case in chosen]
    configuration = {"suite": suite, **plan._asdict(), "planned": planned}
    path = options.output or results.default_path(options.tag)
    return path, results.new(configuration, options.tag, options.description)


def _refuse_existing(path: Path | None) -> None:
    if path and path.exists():
        raise ResultError(f"{path} exists already: choose another name.")


def _unfinished(options: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    """The named file, or the newest that lacks rows; its own plan, on its own machine and revision."""
    if other := sorted(_asked(options) - {"resume", "output", "require_platform", "baseline", "strict"}):
        raise ResultError(f"--resume finishes what was planned, so leave out --{other[0].replace('_', '-')}.")
    found = sorted(RESULTS.glob("benchmark_*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for path in [options.output] if options.output else found:
        try:
            result = results.load(path)
        except ResultError as error:
            if options.output:
                raise
            print(f"bench: not resumed: {error}", file=sys.stderr)
            continue
        if runner.missing(result):
            return path, _same_place(path, result)
    place = _short(options.output or RESULTS)
    raise ResultError(f"there is nothing to resume in {place}: every planned case has its row.")


def _asked(options: argparse.Namespace) -> set[str]:
    """The options of `run` that were given a value of their own."""
    given = vars(_parser().parse_args(["run"]))
    return {name for name, value in given.items() if getattr(options, name) != value}


def _same_place(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The result, if new rows would be measured where and with what its old ones were."""
    now = results.fingerprint(results.system())
    if now != result["fingerprint"]:
        raise ResultError(
            f"{_short(path)} was measured on another machine or with other versions "
            f"(fingerprint {result['fingerprint']}, now {now}): start anew."
        )
    if results.git_state() != result["git"]:
        raise ResultError(f"{_short(path)} was measured at another state of the checkout: start anew.")
    return result


def _short(path: Path) -> str:
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def list_(options: argparse.Namespace) -> int:
    """Print the names of a suite's cases."""
    for case in _chosen(options):
        print(case.name)
    return Code.FINE


def compare(options: argparse.Namespace) -> int:
    """Print the history of a folder."""
    print(history.history(options.folder, options.batch_size, options.scaling_only))
    return Code.FINE


def export(options: argparse.Namespace) -> int:
    """Print a result in another format, or write it."""
    text = EXPORTS[options.to](results.load(options.file))
    _refuse_existing(options.output)
    if options.output:
        options.output.write_text(text)
        print(f"bench: written to {_short(options.output)}", file=sys.stderr)
    else:
        print(text, end="")
    return Code.FINE


def plot(options: argparse.Namespace) -> int:
    """Draw all plots that the results have rows for."""
    drawn = _draw([results.load(file) for file in options.files], options.folder)
    if not drawn:
        raise ResultError(
            "no plot has enough rows in these files: `python -m bench run --full` measures them."
        )
    for path in drawn:
        print(_short(path))
    return Code.FINE


def report_(options: argparse.Namespace) -> int:
    """Write the results of a folder as one HTML file."""
    from bench import report  # matplotlib takes a second to import

    found = [result for result in history.read(options.folder) if result["rows"]]
    if not found:
        raise ResultError(f"{options.folder} holds no results: `python -m bench run` writes them.")
    page = report.page(found, baselines.earlier(baselines.files()))
    options.html.parent.mkdir(parents=True, exist_ok=True)
    options.html.write_text(page, encoding="utf-8")
    print(_short(options.html))
    return Code.FINE


def _draw(found: list[dict[str, Any]], folder: Path) -> list[Path]:
    from bench import plots  # matplotlib takes a second to import

    return plots.draw_all(found, folder)


def baseline_show(options: argparse.Namespace) -> int:
    """Print this machine's fingerprint, what it is made of, and which committed baselines fit it."""
    machine = results.system()
    for name, value in machine.items():
        print(f"{name:13} {value}{'  (not part of the fingerprint)' if name in results.PASSING else ''}")
    print(f"fingerprint   {results.fingerprint(machine)}\n")
    lines = [baselines.described(path, machine) for path in baselines.files()]
    print(tabulate(lines, baselines.COLUMNS, disable_numparse=True) if lines else "No baseline is committed.")
    return Code.FINE


def baseline_accept(options: argparse.Namespace) -> int:
    """Put the rows of result files into the committed baselines."""
    accepted = baselines.accept(options.files, options.reason, options.allow_dirty)
    for why in accepted.left_out:
        print(f"bench: left out: {why}", file=sys.stderr)
    for path in accepted.written:
        print(_short(path))
    return Code.FINE


def baseline_check(options: argparse.Namespace) -> int:
    """See whether every committed baseline is valid and can still be compared with."""
    found = {path: baselines.troubles(path) for path in baselines.files()}
    for path, troubles in found.items():
        print("\n".join(troubles or [f"{path.name} is fine."]))
    return Code.NOT_COMPARABLE if any(found.values()) else Code.FINE


def _at_least(least: int) -> Callable[[str], int]:
    """A whole number from the command line."""

    def number(text: str) -> int:
        if not text.removeprefix("-").isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure cogrid, and read the results.",
        epilog=f"Exit codes: {described()}.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, within: Any = commands) -> argparse.ArgumentParser:
        text = function.__doc__
        added: argparse.ArgumentParser = within.add_parser(name, help=text.lower(), description=text)
        added.set_defaults(command=function)
        return added

    _add_run(command("run", run))
    _add_selection(command("list", list_))
    added = command("profile", profile)
    added.add_argument("--layout", action="append", metavar="NAME", help="default: CrampedRoom; repeatable")
    added.add_argument("--batch", type=_at_least(1), default=1024, help="default: %(default)s")
    _add_file(added)
    added = command("peers", peers_)
    added.add_argument("--only", metavar="TEXT", help="targets whose name contains this")
    added.add_argument("--rounds", type=_at_least(1), metavar="N", help=f"default: {peers.ROUNDS}")
    added.add_argument("--quick", action="store_true", help=f"{peers.QUICK_ROUNDS} rounds")
    added.add_argument("--older", metavar="PYTHON", help="the Python of an environment with cogrid 0.3.2")
    _add_file(added)
    added = command("scaling", scaling_)
    added.add_argument("--rounds", type=_at_least(4), default=scaling.ROUNDS, help="default: %(default)s")
    added.add_argument("--batch", type=_at_least(1), default=scaling.BATCH, help="default: %(default)s")
    added = command("selfcheck", selfcheck_)
    added.add_argument(
        "log",
        type=Path,
        nargs="?",
        default=RESULTS / "selfcheck.jsonl",
        help="is continued; default: %(default)s",
    )
    added.add_argument("--runs", type=_at_least(1), metavar="N", help="at most so many of each kind")
    added.add_argument("--suites", type=_at_least(1), default=2000, help="drawn again; default: %(default)s")
    added.add_argument("--replay", action="store_true", help="run nothing, only read the log")
    added.add_argument(
        "--recompilations",
        type=_at_least(2),
        metavar="N",
        help="instead, compile N times and look at the counters",
    )
    added.add_argument(
        "--style", default="simple", help="of the tables: simple, github; default: %(default)s"
    )
    added = command("diff", diff_)
    added.add_argument("files", type=Path, nargs="+", metavar="FILE", help="[before] after")
    added.add_argument("--format", choices=diff.FORMATS, default="terminal", help="default: %(default)s")
    _add_strict(added)
    added = command("compare", compare)
    added.add_argument("folder", type=Path, nargs="?", default=RESULTS, help="default: bench/results")
    added.add_argument("--batch-size", type=_at_least(1), metavar="N", help="only rows of this batch")
    added.add_argument("--scaling-only", action="store_true", help="only sweeps, with their efficiency")
    added = command("export", export)
    added.add_argument("file", type=Path)
    added.add_argument("--to", choices=sorted(EXPORTS), required=True)
    added.add_argument("--output", "-o", type=Path, metavar="FILE", help="default: print it")
    added = command("plot", plot)
    added.add_argument("files", type=Path, nargs="+", metavar="FILE", help="result files")
    added.add_argument("--folder", type=Path, default=RESULTS / "plots", help="default: bench/results/plots")
    added = command("report", report_)
    added.add_argument("folder", type=Path, nargs="?", default=RESULTS, help="default: bench/results")
    added.add_argument("--html", type=Path, required=True, metavar="FILE", help="the file to write")
    baseline = commands.add_parser("baseline", help="the committed baselines").add_subparsers(
        required=True, metavar="COMMAND"
    )
    command("show", baseline_show, baseline)
    added = command("accept", baseline_accept, baseline)
    added.add_argument("files", type=Path, nargs="+", metavar="FILE", help="result files")
    added.add_argument("--reason", required=True, help="why these numbers are right; kept in the file")
    added.add_argument("--allow-dirty", action="store_true", help="also from a checkout with changes")
    command("check", baseline_check, baseline)
    return parser


def _add_selection(parser: argparse.ArgumentParser) -> None:
    suite = parser.add_mutually_exclusive_group()
    suite.add_argument("--quick", action="store_true", help="CrampedRoom and the toy arena (default)")
    suite.add_argument("--full", action="store_true", help="everything, up to 5,000,000 environments")
    parser.add_argument("--only", metavar="TEXT", help="cases whose name contains this")
    parser.add_argument("--layout", action="append", metavar="NAME", help="only this environment; repeatable")
    parser.add_argument("--backend", choices=("numpy", "jax"))
    parser.add_argument(
        "--batch", type=_at_least(1), metavar="N", help="run the batched cases with N environments"
    )
    toy = parser.add_argument_group("the toy arena")
    toy.add_argument(
        "--agents", type=_at_least(1), default=cases.TOY["num_agents"], help="default: %(default)s"
    )
    toy.add_argument("--map-size", type=int, default=cases.TOY["map_size"], help="default: %(default)s")
    toy.add_argument("--density", type=float, default=cases.TOY["density"], help="default: %(default)s")


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tag", "-t", "--phase", default="", help="a word in the file's name")
    parser.add_argument("--description", "-d", default="", help="a sentence kept in the file")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="default: in bench/results")


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_selection(parser)
    parser.add_argument("--against", metavar="REV", help="compare with this revision, in turns (A/B)")
    sampling = parser.add_argument_group("sampling (by default as many steps as fill the time)")
    plan = Plan()
    sampling.add_argument(
        "--rounds", type=_at_least(1), default=plan.samples, help="samples; default: %(default)s"
    )
    sampling.add_argument(
        "--iterations",
        type=_at_least(0),
        default=plan.iterations,
        help="environment steps of a sample, at least",
    )
    sampling.add_argument(
        "--warmup", type=_at_least(0), default=plan.warmup_iterations, help="environment steps before it"
    )
    sampling.add_argument("--seed", type=int, default=42, help="of the action tapes; default: %(default)s")
    _add_file(parser)
    parser.add_argument("--resume", action="store_true", help="finish the newest file that lacks rows")
    parser.add_argument("--require-platform", metavar="NAME", help="exit 69 unless JAX runs on it")
    parser.add_argument(
        "--baseline", type=Path, nargs="+", metavar="FILE", help="default: the committed ones"
    )
    _add_strict(parser)


def _add_strict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="exit 21 or 23 for what is in doubt")


SAMPLING = ("rounds", "iterations", "warmup", "seed")
EXPORTS = {"csv": to_csv, "pyperf": to_pyperf}

if __name__ == "__main__":
    sys.exit(main())
