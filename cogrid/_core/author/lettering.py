"""Lettering: characters as strokes on a lattice of five by seven points, for labels in pictures."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Strokes by character: pairs "xy" with x from 0 to 4 and y from 0 (top) to 6; a comma begins a new stroke.
STROKES: Mapping[str, str] = MappingProxyType(
    {
        "A": "06 20 46,14 34",
        "B": "00 30 41 42 33 03,33 44 45 36 06 00",
        "C": "41 30 10 01 05 16 36 45",
        "D": "00 20 42 44 26 06 00",
        "E": "40 00 06 46,03 33",
        "F": "40 00 06,03 33",
        "G": "41 30 10 01 05 16 36 45 43 23",
        "H": "00 06,40 46,03 43",
        "I": "10 30,20 26,16 36",
        "J": "40 45 36 16 05",
        "K": "00 06,40 03 46",
        "L": "00 06 46",
        "M": "06 00 23 40 46",
        "N": "06 00 46 40",
        "O": "10 30 41 45 36 16 05 01 10",
        "P": "06 00 30 41 42 33 03",
        "Q": "10 30 41 45 36 16 05 01 10,24 46",
        "R": "06 00 30 41 42 33 03,23 46",
        "S": "41 30 10 01 02 13 33 44 45 36 16 05",
        "T": "00 40,20 26",
        "U": "00 05 16 36 45 40",
        "V": "00 26 40",
        "W": "00 16 23 36 40",
        "X": "00 46,40 06",
        "Y": "00 23 40,23 26",
        "Z": "00 40 06 46",
        "0": "10 30 41 45 36 16 05 01 10",
        "1": "11 20 26,16 36",
        "2": "01 10 30 41 42 06 46",
        "3": "01 10 30 41 42 33 13,33 44 45 36 16 05",
        "4": "36 30 04 44",
        "5": "40 00 03 33 44 45 36 06",
        "6": "30 10 01 05 16 36 45 44 33 03",
        "7": "00 40 16",
        "8": "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33",
        "9": "43 13 02 01 10 30 41 45 36 16",
        "/": "06 40",
        "-": "13 33",
        "+": "13 33,22 24",
        ".": "26 26",
        ":": "22 22,25 25",
        "!": "20 24,26 26",
        "*": "21 25,12 34,32 14",
        "~": "04 13 23 34 43",
        "=": "02 42,04 44",
        "#": "10 16,30 36,02 42,04 44",
        "$": "41 30 10 01 02 13 33 44 45 36 16 05,20 26",
        "%": "06 40,00 11,35 46",
        "&": "46 11 20 31 04 05 16 26 44",
        "@": "46 16 05 01 10 30 41 44 24 22 42",
        "_": "06 46",
        "<": "40 03 46",
        ">": "00 43 06",
        "^": "02 20 42",
        "|": "20 26",
        "?": "01 10 30 41 42 24,26 26",
    }
)


def strokes(character: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The strokes of a character; small letters are drawn as capitals, unknown ones as a question mark."""
    if character == " ":
        return ()
    text = STROKES.get(character.upper(), STROKES["?"])
    return tuple(tuple((int(pair[0]), int(pair[1])) for pair in stroke.split()) for stroke in text.split(","))
