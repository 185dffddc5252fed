"""Cached patterns: read again without parsing, made anew when they are not right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from pdmbench import data
from pdmbench.data import sources
from pdmbench.errors import DataError

SPARSE = b"1 1:1 9:0.5\n-1 4:2\n1 2:1\n"


@pytest.fixture
def own(cache, tmp_path):
    """A file of one's own."""
    path = tmp_path / "own.svm"
    path.write_bytes(SPARSE)
    return path


@pytest.fixture
def parsed(monkeypatch):
    """The names of the sources that were parsed."""
    names = []
    fill = sources.OwnFile.fill

    def counted(self, *args):
        names.append(self.name)
        return fill(self, *args)

    monkeypatch.setattr(sources.OwnFile, "fill", counted)
    return names


def entry_of(cache):
    (folder,) = cache.glob("sets/*/")
    return folder


def test_the_second_load_reads_the_cache(own, parsed):
    first, second = data.load(own), data.load(own)
    assert len(parsed) == 1
    assert isinstance(second.patterns.rows.data.base, np.memmap)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.digest == second.digest == sha256(SPARSE).hexdigest()
    assert second.delta is None


def test_the_manifest_tells_what_the_entry_is(own, cache):
    data.load(own)
    manifest = json.loads((entry_of(cache) / "manifest.json").read_text())
    expected = {"m": 3, "n": 9, "nnz": 4, "layout": "sparse", "classes": ["-1", "1"], "counts": [1, 2]}
    assert {key: manifest[key] for key in expected} == expected
    assert manifest["digest"] == sha256(SPARSE).hexdigest()


def test_a_changed_file_is_read_anew(own, parsed):
    data.load(own)
    own.write_bytes(SPARSE + b"-1 1:3\n")
    assert data.load(own).patterns.m == 4
    assert len(parsed) == 2


def test_a_changed_file_of_the_same_size_is_read_anew(own):
    data.load(own)
    own.write_bytes(SPARSE.replace(b"4:2", b"4:3"))
    assert data.load(own).patterns.to_csr()[1, 3] == 3.0


def test_a_touched_file_is_hashed_once_and_not_parsed(own, parsed, monkeypatch):
    data.load(own)
    os.utime(own, ns=(1, 1))
    data.load(own)
    assert len(parsed) == 1
    monkeypatch.setattr("pdmbench.data.packing.sha256", None)  # not called: the new time is noted
    data.load(own)


def damage_array(folder):
    path = folder / "data.npy"
    path.write_bytes(path.read_bytes()[:-1])


def empty_array(folder):
    (folder / "indices.npy").write_bytes(b"")


def other_array(folder):
    np.save(folder / "indices.npy", np.arange(12))


def other_version(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"version": ', '"version": 9'))


def half_a_manifest(folder):
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes()[:100])


def foreign(folder):
    (folder / "manifest.json").write_text("[]")


def array_gone(folder):
    (folder / "members.npy").unlink()


def array_too_many(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    np.save(folder / "more.npy", np.zeros(3))
    manifest["arrays"]["more"] = ["<f8", [3]]
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "harm",
    [
        empty_array,
        damage_array,
        other_array,
        other_version,
        half_a_manifest,
        foreign,
        array_gone,
        array_too_many,
        shutil.rmtree,
    ],
)
def test_an_entry_that_is_not_right_is_made_anew(harm, own, cache, parsed):
    data.load(own)
    harm(entry_of(cache))
    again = data.load(own)
    assert len(parsed) == 2
    np.testing.assert_array_equal(again.patterns.to_csr().data, [1, 0.5, 2, 1])
    assert data.load(own).positives == 2
    assert len(parsed) == 2


def test_what_a_killed_process_left_is_removed(own, cache):
    key = sources.OwnFile(str(own)).key
    left = cache / "sets" / f".{key}.abcdefgh"
    left.mkdir(parents=True)
    (left / "data.npy").write_bytes(b"half")
    data.load(own)
    assert not left.exists()


def test_several_at_once_parse_once(own, parsed):
    with ThreadPoolExecutor(4) as threads:
        loaded = list(threads.map(lambda _: data.load(own), range(4)))
    assert len(parsed) == 1
    assert {one.patterns.nnz for one in loaded} == {4}


def test_several_processes_at_once(own, cache):
    """Each gets the whole data, whoever made the entry."""
    command = [
        sys.executable,
        "-c",
        "import sys; from pdmbench import data; print(data.load(sys.argv[1]).patterns.nnz)",
        str(own),
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0] for process in running] == ["4\n"] * 3
    assert len(list(cache.glob("sets/*/"))) == 1


def test_a_cache_that_cannot_be_written_can_be_read(own, cache, monkeypatch):
    """Reading takes no lock and writes nothing, also when the file was touched since."""
    data.load(own)
    before = sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*"))

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("filelock.FileLock.acquire", denied)
    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    assert data.load(own).patterns.nnz == 4
    os.utime(own, ns=(1, 1))
    assert data.load(own).patterns.nnz == 4
    assert sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*")) == before
    own.write_bytes(b"1 1:1\n-1 1:2\n")
    with pytest.raises(DataError, match="PDMBENCH_CACHE names another folder"):
        data.load(own)


def test_a_name_as_long_as_the_system_allows(cache, tmp_path):
    path = tmp_path / ("é" * 127)  # 254 bytes
    path.write_bytes(SPARSE)
    assert data.load(path).patterns.nnz == 4


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are not any bytes here")
def test_a_name_that_is_no_text(cache, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.svm")
    Path(path).write_bytes(SPARSE)
    with pytest.raises(data.sources.DataError, match="no text in this locale; rename it"):
        data.load(path)


def test_clear_one_and_all(own, cache, tmp_path):
    other = tmp_path / "other.svm"
    other.write_bytes(SPARSE)
    data.load(own)
    data.load(other)
    assert data.clear(own) > 4 * 8
    assert "other" in entry_of(cache).name
    assert data.clear() > 4 * 8
    assert not list(cache.glob("sets/*/"))
    assert data.clear() == 0
    assert data.load(own).patterns.nnz == 4


def test_reading_the_cache_imports_nothing_heavy(own):
    data.load(own)
    code = (
        "import sys; from pdmbench import data; data.load(sys.argv[1]);"
        "heavy = {'numba', 'scipy', 'sklearn', 'pandas', 'requests', 'pooch', 'filelock', 'tqdm'};"
        "print(heavy & {*sys.modules})"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(own)], capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("adlut", "no such data set"),
        ("./nowhere.svm", "no such file"),
        (".", "is a folder"),
        ("nowhere.toml", "cannot be read"),
    ],
)
def test_a_source_that_is_not_there(source, complaint, cache):
    with pytest.raises((data.sources.DataError, data.registry.UsageError), match=complaint):
        data.load(source)
