"""A slow, plain interpreter of a game's rules, written from the authors' guide, to compare engines with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from cogrid.author import (
    Aim,
    BySlot,
    Chance,
    Counted,
    Event,
    Joint,
    Meeting,
    Near,
    OneCell,
    Outcome,
    Placed,
    Price,
    Replies,
    Reply,
    Reward,
    Scattered,
    Slot,
    Tally,
)
from tests.worlds.parts import PlainParts, strength
from tests.worlds.sketch import BoardDice, PlainSketch

T = TypeVar("T")
Cell = tuple[int, int]  # row, column
Thing = Hashable
Item = Hashable

MOVES = {"up": 3, "down": 1, "left": 2, "right": 0}  # an action and the facing that it gives
TURNS = {"forward": 0, "rotate left": -1, "rotate right": 1}  # the same relative to the facing before
WALKS = (*MOVES, "forward")
AHEAD = {0: (0, 1), 1: (1, 0), 2: (0, -1), 3: (-1, 0)}  # a facing and the offset of the cell ahead
DISTANCES: Mapping[str, Callable[[int, int], float]] = {
    "circle": math.hypot,
    "diamond": lambda rows, columns: abs(rows) + abs(columns),
    "square": lambda rows, columns: max(abs(rows), abs(columns)),
}


@dataclass
class Agent:
    cell: Cell | None  # None while away
    facing: int  # 0 right, 1 down, 2 left, 3 up
    held: Item
    ended: bool = False


@dataclass
class World:
    cells: dict[Cell, Thing]
    agents: list[Agent]
    slots: dict[str, Thing]  # in the order in which events are offered to them
    time: int = 0


class Dice(BoardDice, Protocol):
    """All randomness of a step or a reset."""

    def choose(self, purpose: str, who: Hashable, answer: Any) -> Any:
        """A value of a `Chance`, or the answer itself if it is not one."""

    def happens(self, purpose: str, who: Any, probability: Fraction | float) -> bool:
        """Whether something of this probability happens."""

    def pick(self, purpose: str, who: Any, options: Sequence[T]) -> T:
        """One of the options, which are in reading order."""


@dataclass(frozen=True)
class Transition:
    world: World
    events: list[Event | None]
    replies: list[tuple[str, Reply] | None]  # to each agent's event: the slot that replied, and what
    slot_ticks: dict[str, Reply]  # slots that paid by themselves
    moved: list[int]  # the numbers of the agents that walked
    rewards: list[float]
    done: bool
    met: Counter[str]


@dataclass(frozen=True)
class Change:
    """What an event changed, as pairs of before and after."""

    things: list[tuple[Thing, Thing]]
    hands: list[tuple[Item, Item]]


@dataclass
class Scene:
    """One step while it is computed."""

    game: Any
    parts: PlainParts
    dice: Dice
    before: World
    world: World
    choices: list[str]  # names of the actions; those of agents that ended or are away are noops
    events: list[Event | None]
    replies: list[tuple[str, Reply] | None]
    slot_ticks: dict[str, Reply] = field(default_factory=dict)
    changes: dict[int, Change] = field(default_factory=dict)  # made by each agent's event
    others: dict[int, int] = field(default_factory=dict)  # the agent that an agent met
    stirred: set[Cell] = field(default_factory=set)  # which agents have left or entered before anyone acts
    met: Counter[str] = field(default_factory=Counter)


def step(
    game: Any, world: World, actions: Sequence[str], dice: Dice, *, max_steps: int, shaping: float = 0.0
) -> Transition:
    idle = [agent.ended or agent.cell is None for agent in world.agents]
    choices = ["noop" if out else action for out, action in zip(idle, actions, strict=True)]
    nothing = [None] * len(choices)
    parts = PlainParts(game)
    scene = Scene(game, parts, dice, world, copy_of(world), choices, list(nothing), list(nothing))
    if parts.moving.first:
        moved = move(scene)
        act(scene)
    else:
        act(scene)
        moved = move(scene)
    enter(scene, moved)
    reply(scene)
    tick(scene)
    leave(scene)
    scene.world.time += 1
    rewards = reward(scene, shaping)
    finish(scene)
    done = scene.world.time >= max_steps or all(agent.ended for agent in scene.world.agents)
    return Transition(
        scene.world, scene.events, scene.replies, scene.slot_ticks, moved, rewards, done, +scene.met
    )


def copy_of(world: World) -> World:
    return World(dict(world.cells), [replace(agent) for agent in world.agents], dict(world.slots), world.time)


# Act: targets are chosen first, then agents act in order, each sees the changes made by earlier ones;
# joint work comes last.


def act(scene: Scene) -> None:
    targets = {
        number: target_of(scene, number, action)
        for number, action in enumerate(scene.choices)
        if action in ("interact", "toggle", *scene.parts.acts)
    }
    for number, cell in targets.items():
        if can_act(scene, number):
            act_on(scene, number, scene.choices[number], cell)
        elif not scene.parts.can_act(scene.world.agents[number].held):
            scene.met["can_act"] += 1
    if scene.parts.joint is not None:
        act_jointly(scene, scene.parts.joint)


def can_act(scene: Scene, number: int) -> bool:
    """Whether an agent's hand, as it is now, lets it act; one whose hand has become away acts no more."""
    held = scene.world.agents[number].held
    return scene.parts.can_act(held) and not scene.parts.is_away(held)


def target_of(scene: Scene, number: int, action: str) -> Cell:
    """The first cell that an action looks at where something responds; without any, just the first cell."""
    held = scene.world.agents[number].held
    cells = list(cells_in_sight(scene, number, action))
    found = (cell for cell in cells if can_act(scene, number) and responds(scene, action, held, cell))
    return next(found, cells[0])


def responds(scene: Scene, action: str, held: Item, cell: Cell) -> bool:
    """Whether the rule for what is in a cell does not return None, or a `Chance` of nothing else."""
    other, thing = covering_agent(scene, cell), scene.world.cells[cell]
    act = scene.parts.acts.get(action)
    if other is None and isinstance(act, Joint):
        return could_join(act, held, thing)
    answer = rule_of(scene, action, held, thing) if other is None else meeting_of(scene, action, held, other)
    values = [value for value, _ in answer.options] if isinstance(answer, Chance) else [answer]
    return any(value is not None for value in values)


def act_on(scene: Scene, number: int, action: str, cell: Cell) -> None:
    """Apply an action to the agent in a cell, or else to the thing there."""
    agent, other = scene.world.agents[number], covering_agent(scene, cell)
    if other is not None:
        answer = meeting_of(scene, action, agent.held, other)
        meet(scene, number, other, scene.dice.choose("meet", number, answer))
    elif not isinstance(scene.parts.acts.get(action), Joint):
        answer = rule_of(scene, action, agent.held, scene.world.cells[cell])
        hook = action if action in ("interact", "toggle") else "act"
        apply(scene, number, cell, scene.dice.choose("act", number, answer), hook)
    if scene.events[number] is not None:
        acted_on(scene, agent, cell)


def acted_on(scene: Scene, agent: Agent, cell: Cell) -> None:
    scene.met["aim"] += cell != cell_ahead(agent)
    scene.met["moves_first"] += cell in scene.stirred


def rule_of(scene: Scene, action: str, held: Item, thing: Thing) -> Any:
    if action == "interact":
        return scene.game.interact(held, thing)
    act = scene.parts.acts.get(action)
    return None if act is None or act.thing is None else act.thing(held, thing)


def meeting_of(scene: Scene, action: str, held: Item, other: Agent) -> Any:
    act = scene.parts.acts.get(action)
    return None if act is None or act.agent is None else act.agent(held, other.held)


def cells_in_sight(scene: Scene, number: int, action: str) -> Iterator[Cell]:
    """The cells an action looks at, near ones first; agents and what is not walkable block those behind."""
    blocked: set[int] = set()
    for lane, cell in aimed_cells(scene.world.agents[number], scene.parts.aim(action)):
        if lane in blocked or cell not in scene.world.cells:
            blocked.add(lane)
            continue
        yield cell
        if not scene.game.walkable(scene.world.cells[cell]) or agent_at(scene.world, cell):
            blocked.add(lane)


def aimed_cells(agent: Agent, aim: Aim) -> list[tuple[int, Cell]]:
    """Pairs of a lane and a cell: nearest first, then the middle lane, then left before right."""
    assert agent.cell is not None
    row, column = agent.cell
    if aim.adjacent:
        offsets = [AHEAD[facing] for facing in MOVES.values()]
        return [(lane, (row + down, column + right)) for lane, (down, right) in enumerate(offsets)]
    down, right = AHEAD[agent.facing]
    side_down, side_right = AHEAD[(agent.facing + 1) % 4]  # to the agent's right
    lanes = sorted(range(-aim.width, aim.width + 1), key=lambda lane: (abs(lane), lane))
    return [
        (lane, (row + far * down + lane * side_down, column + far * right + lane * side_right))
        for far in range(1, aim.reach + 1)
        for lane in lanes
    ]


def agent_at(world: World, cell: Cell) -> Agent | None:
    return next((agent for agent in world.agents if agent.cell == cell), None)


def covering_agent(scene: Scene, cell: Cell) -> Agent | None:
    """The agent that covers the thing in a cell; only in games with an action on agents, or an aim."""
    acts = scene.parts.acts.values()
    covers = any(act.agent is not None or act.aim != Aim() for act in acts)
    return agent_at(scene.world, cell) if covers else None


def apply(scene: Scene, number: int, cell: Cell, outcome: Outcome | None, hook: str) -> None:
    """Give an agent and a cell what a rule says, unless that would close the cell under somebody."""
    agent, thing = scene.world.agents[number], scene.world.cells[cell]
    if outcome is None:
        return
    if closes(scene.game, thing, outcome.thing) and agent_at(scene.world, cell):
        scene.met["closing"] += 1
        return
    happened(scene, number, hook, Event(outcome.verb, agent.held, thing, outcome.value))
    scene.changes[number] = Change([(thing, outcome.thing)], [(agent.held, outcome.held)])
    agent.held, scene.world.cells[cell] = outcome.held, outcome.thing


def closes(game: Any, thing: Thing, thing_after: Thing) -> bool:
    return game.walkable(thing) and not game.walkable(thing_after)


def meet(scene: Scene, number: int, other: Agent, meeting: Meeting | None) -> None:
    agent = scene.world.agents[number]
    if meeting is not None:
        happened(scene, number, "meet", Event(meeting.verb, agent.held, other.held, meeting.value))
        scene.changes[number] = Change([], [(agent.held, meeting.held), (other.held, meeting.other)])
        scene.others[number] = next(k for k, one in enumerate(scene.world.agents) if one is other)
        agent.held, other.held = meeting.held, meeting.other


def happened(scene: Scene, number: int, hook: str, event: Event) -> None:
    scene.events[number] = event
    scene.met[hook] += 1


# Joint work: who has met somebody instead does not take part.


def act_jointly(scene: Scene, joint: Joint) -> None:
    teams: dict[Cell, list[int]] = {}
    for number, action in enumerate(scene.choices):
        if action == joint.name and scene.events[number] is None and can_act(scene, number):
            cell, held = target_of(scene, number, action), scene.world.agents[number].held
            if covering_agent(scene, cell) is None and strength(joint.strength, held):
                teams.setdefault(cell, []).append(number)
    for cell, team in teams.items():
        join(scene, joint, cell, team)


def could_join(joint: Joint, held: Item, thing: Thing) -> bool:
    """Whether an agent with this hand could take part in some joint work on a thing."""
    answers = (joint.work(held, total, thing) for total in range(1, joint.most + 1))
    return strength(joint.strength, held) > 0 and any(answer is not None for answer in answers)


def join(scene: Scene, joint: Joint, cell: Cell, team: list[int]) -> None:
    thing = scene.world.cells[cell]
    workers = [scene.world.agents[number] for number in team]
    total = min(sum(strength(joint.strength, agent.held) for agent in workers), joint.most)
    scene.met["strength"] += total != len(team)
    for number, agent in zip(team, workers, strict=True):
        outcome = joint.work(agent.held, total, thing)
        if outcome is not None:
            happened(scene, number, "join", Event(outcome.verb, agent.held, thing, outcome.value))
            scene.changes[number] = Change([], [(agent.held, outcome.held)])  # its thing counts from then on
            agent.held, scene.world.cells[cell] = outcome.held, outcome.thing  # the same thing for all
            acted_on(scene, agent, cell)


# Move: all at once.


def move(scene: Scene) -> list[int]:
    """Turn and move the agents that can; returns the numbers of those that have moved."""
    going = settle(scene, turn(scene))
    for number, cell in going.items():
        agent = scene.world.agents[number]
        assert agent.cell is not None
        if scene.parts.moving.first:
            scene.stirred |= {agent.cell, cell}
        scene.met["walkable"] += scene.world.cells[cell] != "floor"
        agent.cell = cell
    return sorted(going)


def turn(scene: Scene) -> dict[int, Cell]:
    """Turn the agents that take a move; returns the walkable cells they want to move to."""
    wanted = {}
    for number, action in enumerate(scene.choices):
        if action not in (*MOVES, *TURNS):
            continue
        if not scene.parts.can_move(scene.before.agents[number].held):
            scene.met["can_move"] += 1
            continue
        agent = scene.world.agents[number]
        agent.facing = MOVES[action] if action in MOVES else (agent.facing + TURNS[action]) % 4
        cell = cell_ahead(agent)
        if action in WALKS and cell in scene.world.cells and scene.game.walkable(scene.world.cells[cell]):
            wanted[number] = cell
    return wanted


def cell_ahead(agent: Agent) -> Cell:
    assert agent.cell is not None
    down, right = AHEAD[agent.facing]
    return agent.cell[0] + down, agent.cell[1] + right


def settle(scene: Scene, wanted: dict[int, Cell]) -> dict[int, Cell]:
    """The moves that take place: agents that compete for a cell stay put, as do their followers."""
    contenders = Counter(wanted.values())
    going = {number: cell for number, cell in wanted.items() if contenders[cell] == 1}
    swapping = pairs_that_swap(scene.world.agents, going)
    if not scene.parts.moving.swaps:
        going = {number: cell for number, cell in going.items() if number not in swapping}
    while True:
        taken = {agent.cell for number, agent in enumerate(scene.world.agents) if number not in going}
        free = {number: cell for number, cell in going.items() if cell not in taken}
        if free == going:
            scene.met["swaps"] += len(swapping & set(going))
            return going
        going = free


def pairs_that_swap(agents: Sequence[Agent], going: Mapping[int, Cell]) -> set[int]:
    """The agents that want the cell of an agent that wants theirs."""
    wants = {(agents[number].cell, cell) for number, cell in going.items()}
    return {number for number, cell in going.items() if (cell, agents[number].cell) in wants}


# Enter: an agent that has just moved, and the thing now under its feet.


def enter(scene: Scene, moved: list[int]) -> None:
    for number in moved:
        agent = scene.world.agents[number]
        assert agent.cell is not None
        answer = scene.game.enter(agent.held, scene.world.cells[agent.cell])
        apply(scene, number, agent.cell, scene.dice.choose("enter", number, answer), "enter")


# Reply: the events of the step, agent by agent; then the slots change on their own.


def reply(scene: Scene) -> None:
    slots = scene.parts.slots_of(len(scene.world.agents))
    for number, event in enumerate(scene.events):
        if event is not None:
            reply_to(scene, slots, number, event)
    for name, slot in slots.items():
        tick_slot(scene, name, slot)
        scene.met["own_slots" if slot.own else "slots"] += scene.world.slots[name] != scene.before.slots[name]


def reply_to(scene: Scene, slots: Mapping[str, Slot], number: int, event: Event) -> None:
    """Of the slots that would reply to an event, let the one of the lowest rank do so, or the first."""
    things = scene.world.slots
    answers = {
        name: scene.dice.choose("reply", (number, name), answer_of(scene, slot, things[name], event))
        for name, slot in slots.items()
    }
    willing = [name for name, answer in answers.items() if answer is not None]
    if not willing:
        return
    first = min(willing, key=lambda name: rank_of(slots[name], things[name]))  # the first of equals
    scene.met["rank"] += first != willing[0]
    scene.met["reply"] += 1
    scene.replies[number] = first, answers[first]
    things[first] = answers[first].thing


def answer_of(scene: Scene, slot: Slot, thing: Thing, event: Event) -> Any:
    """What a slot replies, if it is asked about this verb."""
    if slot.reply is None:
        return None
    answer = slot.reply(thing, event)
    if slot.to and event.verb not in slot.to:
        scene.met["to"] += answer is not None
        return None
    return answer


def rank_of(slot: Slot, thing: Thing) -> int:
    return 0 if slot.rank is None else slot.rank(thing)


def tick_slot(scene: Scene, name: str, slot: Slot) -> None:
    thing = scene.world.slots[name]
    answer = scene.dice.choose("tick_slot", name, thing if slot.tick is None else slot.tick(thing))
    if isinstance(answer, Reply):
        scene.slot_ticks[name] = answer
        answer = answer.thing
    scene.met["tick_slot"] += answer != thing or name in scene.slot_ticks
    scene.world.slots[name] = answer


# Tick: all cells at once, then the hands, then the changes of single cells.


def tick(scene: Scene) -> None:
    tick_cells(scene)
    hands = scene.parts.hands
    for number, agent in enumerate(scene.world.agents):
        answer = agent.held if hands.tick is None else hands.tick(agent.held)
        held = scene.dice.choose("tick_hand", number, answer)
        scene.met["tick_hand"] += held != agent.held
        agent.held = held
    for index, change in enumerate(scene.parts.one_cell):
        change_one_cell(scene, index, change)


def tick_cells(scene: Scene) -> None:
    near, old = scene.parts.near, dict(scene.world.cells)
    for cell in sorted(old):
        if near is None:
            answer = scene.game.tick(old[cell])
        else:
            answer = near.tick(old[cell], count_near(near, old, cell))
            scene.met["near"] += answer != near.tick(old[cell], 0)
        thing = scene.dice.choose("tick", cell, answer)
        scene.met["tick" if near is None else "tick_near"] += thing != old[cell]
        scene.world.cells[cell] = thing


def count_near(near: Near, cells: Mapping[Cell, Thing], center: Cell) -> int:
    marks = [near.mark(thing) for cell, thing in cells.items() if is_near(near, center, cell)]
    return clipped(sum(marks), near.most)


def is_near(near: Near, center: Cell, cell: Cell) -> bool:
    if near.radius is None:
        return True
    distance = DISTANCES[near.shape](cell[0] - center[0], cell[1] - center[1])
    return cell != center and distance <= near.radius


def clipped(count: int, most: int) -> int:
    return max(0, min(count, most))


def change_one_cell(scene: Scene, index: int, change: OneCell) -> None:
    cells = scene.world.cells
    options = [cell for cell in sorted(cells) if change.qualifies(cells[cell])]
    if scene.before.time < change.since or not options:
        return
    if scene.dice.happens("one_cell", index, Fraction(change.weight, change.out_of)):
        cell = scene.dice.pick("one_cell", index, options)
        cells[cell] = change.becomes(cells[cell])
        scene.met["one_cell"] += 1


# Leave: all leave before anyone returns, in the order of the agents.


def leave(scene: Scene) -> None:
    world, parts = scene.world, scene.parts
    for agent in world.agents:
        if agent.cell is not None and parts.is_away(agent.held):
            agent.cell = None
            scene.met["away"] += 1
    for number, agent in enumerate(world.agents):
        if agent.cell is None and not parts.is_away(agent.held):
            come_back(scene, number, agent)


def come_back(scene: Scene, number: int, agent: Agent) -> None:
    world, leaving = scene.world, scene.parts.leaving
    assert leaving is not None
    passes = scene.game.walkable if leaving.back is None else leaving.back
    free = [cell for cell in sorted(world.cells) if agent_at(world, cell) is None]
    options = [cell for cell in free if passes(world.cells[cell])]
    if options:
        agent.cell = scene.dice.pick("return", number, options)
        scene.met["spawn"] += 1


# Reward: an agent that had ended before the step is paid nothing.


def reward(scene: Scene, shaping: float) -> list[float]:
    totals = [0.0] * len(scene.world.agents)
    for term in scene.game.rewards():
        weight = shaping if term.shaping else 1.0
        for number, points in enumerate(points_of(scene, term)):
            if not scene.before.agents[number].ended:
                totals[number] += weight * points
                scene.met[type(term).__name__] += points != 0
                scene.met["team"] += term.team and points != 0
                scene.met["shaping"] += term.shaping and weight * points != 0
    return totals


def points_of(scene: Scene, term: Any) -> list[float]:
    """What a term gives every agent: its own points, or those of all for the team, and common points."""
    own = [points_for(scene, term, number) for number in range(len(scene.world.agents))]
    if isinstance(term, Reward) and term.other:
        own = given_to_others(scene, own)
    common = points_for_all(scene, term)
    return [(sum(own) if term.team else points) + common for points in own]


def given_to_others(scene: Scene, own: Sequence[float]) -> list[float]:
    """The points of meetings, to the agents that were met; other events pay nothing."""
    paid = [0.0] * len(own)
    for number, other in scene.others.items():
        paid[other] += own[number]
        scene.met["other"] += own[number] != 0 and not scene.before.agents[other].ended
    return paid


def points_for(scene: Scene, term: Any, number: int) -> float:
    """What an agent's action or event is worth."""
    event, answer, before = scene.events[number], scene.replies[number], scene.before
    match term:
        case Price() if not before.agents[number].ended:
            return float(term.points(scene.choices[number], before.agents[number].held))
        case Reward() if event is not None and is_needed(scene, term, number):
            return float(term.points(event))
        case BySlot() if event is not None:
            return float(term.points(event, before.slots[term.slot]))
        case Replies() if answer is not None:
            return float(answer[1].value)
    return 0.0


def points_for_all(scene: Scene, term: Any) -> float:
    match term:
        case Tally():
            world = scene.world if term.now else scene.before
            return float(term.points(clipped(sum(map(term.count, world.cells.values())), term.most)))
        case Replies():
            return float(sum(answer.value for answer in scene.slot_ticks.values()))
    return 0.0


def is_needed(scene: Scene, term: Reward, number: int) -> bool:
    """Whether the supply was below the demand after the events of the agents with lower numbers."""
    supply, demand, before = term.supply, term.demand, scene.before
    if supply is None or demand is None:
        return True
    lacking = sum(demand(thing) - supply(thing, None) for thing in before.cells.values())
    lacking -= sum(supply(None, agent.held) for agent in before.agents)
    for change in (change for earlier, change in scene.changes.items() if earlier < number):
        for old, new in change.things:
            lacking -= supply(new, None) - supply(old, None)
            lacking += 0 if term.demand_at_start else demand(new) - demand(old)
        for mine, other in change.hands:
            lacking -= 0 if term.hands_at_start else supply(None, other) - supply(None, mine)
    scene.met["supply"] += lacking <= 0
    return lacking > 0


# Finish: an agent that has ended stays ended.


def finish(scene: Scene) -> None:
    ends, world = scene.parts.ends, scene.world
    done = nothing_remains(scene)
    for agent, event in zip(world.agents, scene.events, strict=True):
        final = event is not None and event.verb in ends.verbs
        finished = not agent.ended and ends.hand is not None and ends.hand(agent.held)
        scene.met["final_verbs"] += final
        scene.met["finished"] += finished
        agent.ended = agent.ended or final or finished or done


def nothing_remains(scene: Scene) -> bool:
    """Whether the sum over the board, the hands and the slots is 0, if the game has such a sum."""
    ends, world, sums = scene.parts.ends, scene.world, {}
    if ends.remaining is not None:
        sums["remaining"] = sum(map(ends.remaining, world.cells.values()))
    if ends.in_hands is not None:
        sums["in_hands"] = sum(ends.in_hands(agent.held) for agent in world.agents)
    if ends.in_slots is not None:
        sums["in_slots"] = sum(ends.in_slots(name, thing) for name, thing in world.slots.items())
    total = sum(sums.values())
    for name, part in sums.items():  # those that decide it
        scene.met[name] += (total == 0) != (len(sums) > 1 and total == part)
    return bool(sums) and total == 0


# Reset: the board is generated, things are scattered, letters and hands start, things are placed, and slots
# start, in this order.


@dataclass(frozen=True)
class Start:
    world: World
    repaired: bool  # cells of the board were invalid
    met: Counter[str]


def reset(
    game: Any,
    layouts: Sequence[Sequence[str]],
    num_agents: int,
    dice: Dice,
    *,
    random_start: bool = False,
    given: Sequence[str] | None = None,
) -> Start:
    """The first state; layouts, and a board that is given, are padded to one size."""
    parts, met = PlainParts(game), Counter[str]()
    drawn = letters_of(given or board_of(game, parts, layouts, num_agents, dice, met))
    met["any_board"] += given is not None
    known = {*"".join(map("".join, layouts)), *" #123456789"}
    letters = {cell: letter if letter in known else "#" for cell, letter in drawn.items()}
    agents = [Agent(cell, MOVES["up"], None) for cell in starts_of(letters, num_agents)]
    if random_start:
        start_anywhere(game, letters, agents, dice, met)
    world = World({cell: thing_of(game, letter) for cell, letter in letters.items()}, agents, {})
    scattered = scatter(parts.scattered, world, dice)
    for cell, thing in world.cells.items():
        if agent_at(world, cell) is None and cell not in scattered:
            world.cells[cell] = dice.choose("start", cell, game.start(thing))
            met["start"] += world.cells[cell] != thing
    for number, agent in enumerate(agents):
        agent.held = dice.choose("hand", number, game.hand(number))
    placed = place(parts.placed, world, floor_of(game, letters), dice)
    for agent in agents:
        agent.cell = None if parts.is_away(agent.held) else agent.cell
    for name, slot in parts.slots_of(num_agents).items():
        world.slots[name] = first_of_slot(world, dice, name, slot.start)
    met.update(scattered=len(scattered), placed=placed, hand=sum(agent.held is not None for agent in agents))
    return Start(world, letters != drawn, met)


def letters_of(rows: Sequence[str]) -> dict[Cell, str]:
    return {(row, column): letter for row, line in enumerate(rows) for column, letter in enumerate(line)}


def board_of(
    game: Any,
    parts: PlainParts,
    layouts: Sequence[Sequence[str]],
    num_agents: int,
    dice: Dice,
    met: Counter[str],
) -> Sequence[str]:
    """The board that the game generates, or one of the layouts."""
    if parts.generated is not None:
        sketch: Any = PlainSketch(game.legend, layouts[0], num_agents, dice)
        codes = parts.generated.draw(sketch).reshape(sketch.height, sketch.width).tolist()
        rows = ["".join(sketch.letters[code] for code in line) for line in codes]
        met["generate"] += rows != list(layouts[0])
        return rows
    index = dice.pick("layout", 0, range(len(layouts))) if len(layouts) > 1 else 0
    met["layouts"] += index
    return layouts[index]


def starts_of(letters: Mapping[Cell, str], num_agents: int) -> list[Cell]:
    """Where agents start: at the digits, then on blank cells in reading order."""
    starts = {letter: cell for cell, letter in letters.items() if letter.isdigit()}
    blank = [cell for cell in sorted(letters) if letters[cell] == " "]
    return [*(starts[digit] for digit in sorted(starts)), *blank][:num_agents]


def start_anywhere(
    game: Any, letters: Mapping[Cell, str], agents: Sequence[Agent], dice: Dice, met: Counter[str]
) -> None:
    """Let every agent start on a floor cell that it can walk to on the board, facing anywhere."""
    floor, taken = floor_of(game, letters), set[Cell | None]()
    for number, agent in enumerate(agents):
        options = [cell for cell in sorted(room_of(floor, agent.cell)) if cell not in taken]
        cell = dice.pick("start cell", number, options)
        met["random_start"] += cell != agent.cell
        agent.cell, agent.facing = cell, dice.pick("facing", number, range(4))
        taken.add(cell)


def room_of(floor: set[Cell], start: Cell | None) -> set[Cell]:
    """The floor cells that can be reached from one of them."""
    room, todo = set(), [start]
    while todo:
        cell = todo.pop()
        if cell in floor and cell not in room:
            room.add(cell)
            todo += [(cell[0] + down, cell[1] + right) for down, right in AHEAD.values()]
    return room


def scatter(part: Scattered | None, world: World, dice: Dice) -> set[Cell]:
    """Turn floor cells without an agent into the scattered thing; returns which."""
    if part is None:
        return set()
    bare = [cell for cell, old in world.cells.items() if old == "floor" and agent_at(world, cell) is None]
    scattered = {cell for cell in bare if dice.happens("scattered", cell, part.density)}
    world.cells.update(dict.fromkeys(scattered, part.thing))
    return scattered


def place(parts: Sequence[Placed], world: World, floor: set[Cell], dice: Dice) -> int:
    """Put things on the board's floor, where it still is floor, one after another; returns how many."""
    height, width = (1 + max(cell[axis] for cell in world.cells) for axis in (0, 1))
    things = [one for one in parts for _ in range(one.count)]
    taken: list[Cell] = []
    for number, one in enumerate(things):
        strengths = sorted(strength(one.strength, agent.held) for agent in world.agents)
        answer = one.thing(sum(strengths[: one.weakest]))
        options = [
            (row, column)
            for row, column in sorted(floor)
            if world.cells[row, column] == "floor"
            and agent_at(world, (row, column)) is None
            and min(row, column, height - 1 - row, width - 1 - column) >= one.margin
            and all(abs(row - r) + abs(column - c) >= one.apart for r, c in taken)
            and (row, column) not in taken
        ]
        if options:
            cell = dice.pick("placed", number, options)
            world.cells[cell] = dice.choose("placed", number, answer)
            taken.append(cell)
    return len(taken)


def floor_of(game: Any, letters: Mapping[Cell, str]) -> set[Cell]:
    return {cell for cell, letter in letters.items() if thing_of(game, letter) == "floor"}


def thing_of(game: Any, letter: str) -> Thing:
    return "floor" if letter.isdigit() else {" ": "floor", "#": "wall", **game.legend}[letter]


def first_of_slot(world: World, dice: Dice, slot: str, thing: Any) -> Thing:
    if isinstance(thing, Counted):
        return clipped(sum(map(thing.count, world.cells.values())), thing.most)
    first: Thing = dice.choose("slot", slot, thing)
    return first
