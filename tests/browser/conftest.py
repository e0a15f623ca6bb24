"""These tests run in `nox -s browser`: an environment without Playwright collects none of them."""

from __future__ import annotations

import importlib.util

# pytest exits 5 where nothing is collected, so that the session cannot lose them quietly.
if not importlib.util.find_spec("playwright"):
    collect_ignore_glob = ["test_*.py"]
