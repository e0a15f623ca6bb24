"""Tests without a check and skips without a reason are found, and nothing else."""

from __future__ import annotations

import pytest

from ci.checks import complaints, main

HELPERS = """
def same(a, b):
    assert a == b

def all_same(pairs):
    for pair in pairs:
        same(*pair)
"""
CHECKED = [
    "def test_a():\n    assert 1",
    "def test_a():\n    all_same([])",
    "def test_a():\n    np.testing.assert_array_equal(1, 1)",
    "def test_a():\n    with pytest.raises(ValueError):\n        int('')",
    "class TestIt:\n    def test_a(self):\n        same(1, 1)",
    "def helper():\n    print()",
    "@pytest.mark.skip(reason='slow')\ndef test_a():\n    assert 1",
    "def test_a():\n    pytest.skip('no JAX')\n    assert 1",
]
UNCHECKED = [
    "def test_a():\n    1 == 2",
    "if HAS_JAX:\n    def test_a():\n        helper()",
    "class TestIt:\n    async def test_a(self):\n        print(1)",
    "@pytest.mark.skip\ndef test_a():\n    assert 1",
    "@pytest.mark.skip()\ndef test_a():\n    assert 1",
    "def test_a():\n    pytest.skip()\n    assert 1",
]


@pytest.mark.parametrize("source", CHECKED)
def test_what_is_checked(source: str) -> None:
    assert complaints({"helpers.py": HELPERS, "test_x.py": source}) == []


@pytest.mark.parametrize("source", UNCHECKED)
def test_what_is_not(source: str) -> None:
    (line,) = complaints({"helpers.py": HELPERS, "test_x.py": source})
    assert line.startswith("test_x.py:")


def test_all_of_ours_check_something(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "checks something" in capsys.readouterr().out
