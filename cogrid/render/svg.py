"""SVG: looks as text that a browser draws, crisp at any size."""

from __future__ import annotations

from cogrid._core.author.look import Look, Shape


def svg(look: Look) -> str:
    """The look as SVG elements in a cell of size 1; the enclosing element sets round joins and ends."""
    return "".join(map(_element, look))


def _element(shape: Shape) -> str:
    colour, opacity = shape.colour[:7], int(shape.colour[7:] or "ff", 16) / 255
    seen = f' opacity="{opacity:.3g}"' if opacity < 1 else ""
    if len(shape.points) == 1:
        (x, y), radius = shape.points[0], shape.width / 2
        return f'<circle cx="{x:.4g}" cy="{y:.4g}" r="{radius:.4g}" fill="{colour}"{seen}/>'
    path = "L".join(f"{x:.4g} {y:.4g}" for x, y in shape.points) + ("z" if shape.filled else "")
    fill = colour if shape.filled else "none"
    pen = f' stroke="{colour}" stroke-width="{shape.width:.4g}"' if shape.width else ""
    return f'<path d="M{path}" fill="{fill}"{pen}{seen}/>'
