"""Cells in processes of their own: limits, crashes, Ctrl-C, resume, two runners at once."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import psutil
import pytest
import scipy.sparse

from pdmbench import data, solvers
from pdmbench.bench.plan import Cell
from pdmbench.bench.process import CellProcess
from pdmbench.bench.record import Record
from pdmbench.bench.runner import Observer, Options, run_cells
from pdmbench.bench.store import Store
from pdmbench.errors import DownloadError, SolverUnavailable, UsageError
from pdmbench.patterns import Patterns
from pdmbench.solvers.base import BudgetExhausted, Solution, Solver, Status

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fakes reach the cells by fork")

X = np.array([[2.0, 1.0], [1.0, 2.0], [-1.0, -2.0], [-2.0, -1.0]])


def nap(seconds: float) -> None:
    """Wait without the processor."""
    threading.Event().wait(seconds)


def await_end(*processes: psutil.Process) -> None:
    """Wait until none of them runs; one that nobody has reaped yet does not."""
    for process in processes:
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            nap(0.01)


class Fake(Solver):
    """Returns the mean pattern at once, or does what its name says."""

    def __init__(self, name: str):
        self.name = name

    def warm_up(self, problem):
        if self.name == "missing":
            raise SolverUnavailable("no such program", fix="install it")

    def solve(self, problem, settings, monitor):
        monitor.start()
        status = getattr(self, self.name, lambda *_: None)(problem, settings, monitor) or Status.CONVERGED
        weights = np.array([1.0, 1.0, 0.0])
        return Solution(status, weights, np.ones(4), 4 + settings.seed, 8, monitor.epochs, 0.0)

    def crash(self, *_):
        raise RuntimeError("two\nlines")

    def suicide(self, *_):
        faulthandler.disable()  # pytest's
        os.kill(os.getpid(), signal.SIGSEGV)

    def sleepy(self, *_):
        nap(600)

    def busy(self, problem, settings, monitor):
        try:
            while True:
                monitor.epoch(problem, 1, lambda: (np.ones(3), np.ones(4)))
        except BudgetExhausted as end:
            return end.status

    def hungry(self, *_):
        block = np.ones(2**26)  # 512 MiB
        nap(600)
        return block

    def parent(self, *_):
        subprocess.run(["sleep", "600"], check=False)


@pytest.fixture(autouse=True)
def fakes(monkeypatch, cache):
    """Data sets by name; solvers by what they do."""

    def load(source, positive=None, report=None):
        if source == "gone":
            raise DownloadError("not found", "gone", "look elsewhere")
        patterns = Patterns.from_csr(scipy.sparse.csr_array(X))
        delta = None if source == "own" else 1.0
        return data.DataSet(
            source, patterns, np.array([1, 1, -1, -1], np.int8), delta, (), f"digest of {source}", 2
        )

    monkeypatch.setattr(data, "load", load)
    monkeypatch.setattr(data, "names", list)
    monkeypatch.setattr(solvers, "get", Fake)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results")


def run(store, *cells, on_start=lambda cell: None, notes=None, **options) -> list[Record]:
    """Run cells; returns their records in the order they ended."""
    found = []
    report = (lambda line: None) if notes is None else notes.append
    observer = Observer(
        on_start=on_start, on_record=lambda record, trace: found.append(record), report=report
    )
    run_cells(list(cells), store, {"cpu": "x"}, Options(**options), observer)
    return found


def test_a_record_says_what_was_asked_and_what_came(store):
    (record,) = run(store, Cell(dataset="a", algorithm="plain", seed=3, eps=0.5))
    assert store.records() == [record]
    assert (record.dataset, record.algorithm, record.eps, record.delta, record.seed) == (
        "a",
        "plain",
        0.5,
        1.0,
        3,
    )
    assert (record.m, record.n, record.nnz, record.digest) == (4, 2, 8, "digest of a")
    assert (record.status, record.updates, record.row_products) == (Status.CONVERGED, 7, 8)
    # ā = (1, 1, 0), I = 1: a·y = 3 + 1, ‖a‖² = 2 + 4
    assert record.margin == pytest.approx(4 / np.sqrt(6), rel=1e-12)
    # Σ I ȳ = (6, 6, 0), t = 4: √(72 + 4)/4
    assert record.bound == pytest.approx(np.sqrt(76) / 4, rel=1e-12)
    assert record.eta is None
    assert record.beta is None
    assert store.environments()[record.environment] == {"cpu": "x"}
    assert record.peak_rss_mb > record.peak_anon_mb > 0
    assert record.compile_seconds >= 0


def test_delta_of_a_file_of_ones_own_is_a_tenth_of_R_and_said(store):
    notes: list[str] = []
    (record,) = run(store, Cell(dataset="own", algorithm="plain"), notes=notes)
    assert record.delta == 0.2  # R = √(5 + 1) = 2.449 without Δ
    assert any("Δ = 0.2" in note for note in notes)


@pytest.mark.parametrize(
    ("algorithm", "status", "error"),
    [
        ("crash", Status.FAILED, "RuntimeError: two lines"),
        ("suicide", Status.FAILED, "its process was ended by SIGSEGV"),
        ("missing", Status.UNAVAILABLE, "no such program; install it"),
    ],
)
def test_a_cell_that_goes_wrong_is_recorded_and_the_next_one_runs(store, algorithm, status, error):
    first, second = run(store, Cell(dataset="a", algorithm=algorithm), Cell(dataset="a", algorithm="plain"))
    assert (first.status, first.error) == (status, error)
    assert first.margin is None
    assert second.status is Status.CONVERGED


def test_data_that_cannot_be_had_is_a_reason_not_an_end(store):
    first, second = run(store, Cell(dataset="gone", algorithm="plain"), Cell(dataset="a", algorithm="plain"))
    assert (first.status, first.error) == (Status.UNAVAILABLE, "gone: not found; look elsewhere")
    assert second.status is Status.CONVERGED


def test_the_same_reason_is_recorded_once(store):
    for _ in range(2):
        assert len(run(store, Cell(dataset="gone", algorithm="plain"), resume=True)) == 1
    assert len(store.records()) == 1


def test_strict_raises_what_is_wrong_with_the_data_and_writes_nothing(store):
    with pytest.raises(DownloadError):
        run(store, Cell(dataset="gone", algorithm="plain"), strict=True)
    assert not store.path.exists()


def test_the_soft_limit_keeps_the_certificate(store):
    (record,) = run(store, Cell(dataset="a", algorithm="busy", time_limit=0.05))
    assert record.status is Status.TIME_LIMIT
    assert record.margin > 0
    assert record.time_limit == 0.05


def test_the_hard_limit_ends_a_solver_that_never_looks_at_the_clock(store):
    (record,) = run(store, Cell(dataset="a", algorithm="sleepy", time_limit=0.05))
    assert (record.status, record.margin) == (Status.TIME_LIMIT, None)
    assert "time limit of 0.05 s" in record.error


def test_the_epoch_limit(store):
    (record,) = run(store, Cell(dataset="a", algorithm="busy", max_epochs=5))
    assert (record.status, record.full_epochs) == (Status.EPOCH_LIMIT, 5)


def test_the_memory_limit(store):
    own = psutil.Process().memory_info().rss / 2**20
    (record,) = run(store, Cell(dataset="a", algorithm="hungry", memory_limit=own + 200))
    assert record.status is Status.FAILED
    assert record.error.startswith("over its memory limit of")


def test_a_cell_killed_from_outside_and_its_children_leave_nothing_behind(store):
    children: list[psutil.Process] = []

    def kill(cell):
        if cell.algorithm == "plain":  # by now the other one is running
            (process,) = CellProcess.alive
            parent = psutil.Process(process.pid)
            while not (below := parent.children()):
                nap(0.01)
            children.extend([parent, *below])
            parent.kill()

    cells = Cell(dataset="a", algorithm="parent"), Cell(dataset="a", algorithm="plain")
    found = {record.algorithm: record for record in run(store, *cells, on_start=kill, jobs=2)}
    assert found["parent"].status is Status.FAILED
    assert found["parent"].error.startswith("its process was ended by SIGKILL")
    assert found["plain"].status is Status.CONVERGED
    await_end(*children)


def test_jobs_are_pinned_and_said(store):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    seen = []

    def look(cell):
        seen.extend(process.job.core for process in CellProcess.alive)

    cells = [Cell(dataset="a", algorithm="plain", seed=seed) for seed in range(4)]
    records = run(store, *cells, on_start=look, jobs=2)
    assert {record.seed for record in records} == {0, 1, 2, 3}
    assert {record.jobs for record in records} == {2}
    assert set(seen) <= set(os.sched_getaffinity(0))


def test_ctrl_c_keeps_what_has_finished_and_marks_what_has_not(store):
    def interrupt(cell):
        if cell.seed == 1:
            signal.raise_signal(signal.SIGINT)

    cells = [Cell(dataset="a", algorithm="plain"), Cell(dataset="a", algorithm="sleepy", seed=0)]
    late = Cell(dataset="b", algorithm="plain", seed=1)
    with pytest.raises(KeyboardInterrupt):
        run(store, *cells, late, on_start=interrupt, jobs=2)
    statuses = {(record.dataset, record.algorithm): record.status for record in store.records()}
    assert statuses == {("a", "plain"): Status.CONVERGED, ("a", "sleepy"): Status.INTERRUPTED}
    assert not CellProcess.alive


def test_resume_does_only_what_is_missing(store):
    cells = [Cell(dataset="a", algorithm=name) for name in ("plain", "crash", "other")]
    run(store, cells[0], cells[1])
    assert [record.algorithm for record in run(store, *cells, resume=True)] == ["crash", "other"]


def test_a_limit_that_was_raised_is_a_reason_to_run_again(store):
    cell = Cell(dataset="a", algorithm="busy", time_limit=0.02)
    run(store, cell)
    assert run(store, cell, resume=True) == []
    assert len(run(store, replace(cell, time_limit=0.03), resume=True)) == 1


def test_other_data_under_the_same_name_is_a_reason_to_run_again(store, monkeypatch):
    cell = Cell(dataset="a", algorithm="plain")
    run(store, cell)
    load = data.load
    monkeypatch.setattr(data, "load", lambda *arguments: replace(load(*arguments), digest="new"))
    assert len(run(store, cell, resume=True)) == 1


def test_pfm_takes_the_margin_of_pdm_and_runs_it_first_when_there_is_none(store):
    pdm, pfm = run(store, Cell(dataset="a", algorithm="pfm"))
    assert (pdm.algorithm, pfm.algorithm) == ("pdm", "pfm")
    assert (pfm.beta, pfm.beta_from) == (pdm.margin, "pdm")
    (again,) = run(store, Cell(dataset="a", algorithm="pfm"))
    assert again.beta == pdm.margin
    (given,) = run(store, Cell(dataset="a", algorithm="pfm", beta=0.25))
    assert (given.beta, given.beta_from) == (0.25, None)


def test_pfm_of_another_seed_needs_a_pdm_of_its_own(store):
    run(store, Cell(dataset="a", algorithm="pdm"))
    assert [r.algorithm for r in run(store, Cell(dataset="a", algorithm="pfm", seed=1))] == ["pdm", "pfm"]


def test_pfm_waits_for_pdm_when_both_could_run_at_once(store):
    names = [
        r.algorithm for r in run(store, *(Cell(dataset="a", algorithm=a) for a in ("pdm", "pfm")), jobs=2)
    ]
    assert names == ["pdm", "pfm"]


def test_pfm_says_why_it_cannot_run(store, monkeypatch):
    monkeypatch.setattr(Fake, "pdm", Fake.crash, raising=False)
    pdm, pfm = run(store, Cell(dataset="a", algorithm="pfm"))
    assert pdm.status is Status.FAILED
    assert (pfm.status, pfm.error) == (Status.UNAVAILABLE, "pdm gave no positive margin to aim at")


def test_a_trace_has_a_point_for_each_epoch(store):
    (record,) = run(store, Cell(dataset="a", algorithm="busy", max_epochs=3, trace=True))
    points = store.traces()[record.cell_key()]
    assert [point.epoch for point in points] == [1, 2, 3]
    assert points[0].margin > 0


def test_two_runners_on_one_folder_never_run_a_cell_twice(store):
    cells = [Cell(dataset="a", algorithm="plain", seed=seed) for seed in range(10)]
    others = []
    for _ in range(2):
        other = os.fork()
        if other == 0:
            try:
                run(Store(store.folder), *cells, resume=True)
            finally:
                os._exit(0)
        others.append(other)
    run(store, *cells, resume=True)
    for other in others:
        os.waitpid(other, 0)
    assert sorted(record.seed for record in store.records()) == list(range(10))


def test_the_cell_dies_with_a_parent_that_is_killed(store):
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        try:
            tell = lambda cell: os.write(writer, b"%d\n" % next(iter(CellProcess.alive)).pid)  # noqa: E731
            cells = Cell(dataset="a", algorithm="sleepy"), Cell(dataset="a", algorithm="parent")
            run(store, *cells, on_start=lambda cell: cell.algorithm == "parent" and tell(cell), jobs=2)
        finally:
            os._exit(0)
    cell = psutil.Process(int(os.read(reader, 20)))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    await_end(cell)


@pytest.mark.parametrize(
    "wrong",
    [
        {"eps": 0.0},
        {"eps": 1.0},
        {"delta": -1.0},
        {"rho": 0.0},
        {"eta": 1.0},
        {"time_limit": 0.0},
        {"seed": -1},
    ],
)
def test_a_cell_out_of_range_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(UsageError, match=name):
        Cell(dataset="a", algorithm="plain", **wrong)
