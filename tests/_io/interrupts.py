"""Commands that are stopped at a chosen moment, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.episodes import ROOT

# Read by Python before anything else: as if Ctrl-C were pressed when a module is imported, or a function
# of one is called.
CUSTOMIZE = """
import os, signal, sys

module, _, function = os.environ["STOP_AT"].partition(":")

def press(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)

def hook(event, arguments):
    if event == "import" and arguments[0] == module and not function:
        press()
    elif function and module in sys.modules and hasattr(sys.modules[module], function):
        calls = getattr(sys.modules[module], function)
        if not hasattr(calls, "pressed"):
            def first(*arguments, **options):
                press()
                return calls(*arguments, **options)
            first.pressed = True
            setattr(sys.modules[module], function, first)

sys.addaudithook(hook)
"""


def stopped_at(folder: Path, where: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of Python's that is interrupted at "module" or "module:function"."""
    (folder / "hooks").mkdir()
    (folder / "hooks" / "sitecustomize.py").write_text(CUSTOMIZE, encoding="utf-8")
    search = os.pathsep.join([str(folder / "hooks"), str(ROOT)])
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": search, "STOP_AT": where},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        encoding="utf-8",
    )


def unread(*command: str) -> tuple[int, str]:
    """The exit code and the complaints of a command whose output nobody reads."""
    read, write = os.pipe()
    os.close(read)
    search = {**os.environ, "PYTHONPATH": str(ROOT)}
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, *command],
            env=search,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            encoding="utf-8",
        )
    return done.returncode, done.stderr
