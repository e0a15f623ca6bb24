"""The command `python -m cogrid train`: its arguments, and a run from start or checkpoint to the results."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from cogrid import distributed
from cogrid._apps.train import checkpoints
from cogrid._apps.train.checkpoints import CHECKPOINT, PREVIOUS, Checkpoint, CheckpointError
from cogrid._apps.train.evaluation import finish
from cogrid._apps.train.loop import combined, train
from cogrid._apps.train.options import Options, check, environment, usual_observation
from cogrid._apps.train.settings import SETTINGS
from cogrid._core.state.snapshot import fingerprint
from cogrid._env.shadow import Shadow, is_asked_for, show_progress
from cogrid._io import files, interrupt
from cogrid._io.messages import brief
from cogrid._io.reading import setting, whole_number
from cogrid.envs.registry import find, is_own

# Exit codes: a user's mistake or an unusable file; a difference from NumPy.
USAGE, MISMATCH = 2, 22
TAKEN = "{out} already holds a run: add --resume to continue it, or choose another --out."
LOCK = ".lock"  # in the folder of a run, while it is trained
#: Defaults that depend on the environment.
USUAL = MappingProxyType({"observation": "the environment's own"})
DESCRIPTION = """\
Train agents that share a network with independent PPO, for several seeds.

The defaults in brackets are those of most environments; cogrid/_apps/train/settings.py has the exceptions.
At the end, it prints scores and writes results.json, curve.png, episode.replay.json.gz and, for play and
render, policy-SEED.npz. speed.csv has a line with the speed after each chunk of updates (--chunk 1: after
each update). Ctrl-C or a kill costs at most one chunk; --resume continues to the same result, bit for bit."""
EXAMPLES = """\
examples:
  python -m cogrid train Overcooked-CrampedRoom-V0
  python -m cogrid train Overcooked-CoordinationRing-V0 --steps 5e6 --out runs/ring
  python -m cogrid train --out runs/ring --resume
  python -m cogrid train Overcooked-CrampedRoom-V0 --devices 2 --seeds 4     two cores or GPUs
  srun python -m cogrid train Overcooked-CrampedRoom-V0 --join --devices 16"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = DESCRIPTION, EXAMPLES
    types: dict[str, Callable[[str], Any]] = {"str": str, "int": whole_number(), "float": float}
    for field in dataclasses.fields(Options):
        if field.name == "id":
            help = f"an environment id, or module:Name or file.py:Name of your own ({field.default}); "
            help += "not needed with --resume"
            parser.add_argument("id", metavar="ID", nargs="?", default=argparse.SUPPRESS, help=help)
            continue
        if field.name == "set":
            parser.add_argument(
                "--set",
                type=setting,
                action="append",
                metavar="NAME=VALUE",
                default=argparse.SUPPRESS,
                help=field.metadata["help"],
            )
            continue
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=types[str(field.type)],
            metavar="TEXT" if field.type == "str" else "N",
            default=argparse.SUPPRESS,  # only what is given must agree with a checkpoint
            help=f"{field.metadata['help']} ({USUAL.get(field.name, field.default)})",
        )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write the results (runs/ID)")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint in --out")
    parser.add_argument(
        "--join",
        nargs="*",
        metavar=("ADDRESS", "PROCESSES PROCESS"),
        help="run as one of several processes; in a cluster that JAX detects, no values are needed",
    )
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="replay a part of all steps on NumPy and compare; exits with 22 if any differ",
    )
    parser.set_defaults(run=lambda arguments: run(parser, arguments))


def run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Train, evaluate and write the results; returns the exit code."""
    with contextlib.ExitStack() as held:
        return _run(parser, *_prepared(parser, arguments, held))


def _run(
    parser: argparse.ArgumentParser,
    options: Options,
    out: Path,
    checkpoint: Checkpoint | None,
    shadowed: bool,
) -> int:
    shadow, code = None, 0
    if shadowed:
        show_progress()
        shadow = Shadow(environment(options).spec, "jax")
    try:
        state, history = train(options, out, checkpoint, shadow)
        state = distributed.gather(state)
        if jax.process_index() == 0:  # the others have the same
            finish(options, out, state.network, history)
        if jax.process_count() > 1:
            distributed.agree("end")  # all wait until process 0 has finished
    except (CheckpointError, OSError, FloatingPointError) as error:  # such as a full disk
        if interrupt.is_closed_output(error):
            raise
        said = files.sentence(error) if isinstance(error, OSError) else str(error)
        print(f"{parser.prog}: {said}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        own = f"{shlex.quote(options.id)} " if is_own(options.id) else ""
        advice = f"Continue with: {parser.prog} {own}--out {shlex.quote(str(out))} --resume"
        if not (out / CHECKPOINT).exists():
            advice = "There was no checkpoint yet."
        print(f"\nStopped. {advice}", file=sys.stderr)
        code = interrupt.INTERRUPTED
    if report := combined(checkpoint.history.shadow if checkpoint else None, shadow):
        print(report)
    return MISMATCH if report and report.mismatches else code


def _prepared(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, held: contextlib.ExitStack
) -> tuple[Options, Path, Checkpoint | None, bool]:
    """The options, the folder, the checkpoint to resume, and whether to compare with NumPy.

    The folder is claimed until `held` is closed.
    """
    names = {field.name for field in dataclasses.fields(Options)}
    values = {name: value for name, value in vars(arguments).items() if name in names}
    if "set" in values:
        values["set"] = json.loads(json.dumps(dict(values["set"])))  # as a checkpoint returns it
    _join(parser, arguments.join)
    name = Path(values.get("id", Options.id)).name.replace(".py", "").replace(":", "-")
    out = arguments.out or Path("runs", name)
    checkpoint, saved = None, _saved(out)
    if arguments.resume:
        if not saved:
            parser.error(f"there is no checkpoint in {out}: start without --resume.")
        checkpoint = _resumed(parser, saved, values)
    elif saved:
        parser.error(TAKEN.format(out=out))
    if checkpoint and is_own(checkpoint.options.id) and "id" not in values:
        # a file that is read must not choose what is imported
        parser.error(
            f"the run in {out} trains in {brief(checkpoint.options.id)}, which has to be imported: "
            "name it on the command line."
        )
    try:
        if not checkpoint:
            id = find(values.get("id", Options.id))
            usual = {"observation": usual_observation(id), **SETTINGS.get(id, {})}
            values = usual | values | {"set": usual.get("set", {}) | values.get("set", {})}
        options = checkpoint.options if checkpoint else Options(**values)
        _use_cores(arguments.join, options.devices)
        check(options)
    except (ValueError, TypeError) as error:
        parser.error(str(error))
    if checkpoint and checkpoint.spec != fingerprint(environment(options).rules):
        parser.error(f"{options.id} has changed since the run in {out} started: start a new run.")
    shadowed = is_asked_for(arguments.shadow or None)
    if jax.process_index() == 0:  # the only one that writes
        _claim(parser, out, arguments.resume, held)
    if jax.process_count() > 1:
        try:
            chunks = len(checkpoint.history.scores) if checkpoint else 0
            facts = {"resume": arguments.resume, "chunks": chunks, "shadow": shadowed}
            distributed.agree("train", **facts, **dataclasses.asdict(options))
        except ValueError as error:
            parser.error(str(error))
    return options, out, checkpoint, shadowed


def _saved(out: Path) -> list[Path]:
    return [file for file in (out / CHECKPOINT, out / PREVIOUS) if file.is_file()]


def _claim(parser: argparse.ArgumentParser, out: Path, resume: bool, held: contextlib.ExitStack) -> None:
    """Make the folder, and keep other trainings out of it until `held` is closed or this process ends."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"{out} cannot be a folder: {error.strerror}.")
    try:
        held.enter_context(files.locked(out / LOCK))
    except BlockingIOError:
        parser.error(
            f"another training is running in {out}: wait until it has ended, or choose another --out."
        )
    except OSError as error:
        parser.error(files.sentence(error))
    if not resume and _saved(out):  # by a training that ended a moment ago
        parser.error(TAKEN.format(out=out))


def _join(parser: argparse.ArgumentParser, values: list[str] | None) -> None:
    """Join the other processes, if there are any."""
    if values is None:
        return
    if len(values) not in (0, 3) or not all(value.isdigit() for value in values[1:]):
        parser.error("--join takes no values, or three: the address of process 0, their number and its own.")
    try:
        if values:
            address, processes, process = values
            distributed.start(address, int(processes), int(process))
        else:
            distributed.start()
    except (RuntimeError, TimeoutError, ValueError) as error:
        parser.error(str(error))


def _use_cores(joined: list[str] | None, devices: int) -> None:
    """On a CPU, devices are cores, whose number must be set before JAX starts."""
    if joined is None and 1 < devices <= (os.cpu_count() or 1) and jax.config.jax_num_cpu_devices < devices:
        with contextlib.suppress(RuntimeError):  # already started
            jax.config.update("jax_num_cpu_devices", devices)


def _resumed(parser: argparse.ArgumentParser, paths: list[Path], values: dict[str, Any]) -> Checkpoint:
    """The checkpoint; options that are given again must be the same."""
    try:
        checkpoint = checkpoints.newest(paths)
    except CheckpointError as error:
        parser.error(str(error))
    if "set" in values:  # the checkpoint also has the environment's own settings
        values = values | {"set": checkpoint.options.set | values["set"]}
    for name, now in values.items():
        if now != (then := getattr(checkpoint.options, name)):
            parser.error(f"{name} was {then!r} when this run started and cannot be changed to {now!r}.")
    return checkpoint
