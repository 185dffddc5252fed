"""The parts that charts are drawn from: logarithmic axes, markers, colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 66, 18, 30, 50

# A colour on light and one on dark paper, at least 3 : 1 against it; the marker says the same without it.
STYLES = {
    "pdm": ("#0062ad", "#62b0f4", "circle"),
    "pfm": ("#c14a00", "#f39257", "square"),
    "pdm-succ": ("#00857c", "#3ec9bc", "up"),
    "pfm-succ": ("#a06c00", "#e8b74a", "diamond"),
    "romma": ("#7b3fa0", "#c595e6", "down"),
    "mpu": ("#b3246b", "#f486b8", "cross"),
    "dcd-l1": ("#4d6d00", "#a9cb4e", "circle"),
    "dcd-l2": ("#1d7a2e", "#66d17c", "square"),
    "svm": ("#59636e", "#a9b4bf", "diamond"),
    "svm-light": ("#7a5c3e", "#cfae8b", "up"),
}
_MORE = (
    ("#3b4cc0", "#98a5ff", "down"),
    ("#9c2b2b", "#f19a9a", "cross"),
    ("#006d8f", "#5fc6e6", "diamond"),
    ("#6a5a00", "#d2c04a", "circle"),
)


def style(algorithm: str) -> tuple[str, str, str]:
    """Colour on light, colour on dark, marker: the same for a solver in every chart."""
    return STYLES.get(algorithm) or _MORE[sum(algorithm.encode()) % len(_MORE)]


def class_of(algorithm: str) -> str:
    """The CSS class of a solver's marks; a plug-in's name may have any character."""
    return "s-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in algorithm)


def palette(algorithms: Iterable[str]) -> str:
    """CSS rules that give each solver its colour as the variable ``--c``, on light and on dark paper."""
    colours = {class_of(algorithm): style(algorithm) for algorithm in algorithms}
    light, dark = ("".join(f".{name}{{--c:{c[k]}}}" for name, c in colours.items()) for k in (0, 1))
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"


def asset(name: str) -> str:
    """A file of the templates that come with the package."""
    return files("pdmbench.report").joinpath("templates", name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from ``low`` to ``high``, drawn from pixel ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> Axis:
        """An axis with a little room around positive values, and never less than a factor of four long."""
        logs = [math.log10(v) for v in values]
        low, high = min(logs), max(logs)
        room = max(0.04 * (high - low), (math.log10(4.0) - (high - low)) / 2, 0.02)
        return cls(10 ** (low - room), 10 ** (high + room), start, end)

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten inside the axis, with 2 and 5 between them where those are few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        decades = [10.0**k for k in range(first, last + 1)]
        inside = [v for v in decades if self.low <= v <= self.high]
        if len(inside) < 3:
            return [v for d in decades for v in (d, 2 * d, 5 * d) if self.low <= v <= self.high]
        return inside[:: math.ceil(len(inside) / 9)]


def tick_text(value: float) -> str:
    """A tick's label: plain from 0.001 to 1000, a power of ten beyond."""
    if 1e-3 * (1 - 1e-9) <= value <= 1e3 * (1 + 1e-9):
        return f"{value:.12g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = round(value / 10.0**exponent)
    power = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if factor == 1 else f"{factor}·{power}"


def marker(shape: str, x: float, y: float, size: float = 3.6) -> str:
    """One data point; ``shape`` as in :data:`STYLES`."""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
    s = size * 1.15
    corners = {
        "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
        "diamond": [(0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)],
        "up": [(0, -1.1), (1.1, 0.9), (-1.1, 0.9)],
        "down": [(0, 1.1), (1.1, -0.9), (-1.1, -0.9)],
        "cross": [
            (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4),
            (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
        ],
    }[shape]  # fmt: skip
    return '<path d="M' + "L".join(f"{x + s * dx:.1f} {y + s * dy:.1f}" for dx, dy in corners) + 'z"/>'


def line(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A polyline of the class ``kind``."""
    return f'<path class="{kind}" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + '"/>'


def text(x: float, y: float, value: str, kind: str) -> str:
    """A label of the class ``kind``; γ_d with its subscript."""
    parts = escape(value).split("_d")
    body = '<tspan dy="3" font-size="75%">d</tspan><tspan dy="-3">\u200b</tspan>'.join(parts)
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{body}</text>'


def frame(x: Axis, y: Axis | None, x_label: str, y_label: str, bottom: float) -> list[str]:
    """Grid lines, tick labels and the names of the axes."""
    parts = []
    for value in x.ticks():
        px = x(value)
        parts.append(f'<line class="grid" x1="{px:.1f}" x2="{px:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(text(px, bottom + 19, tick_text(value), "tick mid"))
    for value in y.ticks() if y else ():
        py = y(value)
        parts.append(f'<line class="grid" x1="{x.start}" x2="{x.end}" y1="{py:.1f}" y2="{py:.1f}"/>')
        parts.append(text(x.start - 8, py + 4, tick_text(value), "tick end"))
    if x_label:
        parts.append(text(x.end, bottom + 42, x_label, "axis end"))
    parts.append(text(4, 18, y_label, "axis"))
    return parts


def drawing(
    identifier: str, title: str, description: str, parts: Iterable[str], height: float, data: str = ""
) -> str:
    """An ``<svg>`` that says in words what it shows."""
    return (
        f'<svg id="{identifier}" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-labelledby="{identifier}-t {identifier}-d"{data}>'
        f'<title id="{identifier}-t">{escape(title)}</title>'
        f'<desc id="{identifier}-d">{escape(description)}</desc>{"".join(parts)}</svg>'
    )


def standalone(svg: str, algorithms: Iterable[str]) -> str:
    """A chart as a file of its own, for light and dark pages alike."""
    css = asset("chart.css") + palette(algorithms)
    opening, rest = svg.split(">", 1)
    attributes = 'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif"'
    paper = f'<rect width="{WIDTH}" height="100%" fill="var(--paper)"/>'
    return f"{opening} {attributes}><style>{css}</style>{paper}{rest}\n"
