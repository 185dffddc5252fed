"""The results folder: nothing that was appended is lost, nothing half-written is believed."""

from __future__ import annotations

import errno
import subprocess
import sys
from dataclasses import replace

import pytest

from pdmbench.bench.record import Record
from pdmbench.bench.store import Store
from pdmbench.errors import DataError
from pdmbench.solvers.base import Status, TracePoint


@pytest.fixture
def record() -> Record:
    return Record(
        dataset="a", algorithm="pdm", eps=0.01, rho=1.0, seed=0, status=Status.CONVERGED, margin=0.1
    )


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results")


def test_an_empty_folder_has_no_records_and_is_not_made(store):
    assert store.records() == []
    assert not store.folder.exists()


def test_records_come_back_in_order(store, record):
    ours = [replace(record, seed=seed) for seed in range(3)]
    for one in ours:
        store.append(one)
        assert Store(store.folder).records()[-1] == one
    assert store.records() == ours


def test_a_second_reader_sees_what_was_appended_later(store, record):
    reader = Store(store.folder)
    assert reader.records() == []
    store.append(record)
    assert reader.records() == [record]
    assert reader.records() == [record]


@pytest.mark.parametrize("length", [1, 100])
def test_a_half_written_last_line_is_cut_off_with_a_note(store, record, length):
    store.append(record)
    with store.path.open("ab") as file:
        file.write(record.to_json().encode()[:length])
    assert store.records() == [record]
    notes: list[str] = []
    other = replace(record, seed=1)
    Store(store.folder, notes.append).append(other)
    assert Store(store.folder).records() == [record, other]
    assert len(notes) == 1
    assert f"{length} bytes" in notes[0]


def test_a_half_written_only_line_is_cut_off(store, record):
    store.folder.mkdir()
    store.path.write_bytes(b"x" * 200_000)
    store.append(record)
    assert Store(store.folder).records() == [record]


def test_a_whole_last_line_without_its_newline_is_kept(store, record):
    store.folder.mkdir()
    store.path.write_text(record.to_json())
    assert store.records() == [record]
    store.append(replace(record, seed=1))
    assert [one.seed for one in Store(store.folder).records()] == [0, 1]


def test_a_broken_line_in_the_middle_is_named(store, record):
    store.append(record)
    with store.path.open("ab") as file:
        file.write(b"{}\n")
    store.append(record)
    with pytest.raises(DataError, match=r"records\.jsonl, line 2: not a record"):
        Store(store.folder).records()


def test_a_full_disk_is_named(store, record, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match=r"No space left on device: .*records\.jsonl"):
        store.append(record)


def test_writers_in_several_processes_lose_nothing(store, record):
    program = """if True:
        import sys
        from dataclasses import replace
        from pdmbench.bench.record import Record
        from pdmbench.bench.store import Store
        record = Record.from_json(sys.argv[2])
        for i in range(20):
            Store(sys.argv[1]).append(replace(record, seed=i, dataset=sys.argv[3]))
    """
    arguments = [sys.executable, "-c", program, str(store.folder), record.to_json()]
    writers = [subprocess.Popen([*arguments, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert sorted((one.dataset, one.seed) for one in store.records()) == [
        (d, i) for d in "ab" for i in range(20)
    ]


def test_a_cell_is_claimed_once_whatever_its_data(store, record):
    lock = store.claim(record)
    assert lock is not None
    assert Store(store.folder).claim(replace(record, digest="new")) is None
    assert Store(store.folder).claim(replace(record, seed=1)) is not None
    lock.release()
    assert Store(store.folder).claim(record) is not None


def test_a_claim_ends_with_its_process(store, record):
    program = """if True:
        import os, sys
        from pdmbench.bench.record import Record
        from pdmbench.bench.store import Store
        lock = Store(sys.argv[1]).claim(Record.from_json(sys.argv[2]))
        os._exit(9)
    """
    command = [sys.executable, "-c", program, str(store.folder), record.to_json()]
    assert subprocess.run(command, check=False).returncode == 9
    assert store.claim(record) is not None


def test_environment_is_stored_once(store):
    key = store.write_environment({"cpu": "x", "load": 0.5})
    assert key == store.write_environment({"load": 0.5, "cpu": "x"})
    assert store.environments() == {key: {"cpu": "x", "load": 0.5}}


def test_trace_comes_back(store):
    points = [TracePoint(1, 10, 0.1, 0.01, 0.2), TracePoint(2, 20, 0.2, 0.02, 0.1)]
    store.write_trace("cell", points)
    assert store.traces() == {"cell": points}


@pytest.mark.parametrize(
    ("name", "content"),
    [("environments/x.json", "{"), ("traces/x.jsonl", "1\n"), ("traces/x.jsonl", '{"a": 1}\n')],
)
def test_a_file_that_cannot_be_read_is_named(store, name, content):
    path = store.folder / name
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(DataError, match=f"{name}: cannot be read"):
        store.environments(), store.traces()


def test_a_bound_that_is_not_there_yet_is_null_on_disk_and_infinite_in_memory(store):
    store.write_trace("cell", [TracePoint(1, 0, 0.1, 0.0, float("inf"))])
    assert '"bound": null' in (store.folder / "traces" / "cell.jsonl").read_text()
    assert store.traces()["cell"][0].bound == float("inf")
