"""These tests run in `nox -s workflows`: an environment without its packages collects none of them."""

from __future__ import annotations

import importlib.util

# pytest exits 5 where nothing is collected, so that the session cannot lose them quietly.
if not all(importlib.util.find_spec(name) for name in ("nox", "yaml")):
    collect_ignore_glob = ["test_*.py"]
elif not importlib.util.find_spec("hatchling"):
    collect_ignore = ["test_release.py"]
