"""Axes, ticks and marks: where a value lands and what is left out."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pdmbench.report import plots, svg
from pdmbench.report.cells import interval, rows
from pdmbench.solvers.base import TracePoint


def test_an_axis_is_logarithmic():
    axis = svg.Axis(1.0, 100.0, 0.0, 200.0)
    assert [axis(v) for v in (1.0, 10.0, 100.0)] == pytest.approx([0.0, 100.0, 200.0])


def test_an_axis_has_room_around_its_values_and_around_a_single_one():
    axis = svg.Axis.over([2.0, 50.0], 0.0, 1.0)
    assert axis.low < 2.0
    assert axis.high > 50.0
    single = svg.Axis.over([5.0], 0.0, 1.0)
    assert single.high / single.low == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.5, 2000.0, ["1", "10", "100", "1000"]),
        (0.9, 11.0, ["1", "2", "5", "10"]),
        (1e4, 1e7, ["10⁴", "10⁵", "10⁶", "10⁷"]),
        (1.5e4, 6e4, ["2·10⁴", "5·10⁴"]),
        (1e-6, 1e-4, ["10⁻⁶", "10⁻⁵", "10⁻⁴"]),
    ],
)
def test_ticks(low, high, ticks):
    assert [svg.tick_text(value) for value in svg.Axis(low, high, 0, 1).ticks()] == ticks


def test_there_are_never_too_many_ticks():
    assert len(svg.Axis(1e-30, 1e30, 0, 1).ticks()) <= 10


def test_colours_differ_between_the_solvers_of_the_paper():
    assert len({style[0] for style in svg.STYLES.values()}) == len(svg.STYLES)


@pytest.mark.parametrize("k", [0, 1], ids=["light", "dark"])
def test_colours_stand_out_from_the_paper(k):
    """WCAG 1.4.11: graphics need a contrast of 3 : 1."""
    paper = ("#ffffff", "#15181b")[k]

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for style in [*svg.STYLES.values(), *svg._MORE]:
        bright, dim = sorted((luminance(style[k]), luminance(paper)), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 3.0, style


def test_a_trace_ends_at_the_record(make):
    record = make("adult", "pdm", train_seconds=1.0)
    row = rows([record])[0]
    points = [TracePoint(1, 10, 0.5, 0.001, 0.02), TracePoint(2, 20, 1.01, 0.002, 0.02)]
    found = plots.series(row, {record.cell_key(): points})
    assert [p.seconds for p in found[0].points] == [0.5, 1.0]
    assert found[0].points[-1].margin == record.margin


def test_solvers_that_do_not_count_updates_have_no_place_on_that_axis(make):
    records = [make("adult", "dcd-l2", updates=None)]
    row = rows(records)[0]
    found = plots.series(row, {})
    gamma = interval(records, row.problem)
    assert plots.convergence(row, found, gamma, "updates", "margin", "c") is None
    assert plots.convergence(row, found, gamma, "seconds", "margin", "c") is not None


def test_scaling_needs_three_sizes(make):
    records = [make("adult", "pdm", nnz=10), make("web", "pdm", nnz=20)]
    assert plots.scaling(rows(records), "s") is None
    assert plots.scaling(rows([*records, make("physics", "pdm", nnz=30)]), "s") is not None


def test_margins_far_below_zero_have_no_place_beside_a_bound(make):
    """Inseparable data without Δ: 1 − margin/bound is beyond the axis, for one solver or for all."""
    records = [make("adult", "pdm", margin=-2.0, bound=1e-6), make("adult", "mpu")]
    for some, drawn in ((records[:1], False), (records, True)):
        row = rows(some)[0]
        chart = plots.convergence(row, plots.series(row, {}), None, "updates", "gap", "c")
        assert (chart is not None) is drawn


def test_a_time_limit_is_an_open_bar(make, unfinished):
    records = [make("adult", "pdm"), unfinished("adult", "svm", "time-limit", time_limit=300.0)]
    chart = plots.bars(rows(records)[0], "train_seconds", "b")
    assert chart.count('class="open"') == 1
    assert "&gt; 300" in chart


def test_a_chart_can_stand_alone(make):
    records = [make("adult", "pdm"), make("adult", "mpu")]
    row = rows(records)[0]
    chart = plots.convergence(
        row, plots.series(row, {}), interval(records, row.problem), "seconds", "gap", "c"
    )
    tree = ElementTree.fromstring(svg.standalone(chart, ["pdm", "mpu"]))
    assert tree.tag == "{http://www.w3.org/2000/svg}svg"
