"""Readable numbers: engineering notation, sizes, percentages and changes."""

from __future__ import annotations

import math

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "K", 6: "M", 9: "G", 12: "T"}
#: Units that follow a prefix directly (12.3 ms); other units are separated by a space (1.2 M steps/s).
SYMBOLS = ("s", "B")


def engineering(value: float, unit: str = "") -> str:
    """Three significant digits and a prefix: 10 K, 1.23 M steps/s, 12.3 ms."""
    if not math.isfinite(value):
        return f"{value} {unit}".rstrip()
    # The exponent after rounding: 999,960 is 1 M, not 1000 K.
    exponent = int(f"{value:.2e}".partition("e")[2]) // 3 * 3
    exponent = min(max(exponent, -9 if unit in SYMBOLS else 0), max(PREFIXES))
    glue = "" if unit in SYMBOLS else " "
    return f"{value / 10**exponent:.3g} {PREFIXES[exponent]}{glue}{unit}".rstrip().replace("  ", " ")


def pace(ratio: float) -> str:
    """A ratio of times as text: 1.12 is '12 % slower', its inverse is '12 % faster'."""
    percent = round((max(ratio, 1 / ratio) - 1) * 100)
    return f"{percent} % {'slower' if ratio > 1 else 'faster'}" if percent else "the same"


def more(ratio: float) -> str:
    """A ratio as a relative change: '+8 %', '−3 %', '0 %'."""
    percent = round((ratio - 1) * 100)
    return f"{percent:+d} %".replace("-", "−") if percent else "0 %"


def size(value: float) -> str:
    for limit, suffix in ((2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB")):
        if value >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.0f} B"


def with_unit(value: float, unit: str) -> str:
    """The value of a target with its unit: 4.13×, 3.1 GiB, 0.98, 169."""
    if unit == "B":
        return size(value)
    if unit.endswith("/s"):
        return engineering(value, unit)
    return f"{value:.3g}{unit if unit == '×' else ''}"


def percent(share: float) -> str:
    """Without decimals from 10 %, and never 0.0 for more than zero."""
    if 0 < abs(share) < 0.0005:
        return f"{share * 100:.1g} %"
    return f"{share * 100:.0f} %" if abs(share) >= 0.1 else f"{share * 100:.1f} %"
