"""The sites: `g`, `y`, `r` victims, `x` rubble, `d` doors, `m`, `p`, `k` tools, `?` what may be rubble."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cogrid.author import Layout

_TEXTS = MappingProxyType(
    {
        "Office": """
        #############
        #g  #1 2#  y#
        #   x   d   #
        #   #   #  r#
        ##x####### ##
        #   x   # g #
        # r # k #   #
        #y  #   x  g#
        #############
    """,
        "Tunnel": """
        ###############
        #1  x  #g  x r#
        #2  x  #   x  #
        #   #  d   #  #
        #k  #y #  y#g #
        ###############
    """,
        "Ruins": """
        #################
        #    ?     ?    #
        #    ##?#?##    #
        #    #     #    #
        #?##?#  1  #?##?#
        #    ?  2  ?    #
        #?##?#  3  #?##?#
        #    #     #    #
        #    ##?#?##    #
        #    ?     ?    #
        #################
    """,
    }
)

LAYOUTS: Mapping[str, Layout] = MappingProxyType({name: Layout(name, text) for name, text in _TEXTS.items()})
