"""A checkout of another revision, in a folder of its own, with this one's measuring code."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import ROOT
from bench.exit_codes import UsageError
from bench.storage.identity import MEASURING
from bench.storage.machine import git, git_state


def sha_of(revision: str, what: str = "--against") -> str:
    try:
        return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except subprocess.CalledProcessError:
        raise UsageError(
            f"{what} {revision!r} is not a revision of this checkout: name a branch, a tag or a commit."
        ) from None
    except OSError:
        raise UsageError(f"{what} needs git, which is not installed.") from None


def commits_between(good: str, bad: str) -> list[str]:
    """The commits after `good` up to `bad`, oldest first; of a merge, the first parent's line."""
    try:
        git("merge-base", "--is-ancestor", good, bad)
    except subprocess.CalledProcessError:
        raise UsageError(f"{good[:10]} is not an ancestor of {bad[:10]}: GOOD comes before BAD.") from None
    return git("rev-list", "--first-parent", "--reverse", f"{good}..{bad}").split()


def described(sha: str) -> str:
    """Date, abbreviated hash and subject of a commit."""
    return git("show", "--no-patch", "--date=short", "--format=%h (%ad, %s)", sha).strip()


def clean_sha() -> str:
    """The commit of this checkout, which must be unchanged."""
    state = git_state()
    if state is None or state.dirty:
        raise UsageError("the checkout must be as committed, because it is compared with its commit.")
    return state.sha


@contextlib.contextmanager
def checkout_of(sha: str) -> Iterator[Path]:
    """A worktree of the commit, removed at the end of the block, with our measuring code in it."""
    with tempfile.TemporaryDirectory(prefix="cogrid-base-") as folder:
        tree = Path(folder).resolve() / "base"
        git("worktree", "prune")  # left by killed runs
        try:
            git("worktree", "add", "--detach", "--force", str(tree), sha)
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise UsageError(f"git cannot check out {sha[:10]} beside this checkout: {last}") from None
        try:
            _overlay(tree)
            yield tree
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):  # the folder is removed in any case
                git("worktree", "remove", "--force", str(tree))


def _overlay(tree: Path) -> None:
    """Copy our measuring code, so that both sides are timed alike, even revisions without benchmarks."""
    for folder in ("bench", "cogrid/benchmarks"):
        shutil.rmtree(tree / folder, ignore_errors=True)
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("results", "__pycache__"))
    for file in map(Path, MEASURING):
        # These depend on the engine's internals: the revision's own version is kept, if it has one.
        inside = file.parts[1] == "_core"
        if not inside or not (tree / file).exists():
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, tree / file)
