"""Recordings in the form that overcooked_ai published: a pandas table of an old version, pickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cogrid
from cogrid.envs.overcooked.policies import ScriptedCooks

ROWS = ("XXPXX", "O  2O", "X1  X", "XDXSX")
MOVES = {0: [0, -1], 1: [0, 1], 2: [-1, 0], 3: [1, 0], 4: "INTERACT", 5: [0, 0], 6: [0, 0]}
FACINGS = {0: [1, 0], 1: [0, 1], 2: [-1, 0], 3: [0, -1]}
TEXTS = ("joint_action", "layout", "layout_name", "next_state", "state", "run")


def played(steps: int, pair: int = 7) -> dict[str, list[Any]]:
    """Columns of a game of scripted cooks in CrampedRoom, as the recordings tell it."""
    env = cogrid.make("Overcooked-CrampedRoom-V0", layout="\n".join(ROWS), max_steps=steps)
    cooks, rows = ScriptedCooks(env.rules), []
    env.reset(seed=0)
    for step in range(steps):
        before, actions = told(env), cooks.act(env.env_state)
        _, rewards, *_ = env.step(actions)
        row = {
            "joint_action": str([MOVES[actions[agent]] for agent in (0, 1)]),
            "layout": str(list(ROWS)),
            "layout_name": "cramped_room",
            "state": str(before),
            "next_state": str(told(env)),
            "run": "run-1",
            "reward": rewards[0] / 4,
            "cur_gameloop": float(step),
            "workerid_num": pair,
        }
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0]}


def told(env: cogrid.CoGridEnv) -> dict[str, Any]:
    """A state as overcooked_ai's first version writes it."""
    state: Any = env.env_state
    names = {number: name.partition(":")[0] for name, number in env.type_ids.items()}

    def item(number: int, row: int, column: int) -> dict[str, Any]:
        thing: dict[str, Any] = {"name": names[number], "position": [column, row]}
        return thing | ({"state": ["onion", 3, 20]} if names[number] == "soup" else {})

    players = []
    for (row, column), facing, (held,) in zip(
        state.agent_pos.tolist(), state.agent_dir.tolist(), state.agent_inv.tolist(), strict=True
    ):
        player: dict[str, Any] = {"position": [column, row], "orientation": FACINGS[facing]}
        players.append(player | ({"held_object": item(held, row, column)} if held >= 0 else {}))
    objects = {}
    for row, column in np.argwhere(np.asarray(state.object_state_map) > 0).tolist():
        objects[f"{column},{row}"] = item(int(state.object_state_map[row, column]), row, column)
    pots = zip(state.pot_positions.tolist(), state.pot_contents, state.pot_timer.tolist(), strict=True)
    for (row, column), contents, timer in pots:
        if onions := int((contents >= 0).sum()):
            cooked = 20 - timer if onions == 3 else 0
            objects[f"{column},{row}"] = {
                "name": "soup",
                "position": [column, row],
                "state": ["onion", onions, cooked],
            }
    return {"players": players, "objects": objects, "order_list": ["onion"], "pot_explosion": False}


class Call(NamedTuple):
    """An object of the pickle: what is called by which name, and the state that is set afterwards."""

    name: str
    arguments: Any
    state: Any = None


def emitted(value: Any) -> bytes:
    """The opcodes of protocol 4 that build a value."""
    if isinstance(value, Call):
        module, _, name = value.name.rpartition(".")
        made = emitted(module) + emitted(name) + b"\x93" + emitted(value.arguments) + b"R"
        return made if value.state is None else made + emitted(value.state) + b"b"
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        return b"J" + value.to_bytes(4, "little", signed=True)
    if isinstance(value, (str, bytes)):
        data, code = (value.encode(), b"X") if isinstance(value, str) else (value, b"B")
        return code + len(data).to_bytes(4, "little") + data
    if isinstance(value, dict):
        return b"}(" + b"".join(emitted(part) for item in value.items() for part in item) + b"u"
    before, after = (b"](", b"e") if isinstance(value, list) else (b"(", b"t")
    return before + b"".join(map(emitted, value)) + after


def pickled(columns: dict[str, list[Any]]) -> bytes:
    """The columns as the pickle of a table; no pandas is needed."""

    def array(values: list[Any], shape: tuple[int, ...], code: str) -> Call:
        dtype = Call("numpy.dtype", (code, 0, 1), (3, "|", None, None, None, -1, -1, 63))
        content = values if code == "O8" else np.array(values, f"<{code}").tobytes()
        state = (1, shape, dtype, False, content)
        return Call("numpy.core.multiarray._reconstruct", (Call("numpy.ndarray", ()), (0,), b"b"), state)

    def index(values: list[str]) -> Call:
        named = {"data": array(values, (len(values),), "O8"), "name": None}
        return Call(
            "pandas.core.indexes.base._new_Index", (Call("pandas.core.indexes.base.Index", ()), named)
        )

    length = len(next(iter(columns.values())))
    kinds = (("O8", [n for n in columns if n in TEXTS]), ("f8", [n for n in columns if n not in TEXTS]))
    blocks = [
        array([value for name in named for value in columns[name]], (len(named), length), code)
        for code, named in kinds
    ]
    state = ([], blocks, [index(named) for _, named in kinds], {"0.14.1": {}})
    manager = Call("pandas.core.internals.managers.BlockManager", (), state)
    return b"\x80\x04" + emitted(Call("pandas.core.frame.DataFrame", (), {"_data": manager})) + b"."


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    path.write_bytes(pickled(columns))
    return path
