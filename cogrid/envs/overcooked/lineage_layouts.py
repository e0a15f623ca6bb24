"""The boards of overcooked_ai, by the names of its files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Layout

_TEXTS = (
    (
        "asymmetric_advantages",
        """
        XXXXXXXXX
        O XSXOX S
        X   P 1 X
        X2  P   X
        XXXDXDXXX
        """,
    ),
    (
        "asymmetric_advantages_tomato",
        """
        XTXXXXXOX
        D XOXTX S
        X   P 1 X
        X2  X   X
        XXXSXDXXX
        """,
    ),
    (
        "bonus_order_test",
        """
        XXPXX
        O  2T
        X1  X
        XDXSX
        """,
    ),
    (
        "bottleneck",
        """
        XXOXDXX
        X 1X2 X
        X  X  X
        X     X
        XSXXPPX
        """,
    ),
    (
        "centre_objects",
        """
        XXXXXXX
        X  1  X
        X P S X
        X     X
        X D O X
        X  2  X
        XXXXXXX
        """,
    ),
    (
        "centre_pots",
        """
        XXXOSSX
        X  1  X
        X P P X
        X  2  X
        XDDOXXX
        """,
    ),
    (
        "coordination_ring",
        """
        XXXPX
        X 1 P
        D2X X
        O   X
        XOSXX
        """,
    ),
    (
        "corridor",
        """
        XXXXXOXXDXXXXX
        X  1  XX  2  X
        X     XX     X
        X  XXXXXXXX  X
        X            X
        X  XXXXXXXX  X
        X     XX     X
        X     XX     X
        XXXXXSXXPPXXXX
        """,
    ),
    (
        "counter_circuit",
        """
        XXXPDPXXX
        X   2   X
        X XXXXX X
        X   1   X
        XXXOSTXXX
        """,
    ),
    (
        "counter_circuit_o_1order",
        """
        XXXPPXXX
        X  2   X
        D XXXX S
        X  1   X
        XXXOOXXX
        """,
    ),
    (
        "cramped_corridor",
        """
        XTPXXXXSX
        D      2X
        XXXX XXXX
        D      1X
        XOPXXXXSX
        """,
    ),
    (
        "cramped_room",
        """
        XXPXX
        O  2O
        X1  X
        XDXSX
        """,
    ),
    (
        "cramped_room_o_3orders",
        """
        XXPXX
        O  2X
        X1  X
        XDXSX
        """,
    ),
    (
        "cramped_room_single",
        """
        XXPXX
        O   O
        X1  X
        XDXSX
        """,
    ),
    (
        "cramped_room_tomato",
        """
        XXPXX
        O  2T
        X1  X
        XDXSX
        """,
    ),
    (
        "five_by_five",
        """
        XDPXX
        X   S
        O 2 X
        X1  D
        XOXPX
        """,
    ),
    (
        "forced_coordination",
        """
        XXXPX
        O X1P
        O2X X
        D X X
        XXXSX
        """,
    ),
    (
        "forced_coordination_tomato",
        """
        XXXPX
        T X1P
        O2X X
        S X X
        XXXDX
        """,
    ),
    (
        "inverse_marshmallow_experiment",
        """
        XOXXXXXXXXXOX
        X     X     X
        XXXX  D  XXXX
        XXS 2 P 1 SXX
        XXXXXTXTXXXXX
        """,
    ),
    (
        "large_room",
        """
        XXXPXXX
        O    2O
        X     X
        X     X
        X     X
        X1    X
        XDXXXSX
        """,
    ),
    (
        "long_cook_time",
        """
        XOXXXXXXXXXXX
        X XXXXXXXXXXX
        X  1        X
        X           P
        X  2        X
        X DXXXXXXXXXX
        XSXXXXXXXXXXX
        """,
    ),
    (
        "m_shaped_s",
        """
        XPXXX
        O X2O
        X1  X
        XDXSX
        """,
    ),
    (
        "marshmallow_experiment",
        """
        XXXXXXXXXXXXX
        O   DTXTD   O
        XX    P    XX
        S   2 P 1   S
        XXXXXTXTXXXXX
        """,
    ),
    (
        "marshmallow_experiment_coordination",
        """
        XXXXXXXXXXXOX
        X    XTTX   X
        XXX  P    XXX
        S  2 P 1    X
        XXXXDXTTXXXXX
        """,
    ),
    (
        "mdp_test",
        """
        XXPXX
        O  2O
        T1  T
        XDPSX
        """,
    ),
    (
        "multiplayer_schelling",
        """
        XXSPDXX
        X  1  X
        X  X  X
        O3   4O
        X  X  X
        X  2  X
        XXDPSXX
        """,
    ),
    (
        "pipeline",
        """
        XXXPDPXXX
        X       X
        X XXXXX X
        X X     X
        X XXXXX X
        X  1 2  X
        XXXOSOXXX
        """,
    ),
    (
        "random0",
        """
        XXXPX
        O X1P
        O2X X
        D X X
        XXXSX
        """,
    ),
    (
        "random3",
        """
        XXXPPXXX
        X  2   X
        D XXXX S
        X  1   X
        XXXOOXXX
        """,
    ),
    (
        "scenario1_s",
        """
        XXOXDXX
        X 1X2 X
        X  X  X
        X     X
        XSXXPPX
        """,
    ),
    (
        "scenario2",
        """
        XXXXXOXXXX
        S        O
        D    1 2 X
        XXXXXXPXXX
        """,
    ),
    (
        "scenario2_s",
        """
        XXOXXXX
        S     O
        D 1 2 X
        XXXPXXX
        """,
    ),
    (
        "scenario3",
        """
        XXXXXOXXXX
        S     XXPX
        X    1   X
        D XXXXXX X
        X     2  O
        XXXXXXXXXX
        """,
    ),
    (
        "scenario4",
        """
        XXXXXOXXXX
        S      XPX
        D    1   X
        XXXXXXXX X
        XXXXXX2  O
        XXXXXXXXXX
        """,
    ),
    (
        "schelling",
        """
        XXSPDXX
        X  1  X
        X  X  X
        O     O
        X  X  X
        X  2  X
        XXDPSXX
        """,
    ),
    (
        "schelling_s",
        """
        XSPDX
        X 1 X
        O   O
        X 2 X
        XDPSX
        """,
    ),
    (
        "simple_o",
        """
        XXPXX
        X  2X
        X1  O
        XXDSX
        """,
    ),
    (
        "simple_o_t",
        """
        XXPXX
        T  2T
        X1  O
        XXDSX
        """,
    ),
    (
        "simple_tomato",
        """
        XXPXX
        T  2T
        X1  O
        XXDSX
        """,
    ),
    (
        "small_corridor",
        """
        XXXXXOXDXXXXX
        X  1  X  2  X
        X  XXXXXXX  X
        X           X
        XSXXXXXXXXPPX
        """,
    ),
    (
        "soup_coordination",
        """
        XXXDTXOXXXX
        X    X    X
        S 2  P  1 S
        X    X    X
        XXXXOXTDXXX
        """,
    ),
    (
        "tutorial_0",
        """
        XXPXXXX
        O   2 S
        XXPDXXX
        O   1 S
        XXXXXXX
        """,
    ),
    (
        "tutorial_2",
        """
        XXPXXXX
        O   2 S
        XTPDXXX
        O   1 S
        XXXXXXX
        """,
    ),
    (
        "tutorial_3",
        """
        XXPXXXX
        O   2 S
        XTPDXXX
        O   1 S
        XXXXXXX
        """,
    ),
    (
        "unident",
        """
        XXXXXXXXXXX
        O XXSXOXX S
        X    P  1 X
        X2   P    X
        XXXXDXDXXXX
        """,
    ),
    (
        "you_shall_not_pass",
        """
        XXXXXSSSXXXXX
        XXTSSS SSSOXX
        P 1       2 P
        XXDSSSSSSSDXX
        """,
    ),
)

# Boards on which an episode begins with onions in a pot: `p` has one, `q` two.
_BEGUN = (
    (
        "old_dynamics_cook_test",
        """
        XXpXX
        O 1 X
        X   X
        XDXSX
        """,
    ),
    (
        "old_dynamics_put_test",
        """
        XXqXX
        O 1 X
        X   X
        XDXSX
        """,
    ),
    (
        "tutorial_1",
        """
        XXPXXXX
        O   2 S
        XTqDXXX
        O   1 S
        XXXXXXX
        """,
    ),
)

LAYOUTS: Mapping[str, Layout] = MappingProxyType({name: Layout(name, text) for name, text in _TEXTS})
BEGUN_LAYOUTS: Mapping[str, Layout] = MappingProxyType({name: Layout(name, text) for name, text in _BEGUN})
