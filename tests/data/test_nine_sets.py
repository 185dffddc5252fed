"""The paper's nine data sets, small, in their true formats, packings and addresses, from a server to a table.

Each registry entry is used as it is but for its facts: sizes, hashes, m and the numbers of positives are
those of the small files, and ``https://host/path`` becomes ``<loopback>/host/path``. The numbers of features
are the true ones. Files go through `pdmbench run` and `pdmbench table` as real processes.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from pdmbench import data, resources
from pdmbench.errors import DataError

LIBSVM = "/www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
FIGSHARE = "/ndownloader.figshare.com/files/"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tar(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def full(columns: int, cells: dict[int, object], separator: str) -> str:
    """A line of a full table; columns count from 1, those not given hold 0."""
    return separator.join(str(cells.get(column, 0)) for column in range(1, columns + 1))


class Small(NamedTuple):
    """A small set: what is published where, and by hand what it must become."""

    files: dict[str, tuple[bytes, bytes]]  # name -> (packed, unpacked), in the order of the registry
    served: dict[str, bytes]  # path -> content
    rows: list[dict[int, float]]  # features count from 1
    positive: list[bool]
    norm: float  # the largest ‖x‖²


BINARY = b"-1 3:1 11:1 \n+1 %d:1 \n-1 14:1 \n-1 3:1 5:1 14:1 \n"  # Platt's files: a blank ends each line


def binary(name: str, n: int) -> Small:
    content = BINARY % n
    rows = [{3: 1, 11: 1}, {n: 1}, {14: 1}, {3: 1, 5: 1, 14: 1}]
    return Small({name: (content, content)}, {LIBSVM + name: content}, rows, [False, True, False, False], 3)


TEXT = b"-1 1:0.25 7:0.5 \n+1 2:0.5 %d:1 \n-1 1:1 \n+1 2:0.125 \n+1 7:-0.25 %d:0.5 \n"


def text(n: int) -> tuple[bytes, list[dict[int, float]], list[bool], float]:
    rows = [{1: 0.25, 7: 0.5}, {2: 0.5, n: 1}, {1: 1}, {2: 0.125}, {7: -0.25, n: 0.5}]
    return TEXT % (n, n), rows, [False, True, False, True, True], 1.25


def adult() -> Small:
    return binary("a9a", 123)


def web() -> Small:
    return binary("w8a", 300)


def real_sim() -> Small:
    content, *expected = text(20958)
    packed = bz2.compress(content)
    name = "real-sim.bz2"
    return Small({name: (packed, content)}, {LIBSVM + name: packed}, *expected)


def news20() -> Small:
    """In two streams, as parallel bzip2 packs; the cut is within a line."""
    content, *expected = text(1355191)
    packed = bz2.compress(content[:20]) + bz2.compress(content[20:])
    name = "news20.binary.bz2"
    return Small({name: (packed, content)}, {LIBSVM + name: packed}, *expected)


def webspam() -> Small:
    content, *expected = text(254)
    packed = lzma.compress(content)
    name = "webspam_wc_normalized_unigram.svm.xz"
    return Small({name: (packed, content)}, {LIBSVM + name: packed}, *expected)


def webspam_as_bz2() -> Small:
    """The first address is gone; the second has the same content in another packing."""
    content, *expected = text(254)
    packed = bz2.compress(content)
    stem = "webspam_wc_normalized_unigram.svm"
    return Small({f"{stem}.xz": (packed, content)}, {f"{LIBSVM}{stem}.bz2": packed}, *expected)


def physics() -> Small:
    """Codes in columns 22–24, 31, 46–48 and 57 of the file; what stands beside those columns is kept.

    Features begin in column 3. Of 78, numbers 20–22, 29, 44–46 and 55 go: 19 (column 21) stays 19, 23
    (column 25) becomes 20, 30 (column 32) 26, 43 (column 45) 39, 47 (column 49) 40, 54 (column 56) 47, 56
    (column 58) 48 and 78 (column 80) 70.
    """
    codes = {22: 999, 23: 999, 24: "999", 31: 9999, 46: 999, 47: 999, 48: 999, 57: "9999"}
    usual = dict.fromkeys(codes, 0.5)
    lines = [
        {1: 51, 2: 0, 3: 40, 21: -7, 25: 2.5, **codes},
        {1: 52, 2: 1, 32: 1000, 45: 1e3, **usual},
        {1: 53, 2: 1, 49: 0.5, 56: 4, **codes},
        {1: 54, 2: 0, 58: -250, 80: 1},
    ]
    content = "".join(full(80, line, "\t") + "\n" for line in lines).encode()
    rows = [
        {1: 0.04, 19: -0.007, 20: 0.0025},
        {26: 1, 39: 1},
        {40: 0.0005, 47: 0.004},
        {48: -0.25, 70: 0.001},
    ]
    packed = tar({"bio_train.dat": b"1\t2\n", "phy_test.dat": b"1\t?\n", "phy_train.dat": content})
    served = {
        "/kdd.org/cupfiles/KDDCupData/2004/data_kddcup04.tar.gz": b"<html>KDD has moved</html>",
        "/osmot.cs.cornell.edu/cgi-bin/kddcup/data_kddcup04.tar.gz": packed,
    }
    positive = [False, True, True, False]
    return Small({"data_kddcup04.tar.gz": (packed, content)}, served, rows, positive, 2)


def covertype() -> Small:
    """Of cover types 1 to 7, type 1 against the rest."""
    lines = [
        {1: 2596, 2: 51, 5: -173, 11: 1, 43: 1, 55: 5},
        {1: 3000, 10: 4000, 54: 1, 55: 1},
        {3: 2, 55: 7},
        {1: 2804, 2: 139, 55: 2},
        {1: 10, 14: 1, 55: 1},
    ]
    content = "".join(full(55, line, ",") + "\n" for line in lines).encode()
    rows = [
        {1: 2.596, 2: 0.051, 5: -0.173, 11: 0.001, 43: 0.001},
        {1: 3, 10: 4, 54: 0.001},
        {3: 0.002},
        {1: 2.804, 2: 0.139},
        {1: 0.01, 14: 0.001},
    ]
    packed = gzip.compress(content)
    served = {FIGSHARE + "5976039": packed}
    positive = [False, True, False, False, True]
    return Small({"covtype.data.gz": (packed, content)}, served, rows, positive, 25.000001)


VECTORS = [
    b"2286  864:0.5 1523:0.25\n2287  47236:1\n",
    b"26151  1:0.5 864:0.125\n",
    b"300000  2:0.75\n300001  2:-0.5 47236:0.25\n",
    b"500000  1523:1\n",
    b"810935  864:0.5 47236:1\n",
]
# Not in the order of the documents; C11 lies in CCAT, and every document has some topic.
TOPICS = (
    b"E11 2286 1\nECAT 2286 1\nC11 2287 1\nCCAT 2287 1\nM11 26151 1\nCCAT 810935 1\nC15 810935 1\n"
    b"GCAT 300000 1\nC11 300001 1\nCCAT 300001 1\nM11 500000 1\nCCAT 26151 1\n"
)
FIGSHARE_NEWS = ("5976057", "5976069", "5976066", "5976063", "5976060", "5976048")


def news(positive: list[bool]) -> Small:
    parts = [f"test_pt{k}" for k in range(4)]
    names = [f"lyrl2004_vectors_{part}.dat.gz" for part in ("train", *parts)] + ["rcv1v2.topics.qrels.gz"]
    contents = [*VECTORS, TOPICS]
    files = {name: (gzip.compress(one), one) for name, one in zip(names, contents, strict=True)}
    packed = [pair[0] for pair in files.values()]
    served = {FIGSHARE + number: one for number, one in zip(FIGSHARE_NEWS, packed, strict=True)}
    rows = [
        {864: 0.5, 1523: 0.25},
        {47236: 1},
        {1: 0.5, 864: 0.125},
        {2: 0.75},
        {2: -0.5, 47236: 0.25},
        {1523: 1},
        {864: 0.5, 47236: 1},
    ]
    return Small(files, served, rows, positive, 1.25)


def rcv1_c11() -> Small:
    return news([False, True, False, False, True, False, False])


def rcv1_ccat() -> Small:
    return news([False, True, True, False, True, False, True])


def describe(name: str, small: Small, address: str, folder: Path) -> Path:
    """A copy of the registry's entry with the facts of the small files."""
    counts = {
        "m": len(small.rows),
        "nnz": sum(map(len, small.rows)),
        "positives": sum(small.positive),
    }
    head, *files = (resources.folder("datasets") / f"{name}.toml").read_text().split("[[files]]")
    for key, count in counts.items():
        head = re.sub(rf"^{key} = \d+", f"{key} = {count}", head, flags=re.MULTILINE)
    entries = []
    for table, (file, (packed, content)) in zip(files, small.files.items(), strict=True):
        facts = {
            "bytes": len(packed),
            "sha256": f'"{sha256(packed)}"',
            "unpacked_bytes": len(content),
            "unpacked_sha256": f'"{sha256(content)}"',
        }
        for key, fact in facts.items():
            table = re.sub(rf"^{key} = .*", f"{key} = {fact}", table, flags=re.MULTILINE)
        assert f'name = "{file}"' in table
        entries.append(re.sub(r'"https?:/(/\S+)"', rf'"{address}\1"', table))
    path = folder / f"{name}.toml"
    path.write_text("[[files]]".join([head, *entries]))
    return path


@pytest.fixture
def pdmbench(tmp_path, cache):
    """Call the command line in a process, in a folder of its own; gives stdout and stderr."""

    def call(*arguments: object, **environment: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pdmbench", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return call


@pytest.fixture
def publish(site, tmp_path):
    """Serve a small set; gives the path of its entry."""

    def serve(name: str, small: Small) -> Path:
        for path, content in small.served.items():
            if path.startswith(FIGSHARE):  # which sends on to one of its stores
                site.add(path, b"", location=site.add(f"/store{path}", content))
            else:
                site.add(path, content)
        return describe(name, small, site.url, tmp_path)

    return serve


def expect(loaded: data.DataSet, small: Small) -> None:
    """Every value and label, by hand."""
    patterns = loaded.patterns.to_csr()
    entries = [(k, feature - 1, value) for k, row in enumerate(small.rows) for feature, value in row.items()]
    np.testing.assert_allclose(patterns.tocoo().data, [value for *_, value in entries], rtol=1e-15)
    np.testing.assert_array_equal(np.transpose(patterns.nonzero()), [place for *place, _ in entries])
    np.testing.assert_array_equal(loaded.labels == 1, small.positive)
    np.testing.assert_array_equal(loaded.labels == -1, np.logical_not(small.positive))
    assert loaded.positives == sum(small.positive)


# n and Δ: algorithms.md 12.
NINE = [
    (adult, "adult", 123, 1, "Adult"),
    (web, "web", 300, 1, "Web"),
    (physics, "physics", 70, 1, "Physics"),
    (real_sim, "real-sim", 20958, 0.1, "Real-sim"),
    (news20, "news20", 1355191, 0.1, "News20"),
    (webspam, "webspam", 254, 0.3, "Webspam"),
    (webspam_as_bz2, "webspam", 254, 0.3, "Webspam"),
    (covertype, "covertype", 54, 3, "Covertype"),
    (rcv1_c11, "rcv1-c11", 47236, 0.3, "C11"),
    (rcv1_ccat, "rcv1-ccat", 47236, 0.3, "CCAT"),
]


@pytest.mark.parametrize(("make", "name", "n", "delta", "title"), NINE, ids=[one[0].__name__ for one in NINE])
def test_from_the_server_to_a_row_of_the_table(make, name, n, delta, title, publish, site, pdmbench, cache):
    small = make()
    entry = publish(name, small)
    out, _ = pdmbench("run", "-d", entry, "-a", "pdm", "-a", "mpu", "--json")
    records = [json.loads(line) for line in out.splitlines()]
    for record in records:
        assert (record["m"], record["n"]) == (len(small.rows), n)
        assert record["nnz"] == sum(map(len, small.rows))
        assert (record["dataset"], record["delta"], record["status"]) == (name, delta, "converged")
        assert record["R"] ** 2 == pytest.approx(small.norm + 1 + delta**2, rel=1e-14)  # ρ = 1
        assert 0 <= record["certified_accuracy"] <= 0.02

    tables = json.loads(pdmbench("table", "--format", "json")[0])
    for table, record in zip(tables[:2], records, strict=True):  # PDM in table 1, MPU in table 2
        (row,) = table["rows"]
        assert (row["dataset"], row["title"], row["delta"]) == (name, title, delta)
        (margin,) = [
            cell["mean"]
            for cell in row["cells"]
            if (cell["algorithm"], cell["quantity"]) == (record["algorithm"], "margin")
        ]
        assert margin == pytest.approx(record["margin"] * 1e4)

    fetched = [path.name for path in cache.glob("raw/*/*") if path.suffix not in (".lock", ".sha256")]
    assert sorted(fetched) == sorted(small.files)
    asked = len(site.requests)
    expect(data.load(entry), small)
    assert len(site.requests) == asked, "the cache serves from then on"


def test_both_tasks_of_rcv1_share_files_and_matrix(publish, site, pdmbench, cache):
    c11, ccat = publish("rcv1-c11", rcv1_c11()), publish("rcv1-ccat", rcv1_ccat())
    for entry in (c11, ccat):
        pdmbench("run", "-d", entry, "-a", "mpu")
    asked = [path for path, _ in site.requests if not path.startswith("/store")]
    assert sorted(asked) == sorted(FIGSHARE + number for number in FIGSHARE_NEWS)
    assert len(list(cache.glob("sets/*/"))) == 1
    first, second = data.load(c11), data.load(ccat)
    expect(first, rcv1_c11())
    expect(second, rcv1_ccat())
    assert first.patterns.rows.data.base.filename == second.patterns.rows.data.base.filename


def test_a_mirror_serves_every_set_under_its_own_folder(site, tmp_path, cache, monkeypatch):
    """``<base>/<data set>/<file name>``; the tasks of RCV1 share a folder. No published address is asked."""
    monkeypatch.setenv("PDMBENCH_MIRROR", site.url + "/base")
    for make, name, *_ in NINE:
        small = make()
        folder = "rcv1" if name.startswith("rcv1") else name
        for file, (packed, _) in small.files.items():
            site.add(f"/base/{folder}/{file}", packed)
        entry = describe(name, small, site.url, tmp_path)
        expect(data.load(entry), small)
    assert {path.split("/")[1] for path, _ in site.requests} == {"base"}


def test_what_was_tried_for_physics_is_told(publish, pdmbench, site):
    """The first address answers with a page, the second with the archive: a note, and no error."""
    _, notes = pdmbench("datasets", "fetch", publish("physics", physics()))
    assert f"{site.url}/kdd.org/cupfiles/KDDCupData/2004/data_kddcup04.tar.gz: it is a web page" in notes


def test_physics_with_a_code_left_in_a_kept_column_is_an_error(publish, site, cache):
    small = physics()
    content = small.files["data_kddcup04.tar.gz"][1].replace(b"\t1000\t", b"\t9999\t")
    packed = tar({"phy_train.dat": content})
    served = dict.fromkeys(small.served, packed)
    entry = publish(
        "physics", small._replace(files={"data_kddcup04.tar.gz": (packed, content)}, served=served)
    )
    with pytest.raises(DataError, match="line 2: column 32 holds 9999, the code of a missing"):
        data.load(entry)
    assert not list(cache.glob("sets/*/"))
