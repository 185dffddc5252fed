"""A record survives its JSON exactly, and its key names the cell and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdmbench.bench.record import Record
from pdmbench.solvers.base import Status

FLOATS = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from(Status), FLOATS, FLOATS, st.none() | st.integers(0, 10**15), st.none() | st.text())
def test_json_is_exact_and_one_line(status, margin, bound, updates, error):
    record = Record(
        dataset="adult", algorithm="pdm", eps=0.01, rho=1.0, seed=0, status=status,
        margin=margin, bound=bound, updates=updates, error=error,
    )  # fmt: skip
    line = record.to_json()
    assert "\n" not in line
    assert Record.from_json(line) == record
    assert Record.from_json(line).status is status


@pytest.fixture
def record() -> Record:
    return Record(
        dataset="adult", algorithm="pfm", eps=0.01, delta=1.0, rho=1.0, seed=0, status=Status.CONVERGED
    )


def test_numbers_that_do_not_exist_are_null(record):
    assert json.loads(replace(record, margin=float("nan"), bound=float("inf")).to_json())["bound"] is None
    assert json.loads(replace(record, margin=float("nan")).to_json())["margin"] is None


def test_keys_of_other_versions_are_ignored(record):
    values = json.loads(record.to_json())
    assert Record.from_json(json.dumps(values | {"colour": "green"})) == record


@pytest.mark.parametrize("line", ["[]", "{", "{}", '{"dataset": "adult"}', "3", "[" * 100_000])
def test_what_is_no_record_is_refused(line):
    with pytest.raises(ValueError):
        Record.from_json(line)


@pytest.mark.parametrize(
    ("key", "value"), [("eps", "x"), ("eps", 2), ("seed", None), ("note", [1]), ("margin", True)]
)
def test_a_value_that_cannot_be_makes_no_record(record, key, value):
    values = json.loads(record.to_json())
    with pytest.raises(ValueError, match=f"{key} is "):
        Record.from_json(json.dumps(values | {key: value}))


@pytest.mark.parametrize(
    "change",
    [{"dataset": "web"}, {"algorithm": "pdm"}, {"eps": 0.1}, {"delta": 0.5}, {"rho": 2.0}, {"eta": 4.0},
     {"seed": 1}, {"digest": "0"}, {"positive": "2"}, {"beta": 0.5}],
)  # fmt: skip
def test_key_tells_cells_apart(record, change):
    assert replace(record, **change).cell_key() != record.cell_key()


@pytest.mark.parametrize(
    "change",
    [{"margin": 1.0}, {"status": Status.FAILED}, {"jobs": 2}, {"eps": 0.01}, {"delta": 1},
     {"beta": 0.5, "beta_from": "pdm"}, {"started": "2026-01-01T00:00:00+00:00"}],
)  # fmt: skip
def test_key_ignores_what_a_run_finds_out(record, change):
    assert replace(record, **change).cell_key() == record.cell_key()
