"""These tests run in `nox -s browser`: an environment without Playwright collects none of them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import pytest

# pytest exits 5 where nothing is collected, so that the session cannot lose them quietly.
if not importlib.util.find_spec("playwright"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium, which the session has found."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=os.environ["COGRID_BROWSER"])
        yield found
        found.close()
