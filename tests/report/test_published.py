"""The file of printed numbers: empty as shipped, checked when filled in."""

from __future__ import annotations

import pytest

from pdmbench.errors import UsageError
from pdmbench.report import published, tables
from pdmbench.report.cells import DATASETS
from pdmbench.resources import folder

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


def write(tmp_path, text):
    path = tmp_path / "published.toml"
    path.write_text(text)
    return path


def test_nothing_is_invented():
    """Our copy of the paper lost the numbers (algorithms.md 12): the shipped file has none."""
    assert published.load().values == {}


def test_the_shipped_file_has_a_place_for_every_cell():
    content = tomllib.loads((folder("configs") / "published.toml").read_text(encoding="utf-8"))
    for table, printed in published.PRINTED.items():
        assert list(content[table]) == list(DATASETS)
        for cells in content[table].values():
            assert {a: tuple(c) for a, c in cells.items()} == printed


def test_an_empty_file_is_said_below_the_table(make):
    table = tables.build(1, [make("adult", "pdm")], published.load())
    assert "No published number" in table.remarks[-1]


def test_filled_cells_are_found_for_the_settings_of_the_paper(make, tmp_path):
    path = write(
        tmp_path,
        "[settings]\neps = 0.01\n[delta]\nadult = 1\n"
        "[table2.adult]\nmpu = { margin = 12.5, train_seconds = '' }\n",
    )
    table = tables.build(2, [make("adult", "mpu")], published.load(path))
    entry = next(
        e for e, c in zip(table.lines[0].entries, table.columns, strict=True) if c.algorithm == "mpu"
    )
    assert entry.published == 12.5
    other = tables.build(2, [make("adult", "mpu", eps=0.1)], published.load(path))
    assert not any(e.published for e in other.lines[0].entries)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[table3.adult]\n", "did you mean table"),
        ("[table1.adult]\npdmm = {margin = 1}\n", "did you mean pdm"),
        ("[table1.adult]\npdm = {margn = 1}\n", "did you mean margin"),
        ("[table1.adult]\npdm = {margin = 'about 80'}\n", "positive number"),
        ("[table1.adult]\npdm = {margin = true}\n", "positive number"),
        ("[table1.adult]\npdm = 3\n", "must be a table"),
        ("[table1\n", "not valid TOML"),
        ("[settings]\nepsilon = 1\n", "unknown key epsilon"),
    ],
)
def test_a_file_that_means_nothing_is_a_usage_error(tmp_path, text, said):
    with pytest.raises(UsageError, match=said):
        published.load(write(tmp_path, text))
