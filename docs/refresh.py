"""Draw the pictures of these pages and fill the tables of the README from the reference results.

    python docs/refresh.py [RESULTS]

RESULTS is ``results/reference`` by default. Without records the picture of a certificate is drawn alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from pdmbench.bench.store import Store
from pdmbench.report import plots, svg, tables
from pdmbench.report.cells import interval, rows, title

DOCS = Path(__file__).resolve().parent
README = DOCS.parent / "README.md"
SHOWN = "adult"  # the data set of the plot

# Reflected patterns of a plane and dual coefficients far from optimal, for the eye to see the gap.
PATTERNS = np.array([(2.2, 4.6), (5.2, 2.4), (7.0, 3.2), (6.6, 4.8), (4.0, 6.2), (5.3, 4.9)])
DUAL = np.array([1.0, 3.0, 0.0, 0.0, 1.0, 0.0])
HULL = 5  # the first patterns are the corners of the convex hull, in order


def certificate() -> str:
    """The picture of certificates.md: margin ≤ γ_d ≤ bound on the ray of a."""
    a = DUAL @ PATTERNS
    u = a / np.linalg.norm(a)
    margin, bound = float((PATTERNS @ u).min()), float(np.linalg.norm(a) / DUAL.sum())
    nearest = _nearest(*PATTERNS[:2])  # of the hull to the origin: on the edge of the first two
    gamma = float(np.linalg.norm(nearest))
    aside = np.array([-u[1], u[0]])

    def at(point: np.ndarray) -> tuple[float, float]:
        return 46 + 63 * float(point[0]), 412 - 63 * float(point[1])

    def path(points: list[np.ndarray], kind: str, close: bool = False) -> str:
        corners = "L".join("{:.1f} {:.1f}".format(*at(point)) for point in points)
        return f'<path class="{kind}" d="M{corners}{"z" * close}"/>'

    def label(point: np.ndarray, text: str, kind: str = "", turn: float = 0.0) -> str:
        x, y = at(point)
        turned = f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})"' if turn else ""
        body = text.replace("_d", '<tspan class="sub" dy="4">d</tspan><tspan dy="-4">\u200b</tspan>')
        body = body.replace("_k", '<tspan class="sub" dy="4">k</tspan><tspan dy="-4">\u200b</tspan>')
        return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{turned}>{body}</text>'

    def length(value: float, offset: float, text: str, kind: str) -> list[str]:
        """A dimension line beside the ray, from the origin to ``value``."""
        start, end, tick = -offset * aside, value * u - offset * aside, 0.09 * aside
        parts = [path([start, end], kind)]
        parts += [path([p - tick, p + tick], kind) for p in (start, end)]
        slope = -float(np.degrees(np.arctan2(u[1], u[0])))
        return [*parts, label(0.42 * value * u - (offset + 0.27) * aside, text, f"{kind} mid", slope)]

    origin, z, foot = np.zeros(2), bound * u, margin * u
    angles = np.radians(np.linspace(14.0, 80.0, 45))
    arc = [gamma * np.array([np.cos(t), np.sin(t)]) for t in angles]
    parts = [
        path(list(PATTERNS[:HULL]), "hull", close=True),
        path(arc, "truth thin"),
        path([origin, nearest], "truth"),
        path([origin, 1.2 * bound * u], "ray"),
        path([foot + 1.9 * aside, foot - 1.5 * aside], "margin thin"),
        *length(margin, 0.34, "margin γ'_d = min a·y_k / ‖a‖", "margin"),
        *length(bound, 0.94, "bound ‖a‖ / Σ I_k", "bound"),
    ]
    for point in PATTERNS:
        x, y = at(point)
        parts.append(f'<circle class="pattern" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    for point, kind in ((origin, "ink"), (foot, "margin"), (gamma * u, "truth"), (z, "bound")):
        x, y = at(point)
        parts.append(f'<circle class="{kind} dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
    parts += [
        label(np.array([-0.42, -0.12]), "0"),
        label(PATTERNS[4] + np.array([0.18, 0.12]), "patterns y_k and their convex hull"),
        label(0.6 * nearest + np.array([-0.42, 0.1]), "γ_d", "truth"),
        label(z + np.array([0.16, -0.2]), "a / Σ I_k", "bound"),
        label(1.2 * bound * u + np.array([0.1, 0.0]), "a = Σ I_k y_k"),
    ]
    words = (
        "Patterns in a plane with their convex hull. On the ray from the origin along a, the foot of the "
        "line through the closest pattern, at distance margin, comes first; then the circle around the "
        "origin that touches the hull, of radius γ_d; then a / Σ I_k, a point of the hull, at distance bound."
    )
    style = (
        "svg{--ink:#1d2327;--paper:#fff;--wash:#eceff1;--faint:#656e76;--m:#0062ad;--b:#c14a00;--t:#1d7a2e}"
        "@media(prefers-color-scheme:dark){svg{--ink:#e7e9eb;--paper:#15181b;--wash:#23292e;--faint:#9ba5ad;"
        "--m:#62b0f4;--b:#f39257;--t:#66d17c}}"
        "text{fill:var(--ink);font-size:15px}.sub{font-size:11px}.mid{text-anchor:middle}path{fill:none}"
        ".hull{fill:var(--wash);stroke:var(--faint)}.pattern{fill:var(--paper);stroke:var(--ink);stroke-width:2}"
        ".ray{stroke:var(--ink)}.ink{fill:var(--ink)}.margin{stroke:var(--m);stroke-width:2}"
        ".bound{stroke:var(--b);stroke-width:2}.truth{stroke:var(--t);stroke-width:2}"
        ".thin{stroke-width:1.3;stroke-dasharray:5 4}text.margin,.margin.dot{fill:var(--m);stroke:none}"
        "text.bound,.bound.dot{fill:var(--b);stroke:none}text.truth,.truth.dot{fill:var(--t);stroke:none}"
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 470" role="img" aria-labelledby="t d" '
        f'font-family="system-ui, sans-serif"><title id="t">Margin ≤ γ_d ≤ bound</title><desc id="d">{words}'
        f'</desc><style>{style}</style><rect width="640" height="470" fill="var(--paper)"/>{"".join(parts)}'
        "</svg>\n"
    )


def _nearest(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The point of the segment from p to q nearest to the origin."""
    d = q - p
    return p + np.clip(-(p @ d) / (d @ d), 0.0, 1.0) * d


def convergence(store: Store) -> str | None:
    """The plot of the README: certified accuracy against training time, with a legend below."""
    records = store.records()
    row = next((row for row in rows(records) if row.problem.dataset == SHOWN), None)
    found = plots.series(row, store.traces()) if row else []
    if not found:
        return None
    drawn = plots.convergence(row, found, interval(records, row.problem), "seconds", "gap", "convergence")
    names = [one.algorithm for one in found]
    legend = []
    for k, name in enumerate(names):
        x, y = svg.LEFT + 6 + 112 * (k % 5), svg.HEIGHT + 22 + 24 * (k // 5)
        mark = svg.marker(svg.style(name)[2], x, y - 5, 4.6)
        legend.append(f'<g class="{svg.class_of(name)}"><g class="dots">{mark}</g></g>')
        legend.append(svg.text(x + 11, y, title(name), "name"))
    height = svg.HEIGHT + 24 * (1 + (len(names) - 1) // 5) + 14
    drawn = drawn.replace(f"0 0 {svg.WIDTH} {svg.HEIGHT}", f"0 0 {svg.WIDTH} {height}", 1)
    return svg.standalone(drawn.replace("</svg>", "".join(legend) + "</svg>"), names)


def filled(text: str, content: str) -> str:
    """A page with what stands between its marks replaced."""
    return re.sub(
        r"(<!-- table -->\n).*(?=<!-- /table -->)", lambda m: m[1] + "\n" + content + "\n", text, flags=re.S
    )


def main() -> None:
    store = Store(sys.argv[1] if len(sys.argv) > 1 else "results/reference")
    (DOCS / "certificate.svg").write_text(certificate(), encoding="utf-8")
    records = store.records()
    if records:
        table = tables.render(tables.build_all(records), "markdown")
        README.write_text(filled(README.read_text(encoding="utf-8"), table), encoding="utf-8")
    if (plot := convergence(store)) is not None:
        (DOCS / "convergence.svg").write_text(plot, encoding="utf-8")


if __name__ == "__main__":
    main()
