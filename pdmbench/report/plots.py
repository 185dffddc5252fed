"""Charts as SVG: convergence, bars, scaling. Nothing but text comes in and goes out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pdmbench.bench.record import Record
from pdmbench.report import svg
from pdmbench.report.cells import Cell, Interval, Row, title
from pdmbench.report.grid import number
from pdmbench.solvers.base import TracePoint

MOST_POINTS = 300  # of one trace in one chart
LOWEST = 1e-3  # margins below this share of γ_d are not drawn: on a log axis they would flatten the rest

AXES = {"updates": "updates", "seconds": "CPU seconds of training"}
VIEWS = {"margin": "10⁴γ: margin ——, bound - -", "gap": "1 − margin / bound, %"}


@dataclass(frozen=True)
class Series:
    """The way of one solver to its result; solvers that cannot be watched have their end alone."""

    algorithm: str
    points: tuple[TracePoint, ...]

    def at(self, x: str) -> list[TracePoint]:
        """The points that have a place on the axis ``x``."""
        return [point for point in self.points if (getattr(point, x) or 0) > 0]


def series(row: Row, traces: Mapping[str, Sequence[TracePoint]]) -> list[Series]:
    """The solvers of a row that have a certificate, each with the trace of its first seed.

    Parameters
    ----------
    row : Row
    traces : mapping
        :meth:`Record.cell_key` to the points kept while the cell ran.
    """
    found = []
    for cell in row.cells.values():
        record = _first(cell)
        if record is None:
            continue
        points = [p for p in traces.get(record.cell_key(), ()) if _shown(p)]
        if record.train_seconds is not None:
            end = TracePoint(
                record.full_epochs or 0,
                record.updates or 0,
                record.train_seconds,
                record.margin,
                record.bound,
            )
            points = [*(p for p in points if p.seconds < end.seconds), end]
        if points:
            found.append(Series(cell.algorithm, tuple(_thin(points))))
    return found


def convergence(
    row: Row, found: Sequence[Series], gamma: Interval | None, x: str, view: str, identifier: str
) -> str | None:
    """Margin and bound, or the gap between them, as training goes on.

    Parameters
    ----------
    row : Row
    found : sequence of Series
    gamma : Interval, optional
        γ_d, drawn as a line.
    x : {"updates", "seconds"}
    view : {"margin", "gap"}
    identifier : str
        The ``id`` of the drawing.

    Returns
    -------
    str or None
        None when no solver has a place on the axes.
    """
    bottom = svg.HEIGHT - svg.BOTTOM
    floor = (gamma.upper if gamma else 0.0) * LOWEST
    paths = {one.algorithm: _paths(one, x, view, floor) for one in found}
    drawn = [point for lines in paths.values() for _, line in lines for point in line]
    if not drawn:
        return None
    references = [("γ_d", 1e4 * gamma.upper)] if gamma and view == "margin" else []
    references += [("ε", 100 * row.problem.eps)] if view == "gap" else []
    across = svg.Axis.over([px for px, _ in drawn], svg.LEFT, svg.WIDTH - svg.RIGHT)
    heights = [py for _, py in drawn] + [height for _, height in references]
    up = svg.Axis.over(heights, bottom, svg.TOP)
    parts = svg.frame(across, up, AXES[x], VIEWS[view], bottom)
    for name, height in references:
        level = [(across.start, up(height)), (across.end, up(height))]
        parts += [svg.line(level, "reference"), svg.text(svg.LEFT + 6, up(height) - 6, name, "tick")]
    for algorithm, lines in paths.items():
        shape = svg.style(algorithm)[2]
        marks = []
        for kind, line in lines:
            pixels = [(across(px), up(py)) for px, py in line]
            if len(pixels) > 1:
                marks.append(svg.line(pixels, kind))
            group = "rings" if kind == "bound" else "dots"
            marks.append(
                f'<g class="{group}">' + "".join(svg.marker(shape, *p) for p in _apart(pixels)) + "</g>"
            )
        parts.append(f'<g class="series {svg.class_of(algorithm)}">' + "".join(marks) + "</g>")
    scale = (
        f' data-x="{x}" data-low="{across.low!r}" data-high="{across.high!r}"'
        f' data-start="{across.start}" data-end="{across.end}"'
    )
    what = "margin and bound" if view == "margin" else "certified accuracy"
    heading = f"{row.label}: {what} against {AXES[x]}"
    return svg.drawing(identifier, heading, _ends(found), parts, svg.HEIGHT, scale)


def bars(row: Row, name: str, identifier: str) -> str | None:
    """One bar a solver on a logarithmic axis: ``train_seconds`` or ``updates``; time limits stay open."""
    entries = []
    for cell in row.cells.values():
        value = cell.mean(name) or (cell.least_seconds if name == "train_seconds" else None)
        if value:
            entries.append((cell.algorithm, value, bool(cell.done)))
    if not entries:
        return None
    step, left, right = 30, 118, 96
    bottom = svg.TOP + step * len(entries) + 6
    lowest = min(value for _, value, _ in entries)
    axis = svg.Axis.over([lowest / 2, *(v for _, v, _ in entries)], left, svg.WIDTH - right)
    label = "CPU seconds of training" if name == "train_seconds" else "updates"
    parts = svg.frame(axis, None, "", label, bottom)
    for k, (algorithm, value, done) in enumerate(entries):
        y, end, kind = svg.TOP + 4 + step * k, axis(value), "bar" if done else "open"
        written = number(value) if name == "train_seconds" else _count(value)
        parts.append(svg.text(left - 10, y + 16, title(algorithm), "name end"))
        box = f'x="{left}" y="{y}" width="{end - left:.1f}" height="{step - 9}" rx="2"'
        parts.append(f'<g class="{svg.class_of(algorithm)}"><rect class="{kind}" {box}/></g>')
        parts.append(svg.text(end + 7, y + 16, written if done else f"> {written}", "name"))
    described = ", ".join(f"{title(a)} {'' if done else 'more than '}{number(v)}" for a, v, done in entries)
    return svg.drawing(identifier, f"{row.label}: {label}", described, parts, bottom + 26)


def scaling(rows: Sequence[Row], identifier: str) -> tuple[str, list[str]] | None:
    """Training time against stored non-zeros of the data sets, and whose; None below three sizes."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for cell in row.cells.values():
            record, seconds = _first(cell), cell.mean("train_seconds")
            if record is not None and record.nnz and seconds:
                lines.setdefault(cell.algorithm, []).append((record.nnz, seconds))
    lines = {a: sorted(points) for a, points in lines.items() if len({x for x, _ in points}) > 2}
    if not lines:
        return None
    bottom = svg.HEIGHT - svg.BOTTOM
    every = [point for points in lines.values() for point in points]
    across = svg.Axis.over([x for x, _ in every], svg.LEFT, svg.WIDTH - svg.RIGHT)
    up = svg.Axis.over([y for _, y in every], bottom, svg.TOP)
    parts = svg.frame(across, up, "stored non-zeros of the data set", AXES["seconds"], bottom)
    for algorithm, points in lines.items():
        pixels = [(across(x), up(y)) for x, y in points]
        dots = "".join(svg.marker(svg.style(algorithm)[2], *p) for p in pixels)
        path = svg.line(pixels, "trend")
        parts.append(f'<g class="series {svg.class_of(algorithm)}">{path}<g class="dots">{dots}</g></g>')
    described = "; ".join(
        f"{title(a)}: " + ", ".join(f"{number(y)} s at {_count(x)}" for x, y in points)
        for a, points in lines.items()
    )
    return svg.drawing(identifier, "Training time against size", described, parts, svg.HEIGHT), list(lines)


def _paths(one: Series, x: str, view: str, floor: float) -> list[tuple[str, list[tuple[float, float]]]]:
    points = one.at(x)
    if view == "gap":
        gap = [(getattr(p, x), 100 * (1 - p.margin / p.bound)) for p in points if p.bound > 0]
        line = [(px, py) for px, py in gap if 0 < py < 1000]
        return [("margin", line)] if line else []
    margins = [(getattr(p, x), 1e4 * p.margin) for p in points if p.margin > max(floor, 0.0)]
    bounds = [(getattr(p, x), 1e4 * p.bound) for p in points if 0 < p.bound < float("inf")]
    return [(kind, line) for kind, line in (("margin", margins), ("bound", bounds)) if line]


def _shown(point: TracePoint) -> bool:
    """Whether it can be drawn; a bound that is infinite, before the first update, can."""
    return None not in (point.margin, point.bound) and math.isfinite(point.margin)


def _first(cell: Cell) -> Record | None:
    """The record whose course is shown: that of the lowest seed, a converged one if there is."""
    certified = [r for r in cell.done or cell.undone if r.margin is not None and r.bound is not None]
    return min(certified, key=lambda record: record.seed, default=None)


def _thin(points: Sequence[TracePoint]) -> list[TracePoint]:
    """At most so many points that a page stays small; the ends stay."""
    step = -(-len(points) // MOST_POINTS)
    kept = list(points[::step])
    return kept if kept[-1] is points[-1] else [*kept, points[-1]]


def _apart(pixels: Sequence[tuple[float, float]], distance: float = 24.0) -> list[tuple[float, float]]:
    """The last pixel, and before it those far enough from the next that their markers do not pile up."""
    kept = [pixels[-1]]
    for x, y in reversed(pixels[:-1]):
        if max(abs(kept[-1][0] - x), abs(kept[-1][1] - y) / 2) >= distance:
            kept.append((x, y))
    return kept


def _ends(found: Iterable[Series]) -> str:
    ends = (
        f"{title(s.algorithm)} ends at margin {number(1e4 * s.points[-1].margin, 4)} and bound "
        f"{number(1e4 * s.points[-1].bound, 4)} (10⁻⁴) after {number(s.points[-1].seconds)} s"
        for s in found
    )
    return "; ".join(ends) + "."


def _count(value: float) -> str:
    """A large count in words of thousands."""
    for factor, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{number(value / factor)} {name}"
    return number(value)
