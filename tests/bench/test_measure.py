"""What stands around a solver's run: failures as records, memory."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from pdmbench.bench import measure, memory
from pdmbench.bench.plan import Cell
from pdmbench.errors import DataError, DownloadError, SolverUnavailable
from pdmbench.solvers.base import BudgetExhausted, Status


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (DownloadError("not found", "x"), Status.UNAVAILABLE, "x: not found"),
        (SolverUnavailable("no program"), Status.UNAVAILABLE, "no program"),
        (DataError("a\nb", "x, line 2"), Status.FAILED, "x, line 2: a b"),
        (MemoryError("no\nroom"), Status.FAILED, "MemoryError: no room"),
        (BudgetExhausted(Status.TIME_LIMIT), Status.TIME_LIMIT, None),
    ],
)
def test_an_exception_becomes_a_status_and_one_line(error, status, line):
    record = measure.failure(Cell(dataset="a", algorithm="pdm"), None, error)
    assert (record.status, record.error) == (status, line)


def test_eta_and_beta_are_recorded_where_they_mean_something():
    cells = {
        name: Cell(dataset="a", algorithm=name, eta=4.0) for name in ("pdm", "pdm-succ", "pfm", "pfm-succ")
    }
    blanks = {name: measure.blank(cell, status=Status.FAILED) for name, cell in cells.items()}
    assert [blanks[name].eta for name in cells] == [None, 4.0, None, 4.0]
    assert [blanks[name].beta_from for name in cells] == [None, None, "pdm", "pdm-succ"]


def test_pfm_needs_a_positive_margin_to_aim_at():
    cell = Cell(dataset="a", algorithm="pdm")
    assert measure.target(measure.blank(cell, status=Status.TIME_LIMIT, margin=0.1)) == 0.1
    for values in ({"status": Status.FAILED}, {"status": Status.TIME_LIMIT, "margin": -0.1}):
        with pytest.raises(SolverUnavailable, match="pdm gave no positive margin"):
            measure.target(measure.blank(cell, **values))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells own memory from mapped files")
def test_own_memory_counts_what_is_allocated_and_not_what_is_mapped(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.ones(2**22))
    before = memory.own(os.getpid())
    mapped = np.load(file, mmap_mode="r")
    assert mapped.sum() == 2**22
    assert memory.own(os.getpid()) - before < 16
    block = np.ones(2**23)
    assert memory.own(os.getpid()) - before > 60
    assert memory.peak_rss() > block.nbytes / 2**20


def test_memory_of_a_process_that_is_gone_is_not_known():
    assert memory.own(2**22 + 1) is None


def test_data_whose_weight_vectors_do_not_fit_into_memory_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "few.svm"
    path.write_text("+1 1:1 10000000:1\n-1 2:1\n")  # three vectors of 10⁷ numbers: 229 MiB
    cell = Cell(dataset=str(path), algorithm="pdm", delta=1.0)
    monkeypatch.setattr(memory, "available", lambda: 200.0)
    with pytest.raises(DataError, match="10,000,000 features: weight vectors take"):
        measure.prepare(cell, print)
    monkeypatch.setattr(memory, "available", lambda: 240.0)
    assert measure.prepare(cell, print).problem.n == 10_000_000
