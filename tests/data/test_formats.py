"""The formats of covtype, physics and RCV1, small sets in the true form through a server, on values."""

from __future__ import annotations

import gzip
import io
import tarfile

import numpy as np
import pytest

from pdmbench import data
from pdmbench.errors import DataError

COVTYPE = """\
title = "Forests"
format = "covtype"
m = 4
n = 3
positive = "1"
positives = {positives}
rescale = 0.001
delta = 3.0
[[files]]
name = "covtype.data.gz"
urls = ["{url}"]
"""

PHYSICS = """\
title = "Particles"
format = "physics"
m = 3
n = 3
positive = "1"
rescale = 0.001
delta = 1.0
drop = [2, 4]
missing = [999, 9999]
[[files]]
name = "data_kddcup04.tar.gz"
member = "phy_train.dat"
urls = ["{url}"]
"""

RCV1 = """\
title = "News, {topic}"
format = "rcv1"
m = 4
n = 7
positive = "{topic}"
positives = {positives}
delta = 0.3
folder = "news"
"""


@pytest.fixture
def own(cache, tmp_path, monkeypatch):
    """A folder of registry entries."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("PDMBENCH_DATASETS", str(folder))
    return folder


def tar(name: str, content: bytes) -> bytes:
    """A .tar.gz with one file in a folder, and another before it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for member, body in (("data/readme.txt", b"read me"), (f"data/{name}", content)):
            info = tarfile.TarInfo(member)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return packed.getvalue()


def test_covtype(site, own, cache):
    """Class 1 against the rest, values times 0.001."""
    rows = b"2596,51,0,5\n2590,0,-1,1\n0,0,0,2\n2804,139,1,1\n"
    url = site.add("/covtype.data.gz", gzip.compress(rows))
    (own / "forest.toml").write_text(COVTYPE.format(url=url, positives=2))
    loaded = data.load("forest")
    expected = [[2.596, 0.051, 0], [2.59, 0, -0.001], [0, 0, 0], [2.804, 0.139, 0.001]]
    np.testing.assert_allclose(loaded.patterns.to_csr().toarray(), expected, rtol=1e-15)
    np.testing.assert_array_equal(loaded.labels, [-1, 1, -1, 1])
    assert (loaded.positives, loaded.delta, loaded.patterns.nnz) == (2, 3.0, 7)
    assert data.load("forest", positive="5").positives == 1


def test_covtype_with_another_number_of_positives(site, own, cache):
    url = site.add("/covtype.data.gz", gzip.compress(b"1,1,1,1\n1,1,1,2\n1,1,1,2\n1,1,1,2\n"))
    (own / "forest.toml").write_text(COVTYPE.format(url=url, positives=2))
    with pytest.raises(DataError, match=r"positives is 1, but forest.toml says 2"):
        data.load("forest")
    assert not list(cache.glob("sets/*/"))


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (b"1,1,1,1\n1,1,2\n", "line 2: has 3 columns, not 4"),
        (b"1,1,1,1\n\n1,x,1,2\n", "line 3: column 2, `x` is not a number"),
        (b"1,1,1,1\n1,,1,2\n", "line 2: column 2, `` is not a number"),
        (b"1,1,1,1\n1,1,inf,2\n", "line 2: column 3, `inf` is not a finite number"),
    ],
)
def test_covtype_faults(rows, complaint, site, own, cache, monkeypatch):
    monkeypatch.setattr("pdmbench.data.formats.SMALL", len(rows))  # the kernel's lines and the rules' alike
    url = site.add("/covtype.data.gz", gzip.compress(rows))
    (own / "forest.toml").write_text(COVTYPE.format(url=url, positives=2))
    with pytest.raises(DataError) as caught:
        data.load("forest")
    assert complaint in str(caught.value)


def test_physics(site, own, cache, monkeypatch):
    """Features 2 and 4 (columns 4 and 6 of the file) are dropped; the rest keep their order, times 0.001."""
    rows = b"17\t1\t2\t999\t-0.5\t9999\t0\r\n18\t0\t0\t3\t1\t7\t4\n19\t1\t1\t1\t1\t1\t1\n"
    monkeypatch.setattr("pdmbench.data.formats.SMALL", 0)
    url = site.add("/data_kddcup04.tar.gz", tar("phy_train.dat", rows))
    (own / "particles.toml").write_text(PHYSICS.format(url=url))
    loaded = data.load("particles")
    expected = [[0.002, -0.0005, 0], [0, 0.001, 0.004], [0.001, 0.001, 0.001]]
    np.testing.assert_allclose(loaded.patterns.to_csr().toarray(), expected, rtol=1e-15)
    np.testing.assert_array_equal(loaded.labels, [1, -1, 1])


@pytest.mark.parametrize(("column", "code"), [(3, b"999"), (5, b"9999"), (7, b"999.0")])
def test_physics_with_a_missing_code_in_a_feature_that_is_kept(column, code, site, own, cache):
    cells = [b"18", b"0", b"1", b"2", b"3", b"4", b"5"]
    cells[column - 1] = code
    rows = b"17\t1\t1\t1\t1\t1\t1\n\n" + b"\t".join(cells) + b"\n19\t1\t1\t1\t1\t1\t1\n"
    url = site.add("/data_kddcup04.tar.gz", tar("phy_train.dat", rows))
    (own / "particles.toml").write_text(PHYSICS.format(url=url))
    with pytest.raises(DataError, match=rf"line 3: column {column} holds 9+, the code of a missing value"):
        data.load("particles")


def publish_news(site, own, vectors: list[bytes], topics: bytes) -> None:
    names = [f"vectors{k}.dat.gz" for k in range(len(vectors))] + ["topics.qrels.gz"]
    files = "".join(
        f'[[files]]\nname = "{name}"\nurls = ["{site.add("/" + name, gzip.compress(content))}"]\n'
        for name, content in zip(names, [*vectors, topics], strict=True)
    )
    for name, topic, positives in (("c11", "C11", 1), ("ccat", "CCAT", 3)):
        (own / f"{name}.toml").write_text(RCV1.format(topic=topic, positives=positives) + files)


VECTORS = [b"2286  3:0.25 7:0.5\n2287  1:1\n", b"", b"26150  2:0.125 3:1\n", b"9  7:2\n"]
TOPICS = b"CCAT 9 1\nE11 2286 1\nCCAT 2286 1\nC11 26150 1\nCCAT 26150 1\nM11 2287 1\n"


def test_rcv1(site, own, cache):
    """Documents are joined with topics by id, in the order of the vectors; both tasks share a matrix."""
    publish_news(site, own, VECTORS, TOPICS)
    c11, ccat = data.load("c11"), data.load("ccat")
    np.testing.assert_array_equal(c11.labels, [-1, -1, 1, -1])
    np.testing.assert_array_equal(ccat.labels, [1, -1, 1, 1])
    expected = np.zeros((4, 7))
    expected[[0, 0, 1, 2, 2, 3], [2, 6, 0, 1, 2, 6]] = [0.25, 0.5, 1, 0.125, 1, 2]
    np.testing.assert_array_equal(c11.patterns.to_csr().toarray(), expected)
    np.testing.assert_array_equal(ccat.patterns.to_csr().toarray(), expected)
    assert len(list(cache.glob("sets/*/"))) == 1
    assert c11.digest == ccat.digest
    assert len(site.requests) == 5, "each file is fetched once"


@pytest.mark.parametrize(
    ("vectors", "topics", "complaint"),
    [
        (VECTORS[:-1], TOPICS, "gives topic CCAT to document 9, which has no vector"),
        ([*VECTORS, b"9 1:1\n"], TOPICS, "document 9 occurs twice"),
        (VECTORS, TOPICS + b"CCAT 9\n", "line 7: `CCAT 9` is not"),
        (VECTORS, b"\n", "has no topics"),
        (VECTORS, b"E11 9 1\nM11 2286 1\n", "has no label C11"),
        ([VECTORS[0], b"7  1:nan\n"], TOPICS, "vectors1.dat.gz, line 1: the value of index 1, `nan`"),
    ],
)
def test_rcv1_faults(vectors, topics, complaint, site, own, cache):
    publish_news(site, own, vectors, topics)
    with pytest.raises(DataError) as caught:
        data.load("c11")
    assert complaint in str(caught.value)
    assert not list(cache.glob("sets/*/"))
