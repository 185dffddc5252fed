"""Adult and Web as published, and what may have become of them."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from pdmbench import data
from pdmbench.errors import DataError, PdmbenchError


@pytest.fixture
def mirror(shared, cache, tmp_path, monkeypatch):
    """A mirror folder of which files can be changed."""
    folder = tmp_path / "mirror"
    for name, file in (("adult", "a9a"), ("web", "w8a")):
        (folder / name).mkdir(parents=True)
        (folder / name / file).write_bytes((shared / "mirror" / name / file).read_bytes())
    monkeypatch.setenv("PDMBENCH_MIRROR", str(folder))
    monkeypatch.setenv("PDMBENCH_OFFLINE", "1")
    return folder


@pytest.mark.parametrize(
    ("name", "m", "n", "nnz", "positives", "norm"),
    [("adult", 32561, 123, 451592, 7841, 14), ("web", 49749, 300, 579586, 1479, 114)],
)
def test_the_published_files(name, m, n, nnz, positives, norm, mirror):
    """reference/datasets.json; all values are 1, and gamma.json has R² = norm + ρ² + Δ² = norm + 2."""
    loaded = data.load(name)
    patterns = loaded.patterns
    assert (patterns.m, patterns.n, patterns.nnz, loaded.positives) == (m, n, nnz, positives)
    assert np.count_nonzero(loaded.labels == 1) == positives
    assert patterns.layout == "constant"
    assert np.diff(patterns.to_csr().indptr).max() == norm
    assert (loaded.delta, loaded.notes) == (1.0, ())


def shorter(content):
    return content[:-1]


def flipped(content):
    return content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]


def a_line_less(content):
    return content[content.index(b"\n") + 1 :]


def web_page(content):
    return b"<!DOCTYPE html><html><body>Not found</body></html>"


HARMS = {
    shorter: "bytes, 1 fewer than {size} and the last line is cut",
    flipped: "its sha256 is {actual}, not {expected}",
    a_line_less: "bytes, {line} fewer than {size}",
    web_page: "it is a web page",
}


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize(("name", "file"), [("adult", "a9a"), ("web", "w8a")])
def test_another_file_in_its_place_is_an_error_of_its_own_and_not_cached(
    name, file, harm, by_hand, mirror, cache
):
    """In a mirror, or placed by hand: each error is one line, says what is wrong and where."""
    good = (mirror / name / file).read_bytes()
    place = (cache / "raw" if by_hand else mirror) / name / file
    place.parent.mkdir(parents=True, exist_ok=True)
    bad = harm(good)
    place.write_bytes(bad)
    with pytest.raises(PdmbenchError) as caught:
        data.load(name)
    facts = {
        "size": len(good),
        "line": good.index(b"\n") + 1,
        "actual": sha256(bad).hexdigest(),
        "expected": sha256(good).hexdigest(),
    }
    said = str(caught.value)
    for wrong, complaint in HARMS.items():
        assert (complaint.format(**facts) in said) == (wrong is harm)
    assert str(place) in said
    assert "\n" not in said
    assert not list(cache.glob("sets/*/"))
    left = {path.name for path in cache.glob("raw/*/*") if path.suffix != ".lock"}
    assert left == ({file} if by_hand else set())


@pytest.mark.parametrize(
    ("fact", "value", "complaint"),
    [("m", 5, "m is 4, but mine.toml says 5"), ("n", 3, "n is 2, but"), ("nnz", 7, "nnz is 4, but")],
)
def test_facts_of_the_registry_must_hold(fact, value, complaint, cache, tmp_path, monkeypatch):
    """A file without a published hash can still be seen to be another one."""
    facts = {"m": 4, "n": 2, "nnz": 4, fact: value}
    (tmp_path / "mirror" / "mine").mkdir(parents=True)
    (tmp_path / "mirror" / "mine" / "f").write_bytes(b"1 1:1\n-1 2:1\n1 2:1\n-1 1:1\n")
    toml = tmp_path / "mine.toml"
    toml.write_text(
        'title = "Mine"\nformat = "libsvm"\n'
        + "".join(f"{key} = {number}\n" for key, number in facts.items())
        + '[[files]]\nname = "f"\n'
    )
    monkeypatch.setenv("PDMBENCH_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(DataError, match=complaint) as caught:
        data.load(toml)
    assert str(caught.value).endswith(f"empty {cache / 'raw' / 'mine'}")
    assert not list(cache.glob("sets/*/"))
