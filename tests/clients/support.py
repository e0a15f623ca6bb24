"""What the tests of other libraries share: the sections of docs/with-your-learner.md, run as scripts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/with-your-learner.md"


def sections() -> dict[str, str]:
    """Heading -> the python blocks of that section, as one script."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    blocks = (re.findall(r"^```python\n(.*?)^```", part, re.DOTALL | re.MULTILINE) for part in parts[1::2])
    return {name: "\n".join(some) for name, some in zip(parts[::2], blocks, strict=True)}


def run_section(name: str, folder: Path) -> str:
    """Run a section in a process and a folder of its own; what it printed."""
    script = folder / "section.py"
    script.write_text(sections()[name], encoding="utf-8")
    return run(folder, str(script))


def run(folder: Path, *command: str) -> str:
    """Run a Python script; what it printed."""
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": search, "RAY_AUTH_MODE": "disabled", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done.stdout
