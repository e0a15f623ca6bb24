"""The command `python -m cogrid export`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from cogrid._apps.export.notices import notices
from cogrid._apps.export.program import program
from cogrid._apps.export.readme import readme, things
from cogrid._apps.export.recorded import recorded
from cogrid._apps.export.source import header, source
from cogrid._apps.export.tape import tape
from cogrid._io import files, installed
from cogrid._io.messages import several
from cogrid._io.reading import add_settings
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import is_own, make

LANGUAGES = ("c",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description = (
        "Write an environment as a program: C99 source that needs no library, a header with the layout of "
        "the state, a main.c that plays a tape, a test tape with the expected checksums, a README, and the "
        "notices of the boards. Writing it needs no C compiler."
    )
    parser.epilog = "example: python -m cogrid export Overcooked-CounterCircuit-V0 --to c --out kitchen"
    parser.add_argument(
        "id", metavar="ID", help="an environment id, or module:Name or file.py:Name of your own"
    )
    parser.add_argument("--to", required=True, choices=LANGUAGES, help="the language")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="FOLDER", help="a folder that is new or empty"
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the folder."""
    env = make(options.id, **dict(options.set))
    folder: Path = options.out
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: name a new folder.")
    texts = exported(env, options.id, own_boards=is_own(options.id) or "layout" in dict(options.set))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        files.write(folder / name, text)
    print(f"{folder}: {several(len(texts), 'file')}; README.md says how to compile and call them.")


def exported(env: CoGridEnv, id: str, own_boards: bool) -> dict[str, str]:
    """The files of the folder, by name."""
    name, world, version = c_name(id), recorded(env.spec), installed.version()
    return {
        f"{name}.c": source(id, name, world),
        f"{name}.h": header(id, version, name, env.spec, world),
        "main.c": program(name, world),
        "tape.txt": tape(env, world),
        "things.txt": things(env.spec),
        "README.md": readme(id, version, name),
        **notices(id, own_boards),
    }


def c_name(id: str) -> str:
    """The id as the beginning of names in C, without the folders of a file."""
    name = re.sub(r"[^a-z0-9]+", "_", re.split(r"[/\\]", id)[-1].lower()).strip("_")
    return name if name[:1].isalpha() else f"world_{name}".rstrip("_")
