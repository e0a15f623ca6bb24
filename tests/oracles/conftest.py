"""`--full`: the number of states and episodes of a night. At the end: what the tests have met."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="compare as much as a night has time for")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether to compare as much as a night has time for."""
    return bool(request.config.getoption("--full"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the tests of OvercookedV2 met, added up over all layouts; and of foraging, each by itself."""
    met, fields = Counter[str](), list[str]()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        told = getattr(report, "user_properties", ()) if report.when == "call" else ()
        for name, value in told:
            met.update(value if name == "met" else {})
            fields += [value] if name == "foraging" else []
    if fields:
        terminalreporter.section("Foraging: what was compared, and how often it was met")
        for line in sorted(fields):
            terminalreporter.write_line(line)
    if met:
        terminalreporter.section("OvercookedV2: what was compared, and how often it was met")
        for name, times in sorted(met.items()):
            terminalreporter.write_line(f"{name:50} {times:10,}")
