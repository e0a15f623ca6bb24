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
    """A table for each `record_property("met FAMILY", counts)`, added up; a line for each of "foraging"."""
    tables, fields = dict[str, list[dict[str, int]]](), list[str]()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties if report.when == "call" else ():
            if name.startswith("met "):
                tables.setdefault(name.removeprefix("met "), []).append(value)
            fields += [value] if name == "foraging" else []
    if fields:
        terminalreporter.section("Foraging: what was compared, and how often it was met")
        for line in sorted(fields):
            terminalreporter.write_line(line)
    for family, counts in sorted(tables.items()):
        terminalreporter.section(f"{family}: what was compared, how often it was met, in how many tests")
        times, tests = Counter[str](), Counter[str]()
        for one in counts:
            times.update(one)
            tests.update(name for name, number in one.items() if number)
        for name, number in sorted(times.items()):
            terminalreporter.write_line(f"{name:60} {number:10,} {tests[name]:4}")
