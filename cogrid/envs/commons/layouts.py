"""Boards of the commons, 16 × 24 cells: patches of apples, rooms around them, a river and an orchard."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Layout

HARVESTS: Mapping[str, Layout] = MappingProxyType(
    {
        "Open": Layout(
            "Open",
            """
        ########################
        #1  P   2      P   P  3#
        #   a    P  a      a   #
        #  aaa     aaa    aaa  #
        # aaaaa   aaaaa  aaaaa #
        #  aaa     aaa    aaa  #
        #   a       a   a  a   #
        # 4     a      aaa   P #
        #      aaa  P   a      #
        #P  a   a   a      a   #
        #  aaa     aaa    aaa  #
        # aaaaa   aaaaa  aaaaa #
        #  aaa     aaa    aaa  #
        #   a       a   P  a   #
        #5  P   P   P  6   P  7#
        ########################
            """,
        ),
        "Closed": Layout(
            "Closed",
            """
        ########################
        #       #P    P#       #
        #   a   # 1  2 #   a   #
        #  aaa  #   P  #  aaa  #
        # aaaaa   P      aaaaa #
        #  aaa  #  3   #  aaa  #
        #   a   #     P#   a   #
        #       #P  4  #       #
        #       #  P   #       #
        #   a   # 5   P#   a   #
        #  aaa  #      #  aaa  #
        # aaaaa     P    aaaaa #
        #  aaa  #P   6 #  aaa  #
        #   a   # 7    #   a   #
        #       #P    P#       #
        ########################
            """,
        ),
    }
)

CLEAN_UPS: Mapping[str, Layout] = MappingProxyType(
    {
        "CleanUp": Layout(
            "CleanUp",
            """
        ########################
        #wdwd   1  P   .    .  #
        #dwdw  P      ...  ... #
        #wdwd     2  ..........#
        #dwdw    P    ...  ... #
        #wdwd   3  P   .    .  #
        #dwdw  P      ...  ... #
        #wdwd     4  ..........#
        #dwdw    P    ...  ... #
        #wdwd   5  P   .    .  #
        #dwdw  P      ...  ... #
        #wdwd     6  ..........#
        #dwdw    P    ...  ... #
        #wdwd   7  P   .    .  #
        #dwdw  P    P          #
        ########################
            """,
        )
    }
)

#: Cells of that river.
RIVER = sum(letter in "wd" for letter in CLEAN_UPS["CleanUp"].text)
