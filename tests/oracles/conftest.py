"""`--full`: the number of states and episodes of a night."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="compare as much as a night has time for")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether to compare as much as a night has time for."""
    return bool(request.config.getoption("--full"))
