"""A real Dask scheduler with two real workers gives what one machine gives, also when one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import pdmbench
from pdmbench.bench.plan import Cell
from pdmbench.bench.record import Record
from pdmbench.bench.runner import Observer, Options, run_cells
from pdmbench.bench.store import Store
from pdmbench.errors import UsageError
from pdmbench.solvers.base import Status

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
from pdmbench.bench import distributed as cluster  # noqa: E402 - imports Dask only where it is used

MEASURED = (
    "train_seconds", "wall_seconds", "compile_seconds", "load_seconds", "peak_rss_mb", "peak_anon_mb",
    "started", "environment", "jobs",
)  # fmt: skip


def nap() -> None:
    """Let others go on."""
    threading.Event().wait(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the workers live."""
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def scheduler(folder):
    """Address of a scheduler with two workers, which know ``folder``."""
    environment = {
        **os.environ,
        "PDMBENCH_CACHE": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(Path(pdmbench.__file__).parents[1]), str(Path(__file__).parent)]),
        "KILLED": str(folder / "killed"),
        "RUNNING": str(folder / "running"),
        "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0",
    }
    dask = [sys.executable, "-m", "dask"]
    file = folder / "scheduler.json"
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file]
    commands = [
        [*dask, "scheduler", "--port", "0", *common],
        [*dask, "worker", "--nworkers", "2", "--nthreads", "1", "--local-directory", folder, *common],
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen(command, env=environment, cwd=folder, **quiet) for command in commands]
    try:
        while not file.exists() or not file.read_text().endswith("}"):
            assert all(process.poll() is None for process in processes)
            nap()
        with distributed.Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def run(store, scheduler, *cells, **options) -> list[Record]:
    """Run cells on the cluster; returns their records in the order they came back."""
    found = []
    observer = Observer(on_record=lambda record, trace: found.append(record))
    cluster.run_cells(cells, store, scheduler, Options(**options), observer)
    return found


def results(records) -> set[Record]:
    """Records up to times and the machine."""
    return {replace(record, **dict.fromkeys(MEASURED)) for record in records}


def test_the_cluster_gives_the_same_records_as_one_process(scheduler, tmp_path, cache):
    cell = Cell(dataset="breast-cancer", algorithm="pfm", trace=True)
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    run_cells([cell], here, {}, Options(), Observer())
    assert [record.algorithm for record in run(there, scheduler, cell)] == ["pdm", "pfm"]
    assert results(there.records()) == results(here.records())
    pfm = there.records()[1]
    assert len(there.traces()[pfm.cell_key()]) == pfm.full_epochs
    assert there.environments()[pfm.environment]["jobs"] == pfm.jobs == 2
    assert run(there, scheduler, cell, resume=True) == []


def test_a_killed_worker_costs_no_record(scheduler, tmp_path):
    algorithm = "solvers_for_workers:KillsItsWorkerOnce"
    cells = [Cell(dataset="breast-cancer", algorithm=name) for name in (algorithm, "pdm")]
    found = {record.algorithm: record for record in run(Store(tmp_path), scheduler, *cells)}
    assert {record.status for record in found.values()} == {Status.CONVERGED}
    assert set(found) == {algorithm, "pdm"}


def test_a_cell_that_cannot_run_is_recorded(scheduler, tmp_path):
    missing = tmp_path / "own.toml"
    missing.write_text(
        'title = "none"\nformat = "libsvm"\nm = 2\nn = 1\ndelta = 1\n[[files]]\nname = "none"\n'
    )
    cell = Cell(dataset=str(missing), algorithm="pdm")
    (record,) = run(Store(tmp_path / "results"), scheduler, cell)
    assert record.status is Status.UNAVAILABLE
    assert "none" in record.error


def test_ctrl_c_ends_the_cells_of_the_cluster(scheduler, tmp_path, folder):
    running = folder / "running"

    def interrupt():
        while not running.exists():
            nap()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    cell = Cell(dataset="breast-cancer", algorithm="solvers_for_workers:NeverEnds")
    with pytest.raises(KeyboardInterrupt):
        run(Store(tmp_path), scheduler, cell)
    thread.join()
    pid = int(running.read_text())
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        nap()


@pytest.mark.parametrize("address", ["", "x", "tcp://host", "host:99999999", "http://host:1", "tcp://:8786"])
def test_what_is_no_address_is_said_at_once(address, tmp_path):
    with pytest.raises(UsageError, match="is no address; give one such as"):
        run(Store(tmp_path), address, Cell(dataset="breast-cancer", algorithm="pdm"))


def test_a_scheduler_that_does_not_answer_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    with pytest.raises(UsageError, match=r"tcp://127\.0\.0\.1:1: no scheduler answers"):
        run(Store(tmp_path), "tcp://127.0.0.1:1", Cell(dataset="breast-cancer", algorithm="pdm"))
    assert list(tmp_path.iterdir()) == []
