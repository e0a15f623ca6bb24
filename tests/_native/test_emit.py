"""The text of the C file: names, what is written once, and that strict compilers have no complaints."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.rules import Rules
from cogrid._core.state.autoreset import renew
from cogrid._core.step import functions, step
from cogrid._native import compiling
from cogrid._native.backend import NativeBackend
from cogrid._native.compiled import CompiledFunction
from cogrid._native.expressions import identifier, literal, wrapped
from tests.support import keys

BACKEND = NativeBackend()
#: Games that have every phase and every kind of observation among them.
GAMES = (
    ("Overcooked-CrampedRoom-V0", {"observation": "lossless", "shaping": 0.5, "random_start": True}),
    ("OvercookedV2-CrampedRoomV2-V0", {"observation": "window"}),
    ("OvercookedAI-BonusOrderTest-V0", {"observation": "features"}),
    ("CleanUp-V0", {"timeout": 3}),
    ("SearchRescue-Ruins-V0", {}),
    ("Foraging-8x8-2p-2f-coop-V0", {}),
    ("Goals-V0", {"num_agents": 4}),
    ("Arena-V0", {"num_agents": 8, "map_size": 8, "observation": "lossless"}),
)


@pytest.fixture
def files(monkeypatch) -> list[str]:
    """The texts of the files that are compiled from now on."""
    texts: list[str] = []
    load = compiling.load

    def noted(source: str, name: str) -> Any:
        texts.append(source)
        return load(source, name)

    monkeypatch.setattr(compiling, "load", noted)
    return texts


def advance(rules: Rules) -> Callable[..., Any]:
    """A step with its infos and the automatic reset."""

    def advance_fn(state: Any, actions: Any) -> Any:
        state, obs, rewards, done, infos = step(rules, state, actions, infos=True)
        return *renew(rules, state, obs, done), rewards, done, infos

    return advance_fn


def compiled_step(id: str, options: dict[str, Any]) -> tuple[Rules, CompiledFunction, Any]:
    rules = Rules(cogrid.make(id, **options).spec, BACKEND)
    state, _ = functions(rules).reset(keys(0, 3))
    return rules, CompiledFunction(advance(rules)), state


@pytest.mark.parametrize(("id", "options"), GAMES)
def test_a_strict_compiler_has_no_complaints(id, options, files, tmp_path) -> None:
    rules, run, state = compiled_step(id, options)
    run(state, np.zeros(state.pos.shape, np.int32))
    source = tmp_path / "step.c"
    source.write_text(files[-1], encoding="utf-8")
    strict = ("-Wall", "-Wextra", "-Wshadow", "-Wvla", "-Werror", "-std=c99", "-pedantic", "-O1", "-c")
    command = [*compiling._system(), *strict, str(source), "-o", str(tmp_path / "step.o")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert not done.stderr, done.stderr[:3000]
    names = set(re.findall(r"^static void (\w+)\(", files[-1], re.M))
    phases = {f"env_{identifier(phase.name)}" for phase in rules.phases}
    assert names >= phases | {"env_observe"}
    exported = re.findall(r"^COGRID_EXPORT void (\w+)\(", files[-1], re.M)
    assert exported == ["cogrid_advance"]
    assert set(re.findall(r"#include (.*)", files[-1])) == {"<stdint.h>", "<string.h>"}
    assert set(re.findall(r"\b(mem\w+|str\w+)\(", files[-1])) <= {"memcpy"}


def test_two_recordings_write_the_same_text(files) -> None:
    for _ in range(2):
        _, run, state = compiled_step("Overcooked-CrampedRoom-V0", {"max_steps": 37, "random_start": True})
        run(state, np.zeros(state.pos.shape, np.int32))
    assert files[-1] in files[:-1]


def test_equal_tables_and_parts_are_written_once(files) -> None:
    table = np.arange(100, dtype=np.int16) ** 2

    def looked_up(word: Any, x: Any) -> Any:
        part = BACKEND.part("half", lambda x: BACKEND.lookup(table.copy(), x) // 2)
        twice = BACKEND.part("twice", double)
        return twice(part(x)), twice(BACKEND.lookup(table, x + 1))

    places = np.arange(20, dtype=np.int8).reshape(1, 20)
    found = CompiledFunction(looked_up)(np.zeros((1, 2), np.uint32), places)
    np.testing.assert_array_equal(found[0], table[places] // 2 * 2)
    np.testing.assert_array_equal(found[1], table[places + 1] * 2)
    assert len(re.findall(r"^static const int16_t table", files[-1], re.M)) == 1
    assert len(re.findall(r"^static void env_twice\(", files[-1], re.M)) == 1
    assert len(re.findall(r"^    env_twice\(", files[-1], re.M)) == 2


def double(values: Any) -> Any:
    return values * 2


def test_code_does_not_grow_with_the_number_of_entries(files) -> None:
    for size in (40, 4000):
        values = np.zeros((1, size), np.float32)
        CompiledFunction(lambda word, x: (x * 2 + 1, x.sum(), np.sort(x)))(
            np.zeros((1, 2), np.uint32), values
        )
    assert abs(len(files[0]) - len(files[1])) < 400


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (3, "int8", "3"),
        (-3, "int8", "-3"),
        (True, "bool", "1"),
        (7, "uint32", "7u"),
        (2**40, "uint64", "1099511627776ull"),
        (-(2**31), "int32", "(-2147483647 - 1)"),
        (0.5, "float32", "0.5f"),
        (-0.0, "float32", "-0.0f"),
        (1 / 3, "float32", "0.33333334f"),
        (np.inf, "float32", "(1.0f / 0.0f)"),
        (-np.inf, "float32", "(-1.0f / 0.0f)"),
        (np.nan, "float32", "(0.0f / 0.0f)"),
    ],
)
def test_numbers(value, dtype, text) -> None:
    assert literal(value, np.dtype(dtype)) == text


def test_names_and_parentheses() -> None:
    assert [identifier(name) for name in ("one cell", "int", "i", "v3", "0_b", "cells")] == [
        *("one_cell", "int_", "i_", "v3_", "0_b_", "cells"),
    ]
    assert [wrapped(text) for text in ("a", "a[i + 1]", "-1", "a + b", "(a + b)", "(a) + (b)")] == [
        *("a", "a[i + 1]", "(-1)", "(a + b)", "(a + b)", "((a) + (b))"),
    ]
