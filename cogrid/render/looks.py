"""Looks of things, items and agents: the game's own, or the ones that games without any have."""

from __future__ import annotations

from cogrid._core.author.look import Look, bare_floor, closed_wall, figure, plate, token
from cogrid._core.author.values import Item, Thing
from cogrid._core.rules import Rules


def glyph(rules: Rules, thing: Thing) -> str:
    """Two characters: the letter of the legend, or the initial of the kind, and what lies there."""
    own, game = rules.answers.looks.glyph, rules.game
    if own is not None and (text := own(thing)) is not None:
        return text
    kind, item = game.kind(thing), game.lying(thing)
    letter = next((c for c, t in game.legend.items() if game.kind(t) == kind), kind[:1] or "?")
    return letter + (" " if item is None else game.item_name(item)[0])


def look_of_thing(rules: Rules, thing: Thing) -> Look:
    """The drawing of a thing, without what lies there: of a kind that is not known, its letter."""
    own = rules.answers.looks.thing
    if own is not None and (look := own(thing)) is not None:
        return look
    kind, bare = rules.game.kind(thing), {"floor": bare_floor, "wall": closed_wall}
    return bare[kind]() if kind in bare else plate(kind, glyph(rules, thing)[0])


def look_of_item(rules: Rules, item: Item) -> Look:
    """The drawing of an item: a coin with its initial."""
    own = rules.answers.looks.item
    look = None if own is None else own(item)
    return token(rules.game.item_name(item)) if look is None else look


def look_of_agent(rules: Rules, agent: int) -> Look:
    """The drawing of an agent that faces right."""
    own = rules.answers.looks.agent
    look = None if own is None else own(agent)
    return figure(agent) if look is None else look
