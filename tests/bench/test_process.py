"""A cell in a new interpreter, as on systems without fork, gives what a forked one gives."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pdmbench.bench import measure
from pdmbench.bench.plan import Cell
from pdmbench.bench.process import FORK, CellProcess, Job, Outcome
from pdmbench.solvers.base import Status

MEASURED = (
    "train_seconds", "wall_seconds", "compile_seconds", "load_seconds", "peak_rss_mb", "peak_anon_mb",
    "started",
)  # fmt: skip


@pytest.fixture
def cell(tmp_path, cache, monkeypatch) -> Cell:
    """A file of our own; the processes find the solvers of the tests."""
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, here]))
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("RUNNING", str(tmp_path / "running"))
    (tmp_path / "a.svm").write_text("1 1:1 2:0.5\n-1 1:-1 2:0.3\n1 1:0.5 2:1\n-1 1:-0.5 2:-1\n")
    return Cell(dataset=str(tmp_path / "a.svm"), algorithm="pdm", delta=1.0)


def run(cell: Cell, fork: bool) -> Outcome:
    """Run a cell to its end."""
    notes: list[str] = []
    process = CellProcess(Job(cell=cell), measure.prepare(cell, notes.append), notes.append, fork)
    while (outcome := process.step()) is None:
        process.connection.poll(0.05)
    assert process not in CellProcess.alive
    return outcome


@pytest.mark.skipif(not FORK, reason="this system does not fork cells")
def test_both_ways_give_the_same_record_and_trace(cell):
    outcomes = [run(replace(cell, trace=True), fork) for fork in (True, False)]
    first, second = (replace(outcome.record, **dict.fromkeys(MEASURED)) for outcome in outcomes)
    assert first == second
    first, second = ([replace(point, seconds=0.0) for point in outcome.trace] for outcome in outcomes)
    assert first == second != []


def test_a_new_interpreter_is_ended_at_its_limit(cell):
    outcome = run(replace(cell, algorithm="solvers_for_workers:NeverEnds", time_limit=0.1), fork=False)
    assert outcome.record.status is Status.TIME_LIMIT
    pid = int((Path(cell.dataset).parent / "running").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
