"""Plots as plain SVG: grouped bars with a line for the limit, readable in any browser."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

COLOURS = ("#3b6ea5", "#c8553d", "#6b9a4b", "#8a6fb0", "#d19a2a", "#4f9fa8")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 900, 360, 60, 50, 60


def bars(
    path: Path,
    title: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    lines: Sequence[float] = (),
    top: float | None = None,
    unit: str = "",
) -> None:
    """One group of bars per name in `groups`, one bar per series in each."""
    highest = top or 1.1 * max(
        [*lines, *(v for values in series.values() for v in values)], default=1
    )
    scale = (HEIGHT - TOP - BOTTOM) / (highest or 1)
    floor = HEIGHT - BOTTOM
    room = (WIDTH - LEFT - 20) / len(groups)
    each = 0.8 * room / len(series)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>',
    ]
    for step in range(6):
        value = highest * step / 5
        y = floor - value * scale
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 20}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}{unit}</text>'
        )
    for s, (name, values) in enumerate(series.items()):
        colour = COLOURS[s % len(COLOURS)]
        x = LEFT + 150 * s
        parts.append(f'<rect x="{x}" y="30" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="39">{escape(name)}</text>')
        for g, value in enumerate(values):
            height = min(value, highest) * scale
            x0 = LEFT + g * room + 0.1 * room + s * each
            parts.append(
                f'<rect x="{x0:.1f}" y="{floor - height:.1f}" width="{each:.1f}" '
                f'height="{height:.1f}" fill="{colour}"><title>{escape(name)}, '
                f"{escape(groups[g])}: {value:.4g}{unit}</title></rect>"
            )
    for g, name in enumerate(groups):
        x = LEFT + (g + 0.5) * room
        for row, word in enumerate(name.split("\n")):
            y = floor + 16 + 14 * row
            parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{escape(word)}</text>')
    for line in lines:
        y = floor - line * scale
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - 20}" stroke="#222" stroke-dasharray="5 4"/>'
        )
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")
