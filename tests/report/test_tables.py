"""The paper's tables from hand-made records: columns, units, reasons, footnotes, formats."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess

import pytest

from pdmbench.errors import UsageError
from pdmbench.report import tables
from pdmbench.report.published import Published


def cells(table, row=0):
    return [entry.marked for entry in table.lines[row].entries]


def column_names(table):
    return [(column.algorithm, column.quantity.heading) for column in table.columns]


def test_table1_has_the_columns_of_the_paper(make):
    """algorithms.md 12."""
    table = tables.build(1, [make("adult", "pdm")])
    assert column_names(table) == [
        ("pdm", "10⁴γ'_d"),
        ("pdm", "10⁻⁶ upd"),
        ("pdm", "s"),
        ("pfm", "10⁻⁶ upd"),
        ("pfm", "s"),
        ("pdm-succ", "10⁴γ'_d"),
        ("pdm-succ", "10⁻⁶ upd"),
        ("pdm-succ", "s"),
        ("pfm-succ", "10⁻⁶ upd"),
        ("pfm-succ", "s"),
    ]
    assert [label for label, _ in table.groups] == ["PDM ε = 0.01", "PFM", "PDM-succ ε = 0.01", "PFM"]


def test_table2_has_the_columns_of_the_paper_and_libsvm_under_its_own_name(make):
    table = tables.build(2, [make("adult", "mpu")])
    assert column_names(table) == [
        ("romma", "10⁴γ'_d"),
        ("romma", "s"),
        ("svm-light", "10⁴γ'"),
        ("svm-light", "s"),
        ("svm", "10⁴γ'"),
        ("svm", "s"),
        ("dcd-l1", "10⁴γ'_d"),
        ("dcd-l1", "s"),
        ("dcd-l2", "s"),
        ("mpu", "10⁴γ'_d"),
        ("mpu", "s"),
    ]
    assert ("SVM-light", 2) in table.groups
    assert ("LIBSVM", 2) in table.groups


def test_numbers_are_in_the_units_of_the_paper(make):
    table = tables.build(1, [make("adult", "pdm", margin=0.008461, updates=27_100_000, train_seconds=1.534)])
    assert cells(table)[:3] == ["84.61", "27.1", "1.53"]
    assert cells(table)[3:] == ["–"] * 7


def test_the_svm_columns_show_the_geometric_margin(make):
    table = tables.build(2, [make("adult", "svm", margin=0.008, geometric_margin=0.0085)])
    assert cells(table)[4] == "85.00"


def test_rows_stand_in_the_order_of_the_paper_and_own_data_behind(make):
    records = [make("my/own.svm.gz", "pdm"), make("web", "pdm"), make("adult", "pdm")]
    table = tables.build(1, records)
    assert [line.headings[0] for line in table.lines] == ["Adult", "Web", "own.svm.gz"]


def test_other_data_stand_in_the_order_they_came_also_where_they_could_not_be_read(make, unfinished):
    lost = unfinished("first", "pdm", "failed", error="x", digest=None, delta=None)
    table = tables.build(1, [lost, make("second", "pdm")])
    assert [line.headings[0] for line in table.lines] == ["first", "second"]


def test_seeds_become_mean_and_standard_deviation(make):
    records = [make("adult", "pdm", seed=s, train_seconds=t) for s, t in enumerate((1.0, 2.0, 3.0))]
    table = tables.build(1, records)
    assert table.lines[0].entries[2].mean == 2.0
    assert table.lines[0].entries[2].std == 1.0  # with n − 1
    assert cells(table)[2] == "2.00 ± 1.00"
    assert table.remarks == ("Mean ± standard deviation over 3 seeds.",)


def test_the_last_finished_run_of_a_cell_counts(make, unfinished):
    records = [
        make("adult", "pdm", train_seconds=1.0),
        make("adult", "pdm", train_seconds=2.0),
        unfinished("adult", "pdm", "interrupted"),
        unfinished("adult", "pdm", "time-limit", time_limit=1.0),
    ]
    assert cells(tables.build(1, records))[2] == "2.00"


@pytest.mark.parametrize(
    ("status", "fields", "margin", "seconds"),
    [
        ("time-limit", {"time_limit": 3600.0}, "> limit", "> 3600"),
        ("epoch-limit", {"full_epochs": 50, "margin": 0.5, "train_seconds": 1.0}, "> limit", "> 50 epochs"),
        ("unavailable", {"error": "no svm_learn on the path"}, "n/a", "n/a¹"),
        ("failed", {"error": "killed by signal 9"}, "failed", "failed¹"),
        ("interrupted", {}, "–", "–"),
    ],
)
def test_a_cell_without_a_finished_run_shows_why(unfinished, status, fields, margin, seconds):
    table = tables.build(2, [unfinished("adult", "romma", status, **fields)])
    assert cells(table)[:2] == [margin, seconds]
    assert table.lines[0].entries[0].mean is None
    assert list(table.notes) == ([fields["error"]] if "error" in fields else [])


def test_data_that_could_not_be_had_join_the_row_they_belong_to(make, unfinished):
    nothing = {"digest": None, "delta": None, "m": None, "R": None}
    records = [
        unfinished("adult", "pdm", "unavailable", error="offline", **nothing),
        make("adult", "pfm", beta=0.0099, beta_from="pdm"),
        unfinished("physics", "pdm", "unavailable", error="offline", **nothing),
        unfinished("physics", "pfm", "unavailable", error="offline", **nothing),
    ]
    table = tables.build(1, records)
    assert [line.headings[0] for line in table.lines] == ["Adult", "Physics"]
    assert cells(table)[2:5] == ["n/a¹", "2.00", "1.00"]
    assert table.notes == ("offline",)  # once, though three cells have it


def test_a_seed_that_did_not_converge_is_a_footnote(make, unfinished):
    records = [make("adult", "pdm"), unfinished("adult", "pdm", "time-limit", seed=1, time_limit=60.0)]
    table = tables.build(1, records)
    assert cells(table)[2] == "1.00¹"
    assert table.notes == ("1 of 2 seeds did not converge (> 60).",)


def test_notes_of_records_are_footnotes_at_the_time(make):
    table = tables.build(2, [make("adult", "dcd-l2", note="liblinear switched to its primal solver")])
    assert cells(table)[8] == "1.00¹"
    assert table.notes == ("liblinear switched to its primal solver",)


def test_jobs_at_once_are_told(make):
    assert "up to 4 cells" in tables.build(1, [make("adult", "pdm", jobs=4)]).remarks[0]


def test_other_settings_of_a_data_set_are_rows_of_their_own(make):
    records = [make("adult", "pdm"), make("adult", "pdm", delta=0.5), make("web", "pdm")]
    table = tables.build(1, records)
    assert [line.headings[0] for line in table.lines] == ["Adult, Δ = 1", "Adult, Δ = 0.5", "Web"]
    several = tables.build(1, [make("adult", "pdm"), make("adult", "pdm", eps=0.1)])
    assert [line.headings[0] for line in several.lines] == ["Adult, ε = 0.01", "Adult, ε = 0.1"]
    assert several.groups[0][0] == "PDM"


def test_the_variant_of_the_paper_wins_over_a_newer_one(make):
    records = [make("adult", "pdm-succ", eta=8.0), make("adult", "pdm-succ", eta=4.0, train_seconds=9.0)]
    assert cells(tables.build(1, records))[7] == "1.00"
    assert cells(tables.build(1, records[1:]))[7] == "9.00¹"
    given = tables.build(1, [make("adult", "pfm", beta=0.0085)])
    assert given.notes == ("β = 0.0085, given by the user.",)


def test_solvers_outside_the_paper_have_a_table_of_their_own(make):
    records = [make("adult", "pdm"), make("adult", "cd", updates=None), make("adult", "my-plug-in")]
    third = tables.build_all(records)[2]
    assert [line.headings for line in third.lines] == [("Adult", "CD (ours)"), ("Adult", "my-plug-in")]
    assert cells(third)[0:5] == ["99.00", "100.0", "1.0", "–", "1.00"]
    assert len(tables.build_all(records[:1])) == 2


def test_text_is_aligned(make):
    lines = tables.render(tables.build(1, [make("adult", "pdm"), make("web", "pdm")]), "text").splitlines()
    assert lines[1].split() == ["PDM", "ε", "=", "0.01", "PFM", "PDM-succ", "ε", "=", "0.01", "PFM"]
    assert len(lines[4].rstrip()) == len(lines[3])
    assert lines[4].split() == ["Adult", "99.00", "2.00", "1.00", *["–"] * 7]


def test_no_records_are_said(make):
    assert "(no records)" in tables.render(tables.build(1, []), "text")


def test_markdown_is_a_pipe_table(make):
    lines = tables.render(tables.build(1, [make("adult", "pdm")]), "markdown").splitlines()
    assert lines[2].startswith("| Data set | PDM ε = 0.01 10⁴γ'\\_d |")
    assert lines[3] == "|:--|" + "--:|" * 10
    assert lines[4].startswith("| Adult | 99.00 | 2.00 | 1.00 | – |")


def test_csv_has_plain_numbers_and_the_standard_deviation(make):
    records = [make("adult", "pdm", seed=s, train_seconds=t) for s, t in enumerate((1.0, 2.0))]
    read = list(csv.DictReader(io.StringIO(tables.render(tables.build(1, records), "csv"))))
    assert float(read[0]["pdm s"]) == 1.5
    assert float(read[0]["pdm s std"]) == pytest.approx(0.5**0.5)
    assert float(read[0]["pdm 10⁴γ'_d"]) == pytest.approx(99.0)
    assert read[0]["pfm s"] == "–"


def test_csv_carries_the_footnotes_too(make):
    table = tables.build(2, [make("adult", "dcd-l2", note="liblinear switched"), make("web", "mpu")])
    read = list(csv.DictReader(io.StringIO(tables.render(table, "csv"))))
    assert [line["notes"] for line in read] == ["liblinear switched", ""]


def test_json_has_numbers_and_reasons_apart(make):
    read = json.loads(tables.render(tables.build(1, [make("adult", "pdm")]), "json"))
    pdm = read["rows"][0]["cells"][2]
    assert (pdm["algorithm"], pdm["quantity"], pdm["mean"], pdm["why"]) == ("pdm", "train_seconds", 1.0, None)
    assert read["rows"][0]["cells"][3]["why"] == "–"
    assert len(json.loads(tables.render(tables.build_all([make("adult", "cd")]), "json"))) == 3


def test_an_unknown_format_is_a_usage_error(make):
    with pytest.raises(UsageError, match="html"):
        tables.render(tables.build(1, []), "html")


def test_published_numbers_stand_below_ours_with_the_ratio(make):
    printed = Published(
        "here", {"eps": 0.01, "rho": 1.0}, {"adult": 1.0}, {("adult", "pdm", "train_seconds"): 4.0}
    )
    table = tables.build(1, [make("adult", "pdm"), make("adult", "pdm", delta=0.5)], printed)
    assert table.lines[0].entries[2].published == 4.0
    assert table.lines[0].entries[2].ratio == 0.25
    assert all(entry.published is None for entry in table.lines[1].entries)  # another Δ is not the paper's
    body = tables.as_grid(table).rows
    assert body[1][:4] == ["  printed in the paper", "", "", "4.00"]
    assert body[2][:4] == ["  ours / printed", "", "", "0.250"]


def awkward(make, unfinished):
    """Names and reasons with every character TeX minds, and one it has no sign for."""
    return [
        make("100%_{a}$b^~#&\\ünï中.svm", "pdm", note="<50 % & more: a_b ~ c^2 \\ {x} ± γ'_d"),
        unfinished("adult", "romma", "time-limit", time_limit=10.0),
        make("adult", "cd"),
        *(make("web", "pdm", seed=s, train_seconds=1.0 + s) for s in range(3)),
    ]


@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "as an input"])
def test_latex_compiles(make, unfinished, tmp_path, wrapped):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    source = tables.render(tables.build_all(awkward(make, unfinished)), "latex")
    (tmp_path / "tables.tex").write_text(source, encoding="utf-8")
    main = r"\documentclass{article}\begin{document}before \input{tables} after\end{document}"
    (tmp_path / "main.tex").write_text(main)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex" if wrapped else "tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_latex_balances_without_a_compiler(make, unfinished):
    source = tables.render(tables.build_all(awkward(make, unfinished)), "latex")
    assert source.isascii()
    assert source.count(r"\begin{tabular}") == source.count(r"\end{tabular}") == 3
