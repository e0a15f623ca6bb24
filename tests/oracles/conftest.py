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
    """What the tests have met, added up: a table for each `record_property("met FAMILY", counts)`."""
    tables: dict[str, list[dict[str, int]]] = {}
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, counts in report.user_properties if report.when == "call" else ():
            if name.startswith("met "):
                tables.setdefault(name.removeprefix("met "), []).append(counts)
    for family, counts in sorted(tables.items()):
        terminalreporter.section(f"{family}: what was compared, how often it was met, in how many tests")
        times, tests = Counter[str](), Counter[str]()
        for one in counts:
            times.update(one)
            tests.update(name for name, number in one.items() if number)
        for name, number in sorted(times.items()):
            terminalreporter.write_line(f"{name:60} {number:10,} {tests[name]:4}")
