"""Plots as plain SVG, readable in any browser: grouped bars with a line for the limit, points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one kind, each with the words that are shown over it."""

    name: str
    at: Sequence[tuple[float, float]]
    words: Sequence[str] = ()
    joined: bool = False
    radius: float = 3


def points(
    path: Path, title: str, series: Sequence[Points], *, x: str, y: str, highest: float = 0.0
) -> None:
    """Points over two axes that begin at nothing; `highest` cuts off what is dearer."""
    right = 1.05 * max(at[0] for one in series for at in one.at)
    top = highest or 1.05 * max(at[1] for one in series for at in one.at)
    wide, floor = WIDTH - LEFT - 20, HEIGHT - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>',
        f'<text x="{WIDTH - 20}" y="{HEIGHT - 12}" text-anchor="end">{escape(x)}</text>',
        f'<text x="8" y="{TOP - 8}">{escape(y)}</text>',
    ]
    for step in range(6):
        down = floor - (HEIGHT - TOP - BOTTOM) * step / 5
        across = LEFT + wide * step / 5
        parts.append(f'<path d="M{LEFT} {down:.1f}H{WIDTH - 20}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{top * step / 5:.3g}</text>'
        )
        parts.append(
            f'<text x="{across:.1f}" y="{floor + 16}" text-anchor="middle">'
            f"{right * step / 5:,.0f}</text>"
        )
    for s, one in enumerate(series):
        colour = COLOURS[s % len(COLOURS)]
        parts.append(f'<circle cx="{LEFT + 110 * s + 130}" cy="35" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 110 * s + 138}" y="39">{escape(one.name)}</text>')
        shown = [
            (LEFT + a / right * wide, floor - b / top * (HEIGHT - TOP - BOTTOM), k)
            for k, (a, b) in enumerate(one.at)
            if b <= top
        ]
        if one.joined and shown:
            way = "L".join(f"{a:.1f} {b:.1f}" for a, b, _ in shown)
            parts.append(f'<path d="M{way}" fill="none" stroke="{colour}"/>')
        for a, b, k in shown:
            words = one.words[k] if one.words else one.name
            parts.append(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{one.radius}" fill="{colour}">'
                f"<title>{escape(words)}</title></circle>"
            )
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")
