"""The registered kitchens."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Layout, Spec
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.generated import GeneratedKitchen
from cogrid.envs.overcooked.layouts import LAYOUTS, OLDER_LAYOUTS
from cogrid.envs.overcooked.lineage import game_of
from cogrid.envs.overcooked.lineage_layouts import BEGUN_LAYOUTS
from cogrid.envs.overcooked.lineage_layouts import LAYOUTS as LINEAGE_LAYOUTS
from cogrid.envs.overcooked.orders import OrderKitchen


def lineage_id(name: str) -> str:
    """The id of overcooked_ai's file of this name."""
    return f"OvercookedAI-{''.join(part.capitalize() for part in name.split('_'))}-V0"


def _lineage(layout: Layout) -> Spec:
    return Spec(game_of(layout.name), (layout,), num_agents=len(layout.starts))


CLASSIC: Mapping[str, Spec] = MappingProxyType(
    {f"Overcooked-{name}-V0": Spec(Kitchen(), (layout,)) for name, layout in LAYOUTS.items()}
)
_LINEAGE: Mapping[str, Spec] = MappingProxyType(
    {lineage_id(name): _lineage(layout) for name, layout in {**LINEAGE_LAYOUTS, **BEGUN_LAYOUTS}.items()}
)

# Further kitchens of the older CoGrid.
_ROOM, _HALVES = LAYOUTS["CrampedRoom"], LAYOUTS["AsymmetricAdvantages"]
_OLDER: Mapping[str, Spec] = MappingProxyType(
    {
        "Overcooked-CrampedMixedKitchen-V0": Spec(OrderKitchen(), (OLDER_LAYOUTS["CrampedMixedKitchen"],)),
        "Overcooked-CrampedRoom-SingleAgent-V0": Spec(Kitchen(), (_ROOM,), num_agents=1),
        "Overcooked-CrampedRoom-LocalView-V0": Spec(Kitchen(), (_ROOM,), observation="lossless"),
        "Overcooked-AsymmetricAdvantages-PartialObs-V0": Spec(
            Kitchen(), (_HALVES,), observation="window", window=3
        ),
    }
)

_GENERATED = MappingProxyType({"Overcooked-Generated-V0": Spec(GeneratedKitchen())})

SPECS: Mapping[str, Spec] = MappingProxyType({**CLASSIC, **_OLDER, **_LINEAGE, **_GENERATED})
