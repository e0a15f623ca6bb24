"""Write a page for each registered environment, generated from its spec, so that none can be out of date."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import inspect
import io
import re
import textwrap
import tokenize
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from PIL import Image

import cogrid
from cogrid._core.author.acting import Act, Joint
from cogrid._core.author.agents import Away
from cogrid._core.author.cells import Near, OneCell
from cogrid._core.author.layout import DIGITS
from cogrid._core.author.part import Part
from cogrid._core.author.rewards import AnyReward, BySlot, Price, Replies, Reward, Tally
from cogrid._core.author.values import Meeting, Outcome
from cogrid._core.compile.actions import ACTION_SETS, ENTER, FURTHER, INTERACT, TOGGLE
from cogrid._core.compile.asking import outcomes_of, ticks_of
from cogrid._core.compile.intents import joint_intent
from cogrid._core.compile.spec import OBSERVATIONS, Spec
from cogrid._core.rules import compile_rules
from cogrid._core.state.reset import reset
from cogrid._io.messages import several
from cogrid.backend import rng
from cogrid.envs.overcooked.floor_plan import soup_steps
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.generated import HELD_OUT, TRAINING, GeneratedKitchen, boards
from cogrid.envs.overcooked.lineage import DIFFERENCES
from cogrid.envs.overcooked.objects import Soup
from cogrid.envs.overcooked_v2.game import KitchenV2
from cogrid.envs.registry import family_of, spec_of

ROOT = Path(__file__).parents[2]
LINEAGE, V2 = "OvercookedAI", "OvercookedV2"
SMALL = 240  # pixels of a thumbnail's longer side, twice what the site shows
#: Kinds of parts that a page has words for; of others it has the first sentence of their docstring.
TOLD = (Act, Joint, Away, Near, OneCell)


def pages() -> dict[str, str]:
    """File name -> Markdown: an overview, and one page for each id."""
    specs = {id: spec_of(id, {}, ()) for id in cogrid.registered()}
    own = {f"{id}.md": page(id, spec) for id, spec in specs.items() if group(id) is None}
    lineage, v2 = ({id: spec for id, spec in specs.items() if group(id) == name} for name in (LINEAGE, V2))
    shared = {f"{LINEAGE}.md": lineage_page(lineage), f"{V2}.md": v2_page(v2)}
    return {"index.md": overview(specs)} | shared | own


def group(id: str) -> str | None:
    """The page that an id shares with others of its family."""
    return next((name for name in (LINEAGE, V2) if id.startswith(f"{name}-")), None)


def overview(specs: dict[str, Spec]) -> str:
    """A grid of small pictures for each family, which lead to the pages."""
    families: dict[str, list[str]] = {}
    for id in specs:
        families.setdefault(group(id) or family_of(id), []).append(id)
    body = [
        "These pages are generated from the specs when the site is built.",
        *(part for name, ids in families.items() for part in grid(name, {id: specs[id] for id in ids})),
        "```{toctree}\n:hidden:\n\n" + "\n".join(dict.fromkeys(group(id) or id for id in specs)) + "\n```",
    ]
    return paragraphs("# Environments", *body)


def grid(name: str, specs: dict[str, Spec]) -> Iterator[str]:
    """The section of a family: a card for each of its ids."""
    title = name if name in (LINEAGE, V2) else words(name).capitalize()
    yield f"## {title}"
    yield family(next(iter(specs)))
    cards = (
        f"- {thumbnail(spec)}\n\n  [{id}]({link(id)})\n"  # what follows a tag without a gap would be HTML
        f"  {spec.height} × {spec.width}, {several(spec.num_agents, 'agent')}, {spec.max_steps:,} steps"
        for id, spec in specs.items()
    )
    yield '<div class="gallery">'
    yield "\n".join(cards)
    yield "</div>"


def link(id: str) -> str:
    """The page of an id, or its section in the page that it shares with others."""
    return f"{id}.md" if group(id) is None else f"{group(id)}.md#{id.lower()}"


def page(id: str, spec: Spec) -> str:
    return paragraphs(
        f"# {id}",
        inspect.getdoc(spec.game) or "",
        f'`cogrid.make("{id}")`; the [options](#options) are keyword arguments.',
        family(id),
        picture(spec),
        "## How to play",
        spec.how_to_play,
        "## Layout",
        *(f"```text\n{layout.text}\n```" for layout in spec.layout),
        letters(spec),
        *(generated(id, spec) if isinstance(spec.game, GeneratedKitchen) else ()),
        "## In numbers",
        numbers(spec),
        "## Actions",
        actions(spec),
        "## Rules",
        rules(spec),
        "## Rewards",
        rewards(spec),
        "## Observations",
        observations(spec),
        "## Options",
        options(spec),
        "## Versions",
        versions(id),
    )


def family(id: str) -> str:
    """A link to the page of the family, if it has one."""
    name = family_of(id)
    there = ROOT / "docs" / "families" / f"{name}.md"
    return f"Scores, scripts and speed: [family page](../families/{name}.md)." if there.is_file() else ""


def generated(id: str, spec: Spec) -> Iterator[str]:
    """For generated boards: their guarantees, some samples, and the published ones."""
    rules = compile_rules(spec, "numpy")
    seeds = (*TRAINING, *HELD_OUT)
    letters = np.array([*spec.game.legend, *DIGITS])
    codes = boards(spec, seeds)
    steps = [soup_steps(rules, reset(rules, rng.key(seed))) for seed in seeds]
    yield "## Kitchens"
    yield (
        "The board above shows the limits: the maximum size, and the maximum number of everything. "
        "Every reset generates a kitchen within them from its key, with one room, or with two rooms and a "
        "counter between them. In each room a single cook can reach everything there, even if the others "
        "never move, and whatever the other room needs can be passed over the counter, so a soup can always "
        "be served. With two rooms, one has a pot and the other has onions. With `random_start=True` cooks "
        "may start where they block each other until somebody makes way."
    )
    yield (
        f"Seeds {TRAINING.start} to {TRAINING.stop - 1} are the training set, {HELD_OUT.start} to "
        f"{HELD_OUT.stop - 1} the held-out test set:"
    )
    yield (
        "```py\nimport cogrid\nfrom cogrid.envs.overcooked import HELD_OUT, TRAINING, boards\n\n"
        f'spec = cogrid.make("{id}").spec\n'
        f'learn = cogrid.make_vec("{id}", num_envs=64, pool=boards(spec, TRAINING))\n'
        f'judge = cogrid.make_vec("{id}", num_envs=20, pool=boards(spec, HELD_OUT))\n```'
    )
    low, middle, high = (int(np.percentile(steps, share)) for share in (0, 50, 100))
    yield (
        "`soup_steps(rules, state)` of `cogrid.envs.overcooked` measures how hard a kitchen is: "
        "the fewest steps in which the cooks can carry everything for one soup. For the published seeds "
        f"it is {low} to {high}, with a median of {middle}. Seeds 0 to 3, each with its number of steps:"
    )
    for seed in range(4):
        text = "\n".join("".join(row) for row in letters[codes[seed]])
        yield f"```text\n{text}\n```\n\nSeed {seed}: {steps[seed]} steps."


def lineage_page(specs: dict[str, Spec]) -> str:
    """All files of overcooked_ai: what they share, what differs, and every board with its orders."""
    usual = next(iter(specs.values()))
    return paragraphs(
        "# Kitchens of overcooked_ai",
        f"Each of overcooked_ai's {len(specs)} layout files has an id, with the settings of the file: "
        "orders, values, times, number of agents, and pots that start on interact with an empty hand "
        '(`cook_start="interact"`). '
        "`nox -s oracles` compares every one of them with the package `overcooked`, step by step. "
        "The boards can also be used by file name in other kitchens, as in "
        '`cogrid.make("Overcooked-CrampedRoom-V0", layout="schelling_s")`; this changes only the board.',
        "## What differs",
        table(("where", "how, and why"), DIFFERENCES.items()),
        "## Rules",
        rules(usual),
        "## Rewards",
        rewards(usual),
        "## Boards and orders",
        *(part for id, spec in specs.items() for part in lineage_part(id, spec)),
    )


def lineage_part(id: str, spec: Spec) -> Iterator[str]:
    game, (layout,) = spec.game, spec.layout
    assert isinstance(game, Kitchen)
    yield f"### {id}"
    yield f"The file `{layout.name}`, {spec.num_agents} agent{'s' * (spec.num_agents > 1)}."
    yield picture(spec)
    yield spec.how_to_play
    yield f"```text\n{layout.text}\n```"
    soups = [item.items for item in spec.symbols.items if isinstance(item, Soup)]
    rows = [
        (
            ", ".join(soup),
            f"{game.value_of(soup):g}",
            game.time_of(soup),
            "twice" * (soup in game.bonus_orders),
        )
        for soup in sorted(soups, key=lambda soup: (len(soup), soup))
        if game.value_of(soup)
    ]
    yield table(("soup that scores", "points", "steps to cook", "bonus"), rows)
    yield "Further options are those of [Overcooked-CrampedRoom-V0](Overcooked-CrampedRoom-V0.md)."


def v2_page(specs: dict[str, Spec]) -> str:
    """All kitchens of OvercookedV2: rules, rewards, planes, options, and every board with its recipes."""
    usual = specs[f"{V2}-GroundedCoordSimple-V0"]
    planes = usual.game.planes().names
    return paragraphs(
        "# Kitchens of OvercookedV2",
        f"The {len(specs)} layouts of JaxMARL's `overcooked_v2`, with its rules, planes and options, "
        "compared with `jaxmarl` 0.2.0 step by step (`nox -s oracles`). "
        "[Moving over](../moving-over.md#overcookedv2) maps its options to ours. A recipe is sampled "
        "uniformly for each episode; indicators and lit buttons show it. The tables are for a "
        "kitchen with three ingredients.",
        "## Rules",
        rules(usual),
        "## Rewards",
        rewards(usual),
        "## Planes",
        f'`observation="lossless"`, (rows, columns, {len(planes)}): ' + ", ".join(planes) + ".",
        "## Options",
        options(usual),
        "## Boards and recipes",
        *(part for id, spec in specs.items() for part in v2_part(id, spec)),
    )


def v2_part(id: str, spec: Spec) -> Iterator[str]:
    game, (layout,) = spec.game, spec.layout
    assert isinstance(game, KitchenV2)
    yield f"### {id}"
    agents = f"{spec.num_agents} agent{'s' * (spec.num_agents > 1)}"
    recipes = "; ".join(", ".join(recipe) for recipe in game.possible)
    yield f"{agents}, {len(game.planes().names)} planes. Recipes: {recipes}."
    yield picture(spec)
    yield spec.how_to_play
    yield f"```text\n{layout.text}\n```"


def picture(spec: Spec) -> str:
    """A picture of the start of an episode, embedded in the page."""
    return embedded(image(spec), "the start of an episode")


def thumbnail(spec: Spec) -> str:
    """The same, small and in few colours; the words beside it say what it is."""
    small = image(spec).copy()
    small.thumbnail((SMALL, SMALL))
    return embedded(small.quantize(48), "")


@functools.cache
def image(spec: Spec) -> Image.Image:
    """The board at the start of an episode."""
    env = cogrid.CoGridEnv(spec, render_mode="rgb_array")
    env.reset(seed=0)
    return Image.fromarray(np.asarray(env.render()))


def embedded(shown: Image.Image, words: str) -> str:
    file = io.BytesIO()
    shown.save(file, "PNG", optimize=True)
    data = b64encode(file.getvalue()).decode()
    return f'<img alt="{words}" src="data:image/png;base64,{data}">'


def letters(spec: Spec) -> str:
    used = {letter for layout in spec.layout for row in layout.letters for letter in row}
    names = [f"`{c}` {words(spec.game.kind(spec.game.legend[c]))}" for c in sorted(used) if c.strip()]
    starts = ", digits where the agents start" if any(layout.starts for layout in spec.layout) else ""
    return f"Letters: {', '.join(names)}, blank floor{starts}."


def numbers(spec: Spec) -> str:
    n_things, n_items = len(spec.symbols.things), len(spec.symbols.items)
    rows = [
        ("agents", spec.num_agents),
        ("rows × columns", f"{spec.height} × {spec.width}"),
        ("steps per episode", spec.max_steps),
        ("different contents of a cell, including its state", n_things),
        ("different contents of a hand, including nothing", n_items),
    ]
    return table(("", ""), rows)


def actions(spec: Spec) -> str:
    names = [action.name for action in spec.actions]
    idle = [
        name
        for name, intent in (("interact", INTERACT), ("toggle", TOGGLE))
        if name in names and not any(outcome.verb for _, _, outcome in outcomes(spec, intent))
    ]
    said = f" Here {' and '.join(idle)} {'do' if len(idle) > 1 else 'does'} nothing." if idle else ""
    others = [
        f"`{name}` has {', '.join(f'{number} {action.name}' for number, action in enumerate(known))}."
        for name, known in ACTION_SETS.items()
        if name != spec.action_set
    ]
    return paragraphs(
        table(("number", "action"), enumerate(names)),
        f"The action set is `{spec.action_set}`.{said} Alternatively, {' '.join(others)}",
    )


def _others(spec: Spec) -> Iterator[str]:
    """A line for each kind of part that has no words of its own here: its first sentence, and its values."""
    parts = [part for part in spec.symbols.answers.parts.all if type(part) not in TOLD]
    for kind in dict.fromkeys(map(type, parts)):
        summary = (inspect.getdoc(kind) or kind.__name__).split(".")[0]
        here = [text for part in parts if type(part) is kind and (text := _values(spec, part))]
        yield f"`{kind.__name__}`: {summary}." + f" Here: {'; '.join(here)}." * bool(here)


def _values(spec: Spec, part: Part) -> str:
    """The fields of a part that differ from their defaults and are no functions."""
    shown = []
    for field in dataclasses.fields(cast(Any, part)):
        value = getattr(part, field.name)
        if callable(value) or value == field.default:
            continue
        if value is True:
            shown.append(field.name)
        elif isinstance(value, str | int | float):
            shown.append(f"{field.name} {value}")
        elif isinstance(value, tuple) and all(isinstance(one, str) for one in value):
            shown.append(f"{field.name} {', '.join(value)}")
        elif value in spec.symbols.things:
            shown.append(f"{field.name} {words(spec.game.kind(value))}")
    return ", ".join(shown)


def rules(spec: Spec) -> str:
    """What each held item does with each kind of thing, by verb."""
    answers, parts = spec.symbols.answers, []
    game = answers.game
    asked = [("on interact", INTERACT), ("on toggle", TOGGLE), ("on walking there", ENTER)]
    asked += [(f"on {name}", FURTHER + k) for k, name in enumerate(answers.actions)]
    for name, intent in asked:
        if intent not in spec.symbols.intents:
            continue
        verbs: dict[tuple[str, str], dict[str, None]] = {}
        for held, thing, outcome in outcomes(spec, intent):
            if outcome.verb:
                hand = "nothing" if held is None else game.item_name(held)
                verbs.setdefault((hand, words(game.kind(thing))), {})[outcome.verb] = None
        if verbs:
            hands, kinds = (list(dict.fromkeys(pair[k] for pair in verbs)) for k in (0, 1))
            rows = [(hand, *(", ".join(verbs.get((hand, kind), "–")) for kind in kinds)) for hand in hands]
            parts.append(table((f"held \\ thing, {name}", *kinds), rows))
    met = dict.fromkeys(meeting.verb for _, _, meeting in spec.symbols.meet_rows if meeting.verb)
    if met:
        parts.append(f"Done to other agents: {', '.join(met)}.")
    ticking = {
        t: [after for branches in ticks_of(answers, t) for after, _ in branches] for t in spec.symbols.things
    }
    changing = dict.fromkeys(words(game.kind(t)) for t, found in ticking.items() if set(found) != {t})
    changing |= dict.fromkeys(
        words(game.kind(t)) for one in answers.one_cell for t in spec.symbols.things if one.qualifies(t)
    )
    if changing:
        parts.append(f"Changes on its own, in every step or at random: {', '.join(changing)}.")
    if any(map(answers.away, spec.symbols.items)):
        back = dict.fromkeys(words(game.kind(t)) for t in spec.symbols.things if answers.back(t))
        parts.append(f"Agents can leave the board; they return to a free {' or '.join(back)}.")
    parts += _others(spec)
    return paragraphs(*parts) if parts else "Agents only walk; nothing can be used or changes on its own."


def rewards(spec: Spec) -> str:
    rows = [row for term in spec.game.rewards() for row in reward(spec, term)]
    if not rows:
        return "The reward is always 0."
    return paragraphs(
        table(("term", "verb", "points", "paid to", "paid"), rows),
        "Shaping is multiplied by the weight `shaping`, which is 0 by default."
        if any(term.shaping for term in spec.game.rewards())
        else "",
    )


def reward(spec: Spec, term: AnyReward) -> Iterator[tuple[str, ...]]:
    """One row for each verb that pays, with all its possible points; one row for a term of another kind."""
    who = "every agent" if term.team or isinstance(term, Tally) else "the actor"
    who = "the agent that was met" if isinstance(term, Reward) and term.other else who
    when = "as shaping" if term.shaping else "always"
    if not isinstance(term, Reward):
        kinds = {
            Price: "actions",
            Tally: "the board",
            Replies: "replies of slots",
            BySlot: "events, by a slot",
        }
        yield term.name, f"for {kinds[type(term)]}", "by its rule", who, when
        return
    paying: dict[str, set[float]] = {}
    for held, thing, made in spec.symbols.lines:
        counts = made.verb and (isinstance(made, Meeting) or not term.other)
        if counts and (points := spec.symbols.of_event(term.points, held, thing, made)):
            paying.setdefault(made.verb, set()).add(points)
    if term.supply is not None and term.demand is not None:
        when += f", while {words(term.supply.__name__)} < {words(term.demand.__name__)}"
    for verb, paid in paying.items():
        yield term.name, verb, " or ".join(f"{value:+g}" for value in sorted(paid)), who, when


def observations(spec: Spec) -> str:
    """The observations of this game, their shapes, and the names of their features or planes."""
    missing = {"features": not spec.game.features()}
    missing["lossless"] = not spec.game.planes().names and spec.observation == "features"
    missing["window"] = missing["lossless"]
    rows, titles = [], dict[tuple[str, ...], str]()
    for kind in OBSERVATIONS:
        if missing.get(kind):
            continue
        env = cogrid.CoGridEnv(spec.override(observation=kind))
        space, names = env.observation_space(0), env.feature_names
        marked = " (default)" if kind == spec.observation else ""
        rows.append((f"`{kind}`{marked}", shape(space.shape), space.dtype))
        if names:
            titles.setdefault(
                names, f"The {len(names)} {'planes' if space.shape[1:] else 'numbers'} of {kind}"
            )
    return paragraphs(
        table(("observation", "shape per agent", "type"), rows),
        "`env.feature_names` lists the names of the last axis.",
        *(details(title, table(("number", "name"), enumerate(names))) for names, title in titles.items()),
    )


def options(spec: Spec) -> str:
    """Every field of the spec and of its game, with its default and its comment."""
    rows = []
    for owner in (spec, spec.game):
        notes = comments(type(owner))
        for field in dataclasses.fields(owner):
            if field.name != "game":
                rows.append(
                    (f"`{field.name}`", f"`{default(getattr(owner, field.name))}`", notes[field.name])
                )
    return table(("option", "default", ""), rows)


def versions(id: str) -> str:
    """The registered versions of an environment, and the changelog's entries for each."""
    name = id.rpartition("-")[0]
    known = [other for other in cogrid.registered() if other.rpartition("-")[0] == name]
    return "\n".join(f"- **{other}** {' '.join(history(other))}" for other in known)


def history(id: str) -> Iterator[str]:
    """The entries of the changelog that name the id, each with its release."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for release in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = release.partition("\n")[0].strip(" []")
        for entry in re.split(r"^- ", release, flags=re.MULTILINE)[1:]:
            if f"`{id}`" in entry:
                first = entry.split("\n\n")[0]  # the last entry of a section is followed by the next heading
                yield f"{title}: {' '.join(first.split())}"


# Helpers of the above.


def outcomes(spec: Spec, intent: int) -> Iterator[tuple[Any, Any, Outcome]]:
    """The game's outcomes for every hand and thing; for joint work, for every sum of strengths."""
    answers = spec.symbols.answers
    if intent == joint_intent(answers):
        yield from spec.symbols.joint_rows
        return
    for held in spec.symbols.items:
        for thing in spec.symbols.things:
            for outcome, _ in outcomes_of(answers, intent, held, thing):
                yield held, thing, outcome


def comments(owner: type[Any]) -> dict[str, str]:
    """Field -> the comment on the lines of its definition."""
    inherited = [comments(base) for base in owner.__bases__ if dataclasses.is_dataclass(base)]
    source = textwrap.dedent(inspect.getsource(owner))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    notes = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    return {name: note for notes_of in inherited for name, note in notes_of.items()} | {
        line.target.id: " ".join(notes[n] for n in range(line.lineno, line.end_lineno + 1) if n in notes)
        for line in definition.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.end_lineno
    }


def default(value: Any) -> str:
    """A value as it would be written in code; layouts by their names."""
    if isinstance(value, tuple) and value and all(hasattr(part, "name") for part in value):
        return ", ".join(repr(part.name) for part in value)
    return repr(value)


def shape(sizes: Sequence[int]) -> str:
    return f"({', '.join(map(str, sizes))}{',' * (len(sizes) == 1)})"


def words(name: str) -> str:
    return name.strip("_").replace("_", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def details(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def paragraphs(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write the pages")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
