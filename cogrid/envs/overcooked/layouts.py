"""The five classic kitchens, and one of the older CoGrid."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Layout

_TEXTS = (
    (
        "CrampedRoom",
        """
        XXPXX
        O  2O
        X1  X
        XDXSX
        """,
    ),
    (
        "AsymmetricAdvantages",
        """
        XXXXXXXXX
        O XSXOX S
        X   P 1 X
        X2  P   X
        XXXDXDXXX
        """,
    ),
    (
        "CoordinationRing",
        """
        XXXPX
        X 1 P
        D2X X
        O   X
        XOSXX
        """,
    ),
    (
        "ForcedCoordination",
        """
        XXXPX
        O X1P
        O2X X
        D X X
        XXXSX
        """,
    ),
    (
        "CounterCircuit",
        """
        XXXPPXXX
        X  2   X
        D XXXX S
        X  1   X
        XXXOOXXX
        """,
    ),
)

LAYOUTS: Mapping[str, Layout] = MappingProxyType({name: Layout(name, text) for name, text in _TEXTS})

#: What the older CoGrid has besides.
OLDER_LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "CrampedMixedKitchen": Layout(
            "CrampedMixedKitchen",
            """
            XPXPX
            O1 2T
            X   X
            XDSXX
            """,
        )
    }
)
