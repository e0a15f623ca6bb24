"""The 23 kitchens of OvercookedV2, each with the number of its ingredients and its recipes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from cogrid.author import Layout

_ONIONS = ("000",)
_EITHER = ("000", "111")


class Room(NamedTuple):
    """A kitchen; without recipes, all that its ingredients make."""

    layout: Layout
    ingredients: int
    recipes: tuple[str, ...] = ()


_ROOMS = (
    (
        "CrampedRoom",
        1,
        _ONIONS,
        """
        XXPXX
        O2 1O
        X   X
        XDXSX
        """,
    ),
    (
        "AsymmAdvantages",
        1,
        _ONIONS,
        """
        XXXXXXXXX
        O XSXOX S
        X   P   X
        X 1 P2  X
        XXXDXDXXX
        """,
    ),
    (
        "CoordRing",
        1,
        _ONIONS,
        """
        XXXPX
        X 1 P
        D2X X
        O   X
        XOSXX
        """,
    ),
    (
        "ForcedCoord",
        1,
        _ONIONS,
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
        1,
        _ONIONS,
        """
        XXXPPXXX
        X 2    X
        D XXXX S
        X     1X
        XXXOOXXX
        """,
    ),
    (
        "CrampedRoomV2",
        2,
        (),
        """
        XXPXX
        O1 2T
        X   R
        XDXSX
        """,
    ),
    (
        "AsymmAdvantagesRecipesCenter",
        2,
        (),
        """
        XXXXXXXXX
        O XSROT S
        T   P   X
        X 1 P2  X
        XXXDXDXXX
        """,
    ),
    (
        "AsymmAdvantagesRecipesRight",
        2,
        (),
        """
        XXXXXXXXX
        O XSXOT S
        T   P   R
        X 1 P2  X
        XXXDXDXXX
        """,
    ),
    (
        "AsymmAdvantagesRecipesLeft",
        2,
        (),
        """
        XXXXXXXXX
        O XSXOT S
        T   P   R
        R 1 P2  X
        XXXDXDXXX
        """,
    ),
    (
        "TwoRooms",
        2,
        (),
        """
        XXXXXDTOX
        X   X   R
        P 1 X 2 X
        X   X   S
        XXXXXXXXX
        """,
    ),
    (
        "TwoRoomsBoth",
        2,
        (),
        """
        XOTDXDTOX
        X   X   R
        P 1 X 2 X
        X   X   S
        XXXXXXXXX
        """,
    ),
    (
        "LongRoom",
        1,
        _ONIONS,
        """
        XXXXXXXXXXXXXXX
        D            1P
        O             S
        XXXXXXXXXXXXXXX
        """,
    ),
    (
        "FunCoordination",
        4,
        ("002", "113"),
        """
        XXXXXXXXX
        O   S   C
        R1  P  2X
        T   D   M
        XXXXXXXXX
        """,
    ),
    (
        "MoreFunCoordination",
        3,
        ("011", "022"),
        """
        XXXXXXXXX
        X   S   X
        R1  P  2T
        O   P   C
        X   D   X
        XXXXXXXXX
        """,
    ),
    (
        "FunSymmetries",
        3,
        _EITHER,
        """
        XXXXDXX
        C  X  O
        R 1P2 S
        C  X  T
        XXXXDXX
        """,
    ),
    (
        "FunSymmetriesPlates",
        2,
        _EITHER,
        """
        XXXXXXX
        D  X  O
        R 1P2 S
        D  X  T
        XXXXXXX
        """,
    ),
    (
        "FunSymmetries1",
        3,
        _EITHER,
        """
        XXXXXDXX
        C  XX  O
        R 1XP2 S
        C  XX  T
        XXXXXDXX
        """,
    ),
    (
        "GroundedCoordSimple",
        3,
        _EITHER,
        """
        XXCXXXXX
        X  XD  O
        R 1BP2 S
        X  XD  T
        XXCXXXXX
        """,
    ),
    (
        "GroundedCoordRing",
        3,
        _EITHER,
        """
        XXXCRCXXX
        X       X
        X XXBXX X
        C O   D C
        R1S2P S R
        C T   D C
        X XXBXX X
        X       X
        XXXCRCXXX
        """,
    ),
    (
        "TestTimeSimple",
        3,
        _EITHER,
        """
        XXCXXXXX
        X  XD  O
        R 1XP2 S
        X  XD  T
        XXCXXXXX
        """,
    ),
    (
        "TestTimeWide",
        4,
        _EITHER,
        """
        XXSDXX
        O 1  O
        T    T
        XPXPXX
        M 2  M
        X    X
        XXRXXX
        """,
    ),
    (
        "DemoCookSimple",
        3,
        _EITHER,
        """
        XXXXXRCXOXX
        O      X  D
        X     1P2 S
        T      X  D
        XXXXXRCXTXX
        """,
    ),
    (
        "DemoCookWide",
        4,
        _EITHER,
        """
        XXXXDSDXXXX
        XXXO 1 TXXX
        XXXXXPXXXXX
        X    2    X
        O  XMRMX  O
        XTXXXXXXXTX
        """,
    ),
)

PLANS: Mapping[str, Room] = MappingProxyType(
    {name: Room(Layout(name, text), ingredients, recipes) for name, ingredients, recipes, text in _ROOMS}
)
