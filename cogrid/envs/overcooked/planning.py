"""The plan of one step: which cook does what, and who makes way for whom."""

from __future__ import annotations

from typing import NamedTuple

from cogrid._core.compile.actions import INTERACT
from cogrid.author import Item, Thing
from cogrid.envs.overcooked.floor_plan import (
    FAR,
    Cuisine,
    FloorPlan,
    hops_to,
    missing,
    steps_between,
    steps_to,
)
from cogrid.envs.overcooked.objects import DISH, Counter, Pot, Soup

AWAY = 50  # steps charged for what somebody else must bring
LATER = 1000  # urgency of what only the next soup needs
LEAD = 8  # a dish whose soup is ready in this many steps is more urgent than an ingredient
BURDEN = 6  # cost in steps of putting something down first
CROWD, AROUND = 2, 20  # detour in steps around a cook who makes way, and around one who does not


class Scene(NamedTuple):
    """A state in plain values."""

    floor: FloorPlan
    things: list[Thing]
    pos: list[int]
    facing: list[int]
    held: list[Item]


class Need(NamedTuple):
    """An item, or an empty hand (None), that one of some cells needs."""

    when: int  # the lowest is the most urgent
    item: Item
    targets: tuple[int, ...]


class Errand(NamedTuple):
    """The cell to interact with next."""

    when: int
    goal: int


class Plan:
    """What all cooks do next; cooks with the same scene and memory make the same plan."""

    def __init__(self, scene: Scene, trusted: list[bool], resting: list[bool]) -> None:
        self.scene, self.floor = scene, scene.floor
        self.room = [self.floor.room[cell] for cell in scene.pos]
        self.rooms = frozenset(self.room)
        within = [
            i
            for i in self.floor.game.known
            if any(self.floor.rooms[c] & self.rooms for c in self.floor.piles[i])
        ]
        self.larder = tuple(within)  # ingredients that somebody can take
        self.cooks = [a for a, trust in enumerate(trusted) if trust]
        self.free = [a for a in self.cooks if not resting[a]]  # cooks without an errand
        self.avoid = frozenset((c, CROWD if t else AROUND) for c, t in zip(scene.pos, trusted, strict=True))
        self.standing = {c for c, trust in zip(scene.pos, trusted, strict=True) if not trust}
        laden = [(c, self.floor.game.lying(scene.things[c])) for c in self.floor.counters]
        self.lying = {c: item for c, item in laden if item is not None}  # items not yet claimed
        self.clogged: set[int] = set()  # counters that somebody waits for
        self.errands: dict[int, Errand] = {}
        self._share_out()
        self.corners: dict[int, int] = {}  # cooks who must get out of a corner, and how many cells it has
        self.aside: dict[int, int] = {}  # those of them without an errand, and the goal that they block
        self._find_corners()
        self.taken = set(self.standing)  # cells after this step
        self.next: dict[int, int] = {}  # the next cell of each cook
        for agent in sorted(self.cooks, key=self._rank):
            if agent not in self.next:
                self._place(agent, None)
        self.actions = [self._action(agent) for agent in range(len(scene.pos))]

    def surprised_by(self, agent: int, after: Scene) -> bool:
        """Whether an agent whose hand has not changed did something other than planned."""
        action = self.floor.actions[self.actions[agent]]
        pos, facing = self.scene.pos[agent], self.scene.facing[agent]
        if action.intent == INTERACT:
            faced = pos + self.floor.strides[facing]
            return after.things[faced] == self.scene.things[faced]
        expected = self.next[agent] if action.walks else pos, action.facing_after(facing)
        return agent in self.next and expected != (after.pos[agent], after.facing[agent])

    # Who does what: needs are met from hands first, then by errands of the remaining cooks.

    def _share_out(self) -> None:
        for needs in self._needs():
            for need in [need for need in needs if not self._meet_from_hand(need)]:
                self._meet_by_errand(need)
        for agent in self.cooks:
            if agent not in self.errands:
                self._send(agent, self._junk(agent) if self.scene.held[agent] is None else None, FAR)

    def _needs(self) -> tuple[list[Need], list[Need]]:
        """What is needed now, and for the soups after those that cook; the most urgent first."""
        floor = self.floor
        soups, jobs, rest = self._jobs()
        now, later = [Need(0, soup, floor.servings) for soup in soups], []
        for cell, (pot, lacks) in sorted(jobs.items()):
            wait = max(0, pot.timer)
            if lacks:
                now += [Need(LEAD + len(lacks), item, (cell,)) for item in lacks]
            else:
                now += [Need(0, None, (cell,))] if pot.timer < 0 else []
                now += [Need(wait, DISH, (cell,))]
                later += [Need(LATER + wait, i, (cell,)) for i in self._lacks(rest, Pot((), -1)) or ()]
        return sorted(now, key=lambda need: need.when), sorted(later, key=lambda need: need.when)

    def _jobs(self) -> tuple[list[Soup], dict[int, tuple[Pot, tuple[str, ...]]], Cuisine]:
        """Soups to serve, pots to work at with what each lacks, and the game for further soups.

        Soups that are furthest along get the orders first. If no pot has anything wanted, one is cleared.
        """
        game, soups, jobs = self.floor.game, [], {}
        for item in (*self.scene.held, *self.lying.values()):
            if isinstance(item, Soup) and game.value_of(item.items) >= 0:
                soups.append(item)
                game = game.after(item.items)
        things = ((cell, self.scene.things[cell]) for cell in self.floor.pots)
        pots = [(cell, pot) for cell, pot in things if isinstance(pot, Pot) and self._within_reach(cell)]
        unwanted = []
        for cell, pot in sorted(pots, key=lambda one: (one[1].timer < 0, one[1].timer, -len(one[1].items))):
            lacks = self._lacks(game, pot)
            if lacks is not None:
                jobs[cell] = pot, lacks
                game = game.after(tuple(sorted(pot.items + lacks)))
            elif pot.items:
                unwanted.append((cell, pot))
        if len(unwanted) == len(pots) and self._lacks(game, Pot((), -1)) is not None:
            jobs |= {cell: (pot, self._fill(game, pot)) for cell, pot in unwanted[:1]}
        return soups, jobs, game

    def _within_reach(self, cell: int) -> bool:
        return not self.standing.issuperset(self.floor.beside[cell])

    def _lacks(self, game: Cuisine, pot: Pot) -> tuple[str, ...] | None:
        """What a pot lacks for the best soup that it can become; None if that soup is not wanted."""
        lacks = missing(game, self.larder, pot.items) if pot.timer < 0 else ()
        return lacks if lacks is None or game.value_of(tuple(sorted(pot.items + lacks))) >= 0 else None

    def _fill(self, game: Cuisine, pot: Pot) -> tuple[str, ...]:
        return (missing(game, self.larder, pot.items) if pot.timer < 0 else None) or ()

    def _meet_from_hand(self, need: Need) -> bool:
        """Assign the need to the nearest cook who holds the item."""
        holders = [a for a in self.free if self.scene.held[a] == need.item is not None]
        hops = hops_to(self.floor, need.targets, self.rooms)
        offers = [
            (hops[self.room[a]], self._walk(a, c) + rest, a, c)
            for a in holders
            for c, rest in self._goals(a, need)
        ]
        _, steps, agent, goal = min(offers, default=(FAR, FAR, 0, 0))
        if steps < FAR:
            self._send(agent, goal, need.when)
        return steps < FAR

    def _meet_by_errand(self, need: Need) -> None:
        """Send the cook who can finish it soonest, unless the item lies ready for one nearer the target."""
        floor, lying = self.floor, [c for c, item in self.lying.items() if item == need.item]
        piles = floor.piles.get(str(need.item), [])
        sources = need.targets if need.item is None else lying + piles
        hops = hops_to(floor, need.targets, self.rooms)
        nearest = {c: min(hops.get(room, FAR) for room in floor.rooms[c]) for c in (*lying, *piles)}
        # Nobody brings what cooks nearer to the target can take from a pile of their own.
        nearest |= dict.fromkeys(piles, min((nearest[c] for c in piles), default=FAR))
        offers = []
        for agent in self.free:
            room, burdened = self.room[agent], self.scene.held[agent] is not None
            goals = [] if burdened and need.when >= LATER else self._goals(agent, need)
            for source in sources if goals else ():
                if room in floor.rooms[source] and nearest.get(source, FAR) >= hops[room]:
                    rest = min(steps_between(floor, source, (goal,), room) + rest for goal, rest in goals)
                    steps = self._walk(agent, source) + rest + BURDEN * burdened
                    offers.append((hops[room], steps, agent, source))
        hop, _, agent, source = min(offers, default=(FAR, FAR, 0, 0))
        ready = [c for c in lying if nearest[c] < hop]
        if ready:
            del self.lying[ready[0]]
        elif hop < FAR:
            self.lying.pop(source, None)
            self._send(agent, source if self.scene.held[agent] is None else None, need.when)

    def _send(self, agent: int, goal: int | None, when: int) -> None:
        """Send an agent to a goal, or without one to where it can put down what it holds."""
        goal = self._place_to_put(agent) if goal is None else goal
        if goal is not None:
            self.errands[agent] = Errand(when, goal)
            self.free = [a for a in self.free if a != agent]

    def _walk(self, agent: int, goal: int) -> int:
        return steps_to(self.floor, goal, self.avoid)[self.scene.pos[agent]]

    def _goals(self, agent: int, need: Need) -> list[tuple[int, int]]:
        """Where the agent can bring it, a target or a counter on the way, with the remaining steps."""
        floor, room = self.floor, self.room[agent]
        hops = hops_to(floor, need.targets, self.rooms)
        if room not in hops:
            return []
        if hops[room] == 0:  # the cook who takes the dish will have to serve the soup
            onward = floor.servings if need.item == DISH else ()
            inside = [c for c in need.targets if room in floor.rooms[c]]
            return [(c, min(AWAY, steps_between(floor, c, onward, room)) if onward else 0) for c in inside]
        over = [c for c in floor.counters if room in floor.rooms[c]]
        over = [c for c in over if min(hops.get(r, FAR) for r in floor.rooms[c]) < hops[room]]
        free = [c for c in over if self.scene.things[c] == Counter(None)]
        last_is_kept = need.when >= LATER or (
            self._soups_come(room, over) and not isinstance(need.item, Soup)
        )
        if last_is_kept and len(over) > 1 and len(free) < 2:  # keep one for urgent items and for soups
            return []
        self.clogged.update(() if free else over)
        if not free and all(self._comes(room, c) for c in over):  # waiting here would be waiting for oneself
            return []
        return [(c, min(AWAY, steps_between(floor, c, need.targets))) for c in free or over]

    def _soups_come(self, room: int, counters: list[int]) -> bool:
        """Whether soups are handed over these counters into this room."""
        hops = hops_to(self.floor, self.floor.servings, self.rooms)
        others = {r for c in counters for r in self.floor.rooms[c] & self.rooms} - {room}
        return room in hops and any(hops.get(r, 0) > hops[room] for r in others)

    def _comes(self, room: int, counter: int) -> bool:
        """Whether what lies on a counter is for this room rather than for the others that reach it."""
        item = self.floor.game.lying(self.scene.things[counter])
        targets = self.floor.servings if isinstance(item, Soup) else tuple(self.floor.pots)
        hops = hops_to(self.floor, targets, self.rooms)
        others = self.floor.rooms[counter] & self.rooms - {room}
        return hops.get(room, FAR) <= min((hops.get(r, FAR) for r in others), default=FAR)

    def _place_to_put(self, agent: int) -> int | None:
        """A free counter, preferably not between two rooms; otherwise a pot, which takes any ingredient."""
        floor, room, held = self.floor, self.room[agent], self.scene.held[agent]
        places = [
            c for c in (*floor.counters, *floor.pots) if room in floor.rooms[c] and self._takes(held, c)
        ]

        def cost(cell: int) -> tuple[bool, int]:
            shared = len(floor.rooms[cell] & self.rooms) > 1
            return cell in floor.pots, self._walk(agent, cell) + BURDEN * shared

        return None if held is None else min(places, key=cost, default=None)

    def _junk(self, agent: int) -> int | None:
        """Something to take away from a counter that somebody waits for."""
        junk = [c for c in self.lying if c in self.clogged and self.room[agent] in self.floor.rooms[c]]
        return min(junk, key=lambda c: self._walk(agent, c), default=None)

    def _takes(self, held: Item, cell: int) -> bool:
        return self.floor.game.interact(held, self.scene.things[cell]) is not None

    # Who goes where: by rank, cooks choose a cell and push whoever stands in it out of the way: priority
    # inheritance with backtracking (Okumura et al. 2019).

    def _is_there(self, agent: int) -> bool:
        return agent in self.errands and self.scene.pos[agent] in self.floor.beside[self.errands[agent].goal]

    def _can_act(self, agent: int) -> bool:
        return self._is_there(agent) and self._takes(self.scene.held[agent], self.errands[agent].goal)

    def _find_corners(self) -> None:
        """Find cooks trapped where another must walk; unless the other can step aside, they get out first."""
        beside = self.floor.beside
        ways = {a: self._way(a) for a in self.errands if any(len(beside[c]) > 2 for c in self._space(a))}
        for agent in self.cooks:
            space, errand = self._space(agent), self.errands.get(agent)
            if errand is not None and not space.isdisjoint(beside[errand.goal]):
                continue
            goals = [self.errands[a].goal for a, way in ways.items() if a != agent and space <= way]
            if goals:
                self.corners[agent] = len(space)
            if goals and errand is None:
                self.aside[agent] = goals[0]

    def _way(self, agent: int) -> set[int]:
        """The cells on the agent's path to its goal, ignoring other agents."""
        steps, cell = steps_to(self.floor, self.errands[agent].goal), self.scene.pos[agent]
        way = set()
        while 0 < steps[cell] < FAR:
            cell = min(self.floor.beside[cell], key=steps.__getitem__)
            way.add(cell)
        return way

    def _space(self, agent: int) -> set[int]:
        """The cells that the agent can reach if nobody else moves."""
        others, todo = {*self.scene.pos} - {self.scene.pos[agent]}, [self.scene.pos[agent]]
        found = {*todo}
        while todo:
            new = {*self.floor.beside[todo.pop()]} - found - others
            found |= new
            todo += new
        return found

    def _rank(self, agent: int) -> tuple[int, int, int]:
        when = self.errands[agent].when if agent in self.errands else FAR
        if self._can_act(agent):
            return 0, when, agent
        if agent in self.corners:
            return 1, self.corners[agent], agent
        return 4 if when >= LATER else 3 if self._is_there(agent) else 2, when, agent

    def _place(self, agent: int, pusher: int | None) -> bool:
        """Choose the agent's next cell; returns whether its current cell becomes free."""
        pos, here = self.scene.pos, self.scene.pos[agent]
        for cell in self._choices(agent, pusher):
            if cell in self.taken or (pusher is not None and cell == pos[pusher]):
                continue
            self.next[agent] = cell
            self.taken.add(cell)
            there = [a for a in self.cooks if pos[a] == cell and a not in self.next]
            if cell == here or not there or self._place(there[0], agent):
                walks = cell != here and self.floor.actions[self._toward(agent, cell)].walks
                self.taken.update(() if walks else (here,))
                return walks
        self.next[agent] = here
        self.taken.add(here)
        return False

    def _choices(self, agent: int, pusher: int | None) -> list[int]:
        """Candidate next cells, best first; without an errand, preferably away from the pusher's goal."""
        here, errands = self.scene.pos[agent], self.errands
        if self._can_act(agent):
            return [here]
        steps = off = [0] * len(self.floor.beside)
        if agent in errands:
            steps = steps_to(self.floor, errands[agent].goal, self.avoid)
        elif agent in self.aside:
            steps = [-far for far in steps_to(self.floor, self.aside[agent])]
        elif pusher is not None and pusher in errands:
            off = steps_to(self.floor, errands[pusher].goal)
        ahead = here + self.floor.strides[self.scene.facing[agent]]
        cells = [here, *self.floor.beside[here]]
        return sorted(cells, key=lambda c: (steps[c], c != here, c in self.scene.pos, -off[c], c != ahead))

    def _action(self, agent: int) -> int:
        here, noop = self.scene.pos[agent], len(self.floor.actions) - 1
        if self.next.get(agent, here) != here:
            return self._toward(agent, self.next[agent])
        if not self._is_there(agent):
            return noop
        goal = self.errands[agent].goal
        if here + self.floor.strides[self.scene.facing[agent]] != goal:
            return self._toward(agent, goal)
        return self.floor.interact if self._can_act(agent) else noop

    def _toward(self, agent: int, cell: int) -> int:
        wanted = self.floor.strides.index(cell - self.scene.pos[agent])
        return self.floor.toward[self.scene.facing[agent]][wanted]
