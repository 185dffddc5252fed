"""The report as one HTML page that needs nothing beside itself: no network, no library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite
from string import Template

from pdmbench.bench.record import Record
from pdmbench.report import bounds, claims, content, grid, plots, svg, tables
from pdmbench.report.cells import Row, interval, rows, title
from pdmbench.report.published import Published
from pdmbench.solvers.base import TracePoint

Traces = Mapping[str, Sequence[TracePoint]]

_MARKS = {claims.HOLDS: ("yes", "✓"), claims.FAILS: ("no", "✗"), claims.UNMEASURED: ("open", "–")}
_LEVELS = (50, 20, 10, 5, 2, 1)  # per cent, of the table beside a chart


def render(
    records: Sequence[Record],
    traces: Traces,
    environments: content.Environments,
    published: Published | None = None,
    command: str | None = None,
) -> str:
    """Make the page; the same records give the same page.

    Parameters
    ----------
    records : sequence of Record
    traces : mapping
        :meth:`Record.cell_key` to the points kept while the cell ran.
    environments : mapping
        Environment by id.
    published : Published, optional
        Numbers of the printed paper, shown below ours where there are any.
    command : str, optional
        The command that makes this page.

    Returns
    -------
    str
        A whole document.
    """
    records = list(records)
    found = rows(records)
    printed = published if published and published.values else None
    judged = claims.evaluate(records, environments)
    algorithms = list(dict.fromkeys(algorithm for row in found for algorithm in row.cells))
    sections = {
        "Tables": "\n".join(grid.html(tables.as_grid(t)) for t in tables.build_all(records, printed)),
        "Claims": _claims(judged),
        "Convergence": _convergence(records, found, traces),
        "Updates and time": _bars(found),
        "Scaling": _scaling(found),
        "Bounds": grid.html(bounds.as_grid(bounds.rows(records))),
        "Certificates": grid.html(content.problems(records)) + grid.html(content.certificates(records)),
        "Environment": "\n".join(map(grid.html, content.machines(records, environments))),
        "Reproduce": _commands(records, command),
    }
    sections = {name: body for name, body in sections.items() if body}
    return Template(svg.asset("page.html")).substitute(
        title=escape(content.TITLE),
        style=svg.asset("page.css") + svg.asset("chart.css") + svg.palette(algorithms),
        script=svg.asset("page.js"),
        lead="".join(
            f"<p>{grid.html_text(line)}</p>" for line in content.summary(records, judged, environments)
        ),
        navigation="".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in sections),
        sections="\n".join(
            f'<section id="{_anchor(name)}" aria-labelledby="{_anchor(name)}-h">'
            f'<h2 id="{_anchor(name)}-h">{name}</h2>\n{body}\n</section>'
            for name, body in sections.items()
        ),
    )


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _claims(judged: Sequence[claims.Claim]) -> str:
    items = []
    for claim in judged:
        kind, mark = _MARKS[claim.verdict]
        numbers = "".join(
            f"<tr><th scope='row'>{escape(row.dataset)}</th><td>{grid.html_text(row.text)}</td>"
            f"<td>{ {True: 'holds', False: 'does not', None: 'undecided'}[row.holds] }</td></tr>"
            for row in claim.rows
        )
        behind = (
            f"<details><summary>{claim.tally} rows</summary><table>{numbers}</table></details>"
            if numbers
            else ""
        )
        items.append(
            f'<li class="{kind}"><span class="id">{claim.id}</span><div><p>{grid.html_text(claim.text)}</p>'
            f'<p class="rule">{grid.html_text(claim.rule)}</p>{behind}</div>'
            f'<span class="verdict"><span aria-hidden="true">{mark}</span> {claim.verdict}</span></li>'
        )
    return f'<ol class="claims">{"".join(items)}</ol>'


def _convergence(records: Sequence[Record], found: Sequence[Row], traces: Traces) -> str:
    articles = []
    for k, row in enumerate(found):
        series = plots.series(row, traces)
        gamma = interval(records, row.problem)
        panels, axes = [], []
        for x in ("seconds", "updates"):
            charts = (
                plots.convergence(row, series, gamma, x, view, f"c{k}-{x}-{view}") for view in plots.VIEWS
            )
            drawn = "".join(chart for chart in charts if chart)
            if drawn:
                panels.append(
                    f'<div class="panel pair" data-x="{x}"{" hidden" if axes else ""}>{drawn}</div>'
                )
                axes.append(x)
        if not panels:
            continue
        articles.append(
            f'<article class="chart"><h3>{escape(row.label)}</h3>{_controls(k, axes)}{_legend(series)}'
            f'<figure tabindex="0" role="group" aria-label="Charts of {escape(row.label)}. '
            f'Arrow keys read their points.">{"".join(panels)}</figure>'
            f'<output aria-live="polite"></output>{_data(series)}{_levels(series)}</article>'
        )
    if articles and not any(traces.get(r.cell_key()) for r in records):
        keep = "<code>pdmbench run --trace FILE</code> keeps the way there"
        articles.insert(0, f'<p class="notes">No run was traced, so only ends are shown; {keep}.</p>')
    return "\n".join(articles)


def _controls(k: int, axes: Sequence[str]) -> str:
    """Radio buttons for the axis, shown by the script alone."""
    checked = ["checked", *[""] * (len(axes) - 1)]
    buttons = "".join(
        f'<label><input type="radio" name="x{k}" value="{x}" {state}>{plots.AXES[x]}</label>'
        for x, state in zip(axes, checked, strict=True)
    )
    return f'<fieldset class="controls" hidden><legend>against</legend>{buttons}</fieldset>'


def _legend(series: Sequence[plots.Series]) -> str:
    items = "".join(
        f'<label class="{svg.class_of(one.algorithm)}"><input type="checkbox" checked '
        f'value="{svg.class_of(one.algorithm)}">{_swatch(one.algorithm)}{escape(title(one.algorithm))}</label>'
        for one in series
    )
    return f'<div class="legend" role="group" aria-label="Solvers shown">{items}</div>'


def _swatch(algorithm: str) -> str:
    mark = svg.marker(svg.style(algorithm)[2], 8, 8, 4.6)
    return f'<svg class="swatch" viewBox="0 0 16 16" aria-hidden="true"><g class="dots">{mark}</g></svg>'


def _data(series: Sequence[plots.Series]) -> str:
    """The points for the script that reads them out."""
    points = [
        {
            "class": svg.class_of(one.algorithm),
            "title": title(one.algorithm),
            "updates": [p.updates for p in one.points],
            "seconds": [float(f"{p.seconds:.6g}") for p in one.points],
            "margin": [float(f"{1e4 * p.margin:.6g}") for p in one.points],
            "bound": [float(f"{1e4 * p.bound:.6g}") if isfinite(p.bound) else None for p in one.points],
        }
        for one in series
    ]
    text = json.dumps(points, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def _levels(series: Sequence[plots.Series]) -> str:
    """The chart in numbers: when each solver had first certified an accuracy."""
    body = []
    for one in series:
        cells = []
        for level in _LEVELS:
            reached = next((p for p in one.points if p.margin >= (1 - level / 100) * p.bound), None)
            cells.append("–" if reached is None else grid.number(reached.seconds))
        last = one.points[-1]
        body.append(
            [
                title(one.algorithm),
                *cells,
                grid.number(1e4 * last.margin, 5),
                grid.number(1e4 * last.bound, 5),
            ]
        )
    head = ["Solver", *(f"{level} %" for level in _LEVELS), "10⁴γ'_d", "10⁴ bound"]
    groups = (("", 1), ("CPU seconds until certified within", len(_LEVELS)), ("at the end", 2))
    table = grid.html(grid.Grid("", head, body, groups))
    return f"<details><summary>In numbers</summary>{table}</details>"


def _bars(found: Sequence[Row]) -> str:
    articles = []
    for k, row in enumerate(found):
        charts = [plots.bars(row, name, f"b{k}-{name}") for name in ("train_seconds", "updates")]
        drawn = "".join(f"<figure>{chart}</figure>" for chart in charts if chart)
        if drawn:
            articles.append(f'<article><h3>{escape(row.label)}</h3><div class="pair">{drawn}</div></article>')
    return "\n".join(articles)


def _scaling(found: Sequence[Row]) -> str:
    drawn = plots.scaling(found, "scaling-chart")
    if drawn is None:
        return ""
    chart, algorithms = drawn
    items = (f'<span class="{svg.class_of(a)}">{_swatch(a)}{escape(title(a))}</span>' for a in algorithms)
    return f'<div class="legend">{"".join(items)}</div><figure>{chart}</figure>'


def _commands(records: Sequence[Record], command: str | None) -> str:
    versions = sorted({record.version for record in records if record.version})
    needed = f"<p>With pdmbench {escape(' and '.join(versions))} installed:</p>" if versions else ""
    lines = escape("\n".join(content.commands(records, command)))
    digests = dict.fromkeys((row.label, row.problem.digest) for row in rows(records) if row.problem.digest)
    data = grid.Grid("Digests of the data", ["Data set", "SHA-256"], list(digests), (), "ll")
    return f'{needed}<pre tabindex="0"><code>{lines}</code></pre>' + (grid.html(data) if digests else "")
