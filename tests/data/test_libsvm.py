"""LIBSVM files: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdmbench import data
from pdmbench.data.formats import Text, libsvm
from pdmbench.errors import DataError, PdmbenchError

PACKINGS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

# Values by hand from the files, conditions from EXPECTED.md: (matrix, labels).
GOOD = {
    "comments_tabs_label_only": (
        [[0.5, 0, 0, -2], [0, 0, 0, 0], [0, 0, 1e-3, 0], [-0.5, 0, 0, 2]],
        [1, -1, 1, -1],
    ),
    "crlf_no_final_newline": ([[1, 0, 0.5], [0, 1, 0], [0, 0, 1], [1, -0.5, 0]], [-1, 1, -1, 1]),
    "unsorted_row": ([[0, 0.5, 0, -1, 0, 0, 1], [1, 0, 2, 0, 0, 0, 0]], [1, -1]),
    "zero_based": ([[0.5, 0, 1, 0], [0, 2, 0, -1]], [1, -1]),
    "qid_fields": ([[0.5, 1], [-0.5, 0], [0, 3]], [1, -1, 1]),
    "blank_after_colon": ([[0.25, 1], [-0.25, 3]], [1, -1]),
    "labels_0_1": ([[1, 0], [0, 1], [0.5, 0.1]], [-1, 1, -1]),
}
SAID = {
    "crlf_no_final_newline": "2 is +1, 1 is -1",
    "zero_based": "indices count from 0",
    "labels_0_1": "1 is +1, 0 is -1",
}
# What the one line must say.
BAD = {
    "three_classes": ["1 (2)", "2 (1)", "3 (1)", "--positive LABEL"],
    "bad_text_label": ["line 2", "spam"],
    "bad_duplicate_index": ["line 1", "index 2"],
    "bad_nan_value": ["line 2", "finite"],
    "bad_overflow_value": ["line 2", "finite"],
    "bad_missing_colon": ["line 1", "`2`"],
    "bad_fused_tokens": ["line 1", "`1:2.5e-013:4`"],
    "bad_index_too_large": ["line 2", "3000000000", "2³¹"],
    "bad_example_cost": ["line 1", "not supported"],
    "bad_one_class": ["one class only"],
    "bad_no_examples": ["no examples"],
    "bad_html_page": ["web page"],
}


@pytest.fixture(params=PACKINGS)
def odd(request, shared, tmp_path):
    """A function: the odd file of this name, packed."""

    def write(name: str) -> Path:
        path = tmp_path / f"{name}.svm{request.param}"
        path.write_bytes(PACKINGS[request.param]((shared / "odd" / f"{name}.svm").read_bytes()))
        return path

    return write


def register(monkeypatch, tmp_path: Path, file: Path, m: int, n: int) -> str:
    """Publish a file in a mirror folder under a registered name."""
    (tmp_path / "mirror" / "mine").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    file.rename(tmp_path / "mirror" / "mine" / file.name)
    (tmp_path / "own" / "mine.toml").write_text(
        f'title = "Mine"\nformat = "libsvm"\nm = {m}\nn = {n}\n[[files]]\nname = "{file.name}"\n'
    )
    monkeypatch.setenv("PDMBENCH_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("PDMBENCH_DATASETS", str(tmp_path / "own"))
    return "mine"


@pytest.mark.parametrize("name", GOOD)
def test_odd_but_right_files_are_understood(name, odd, cache):
    loaded = data.load(odd(name))
    matrix, labels = GOOD[name]
    np.testing.assert_array_equal(loaded.patterns.to_csr().toarray(), matrix)
    np.testing.assert_array_equal(loaded.labels, labels)
    assert loaded.patterns.nnz == np.count_nonzero(matrix)
    assert loaded.positives == labels.count(1)
    assert SAID.get(name, "") in "; ".join(loaded.notes)
    assert bool(loaded.notes) == (name in SAID)


@pytest.mark.parametrize("name", GOOD)
def test_odd_but_right_files_are_understood_through_the_registry(name, odd, cache, monkeypatch, tmp_path):
    matrix, labels = GOOD[name]
    source = register(monkeypatch, tmp_path, odd(name), *np.shape(matrix))
    loaded = data.load(source)
    np.testing.assert_array_equal(loaded.patterns.to_csr().toarray(), matrix)
    np.testing.assert_array_equal(loaded.labels, labels)
    assert SAID.get(name, "") in "; ".join(loaded.notes)


@pytest.mark.parametrize("name", BAD)
def test_wrong_files_say_where_and_what(name, odd, cache):
    path = odd(name)
    with pytest.raises(DataError) as caught:
        data.load(path)
    for word in (str(path), *BAD[name]):
        assert word in str(caught.value)
    assert not list(cache.glob("sets/*/")), "nothing is cached"


@pytest.mark.parametrize("name", BAD)
def test_wrong_files_say_where_and_what_through_the_registry(name, odd, cache, monkeypatch, tmp_path):
    source = register(monkeypatch, tmp_path, odd(name), 2, 2)
    with pytest.raises(PdmbenchError) as caught:
        data.load(source)
    for word in BAD[name]:
        assert word in str(caught.value)
    assert not list(cache.glob("sets/*/"))


def entry(monkeypatch, tmp_path: Path, file: Path, m: int, n: int, more: str = "") -> Path:
    """A TOML file for an odd file with its hash, which a mirror folder has."""
    folder = tmp_path / "mirror" / file.name
    folder.mkdir(parents=True)
    (folder / file.name).write_bytes(file.read_bytes())
    monkeypatch.setenv("PDMBENCH_MIRROR", str(tmp_path / "mirror"))
    path = tmp_path / f"{file.name}.toml"
    path.write_text(
        f'title = "Odd"\nformat = "libsvm"\nm = {m}\nn = {n}\n{more}'
        f'[[files]]\nname = "{file.name}"\nsha256 = "{sha256(file.read_bytes()).hexdigest()}"\n'
    )
    return path


def command(tmp_path: Path, *arguments: object) -> tuple[int, list[str], list[str]]:
    """Exit status, lines on stdout and on stderr of a real process."""
    line = [sys.executable, "-m", "pdmbench", *map(str, arguments)]
    done = subprocess.run(line, cwd=tmp_path, env=os.environ, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def test_the_command_line_takes_what_is_odd_but_right(odd, cache, monkeypatch, tmp_path):
    sources, expected = [], []
    for name, (matrix, labels) in GOOD.items():
        m, n = np.shape(matrix)
        facts = f"{m} × {n}, {np.count_nonzero(matrix)} entries, {labels.count(1)} positive"
        file = odd(name)
        sources += [file, entry(monkeypatch, tmp_path, file, m, n)]
        expected += [f"{file}: {facts}", f"{file.name}: {facts}"]
    file = odd("three_classes")
    sources.append(entry(monkeypatch, tmp_path, file, 4, 3, 'positive = "2"\npositives = 1\n'))
    expected.append(f"{file.name}: 4 × 3, 4 entries, 1 positive")
    status, said, _ = command(tmp_path, "datasets", "fetch", "--quiet", *sources)
    assert (status, said) == (0, expected)


def test_the_command_line_refuses_what_is_wrong(odd, cache, monkeypatch, tmp_path):
    """One line each, by path and through the registry, and nothing is cached."""
    sources = []
    for name in BAD:
        file = odd(name)
        sources += [file, entry(monkeypatch, tmp_path, file, 2, 2)]
    status, said, errors = command(tmp_path, "datasets", "fetch", "--quiet", *sources)
    assert (status, said) == (2, [])
    assert len(errors) == len(sources)
    for line, source in zip(errors, sources, strict=True):
        name = source.name.partition(".")[0]
        assert line.startswith("pdmbench: ")
        assert source.name.removesuffix(".toml") in line
        for word in BAD[name]:
            assert word in line
    assert not list(cache.glob("sets/*")), "not even a lock is left"


@pytest.mark.parametrize(("odd", "registered"), [(".gz", False), (".xz", True)], indirect=["odd"])
def test_a_run_on_a_wrong_file_leaves_nothing(registered, odd, cache, monkeypatch, tmp_path):
    file = odd("bad_fused_tokens")
    source = entry(monkeypatch, tmp_path, file, 2, 5) if registered else file
    status, said, errors = command(tmp_path, "run", "-d", source, "-a", "mpu")
    assert (status, said, len(errors)) == (2, [], 1)
    assert "line 1" in errors[0]
    assert not (tmp_path / "results").exists()
    assert not list(cache.glob("sets/*"))


@pytest.mark.parametrize(("odd", "registered"), [(".bz2", False), ("", True)], indirect=["odd"])
def test_a_run_on_an_odd_but_right_file_says_how_it_was_read(registered, odd, cache, monkeypatch, tmp_path):
    file = odd("crlf_no_final_newline")
    source = entry(monkeypatch, tmp_path, file, 4, 3, "delta = 1.0\n") if registered else file
    status, said, notes = command(tmp_path, "run", "-d", source, "-a", "mpu")
    assert (status, len(said)) == (0, 2)
    assert any("labels 1 and 2: 2 is +1, 1 is -1" in note for note in notes)
    assert (tmp_path / "results" / "records.jsonl").exists()


@pytest.mark.parametrize("positive", ["2", "+2", "2.0"])
def test_one_class_against_the_rest(positive, odd, cache):
    loaded = data.load(odd("three_classes"), positive=positive)
    np.testing.assert_array_equal(loaded.labels, [-1, 1, -1, -1])
    assert "label 2 is +1" in loaded.notes[0]


def test_a_label_that_does_not_occur(odd, cache):
    with pytest.raises(DataError, match=r"has no label 4; its labels are 1 \(2\), 2 \(1\), 3 \(1\)"):
        data.load(odd("three_classes"), positive="4")


def test_the_choice_is_made_anew_at_each_load(odd, cache):
    path = odd("three_classes")
    assert data.load(path, positive="1").positives == 2
    assert data.load(path, positive="3").positives == 1
    with pytest.raises(DataError, match="--positive"):
        data.load(path)


def test_streams_of_several_parts(tmp_path, cache):
    """gzip and bzip2 files may be concatenated; so are bzip2 files packed in parallel."""
    for suffix in (".gz", ".bz2", ".xz"):
        path = tmp_path / f"parts{suffix}"
        path.write_bytes(PACKINGS[suffix](b"1 1:1\n-1 ") + PACKINGS[suffix](b"2:1\n"))
        np.testing.assert_array_equal(data.load(path).patterns.to_csr().toarray(), np.eye(2))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_truncated_packed_file(suffix, tmp_path, cache):
    path = tmp_path / f"cut.svm{suffix}"
    path.write_bytes(PACKINGS[suffix](b"1 1:1\n-1 1:2\n" * 50)[:-9])
    with pytest.raises(DataError, match="unpacked"):
        data.load(path)
    assert not list(cache.glob("sets/*/"))


def test_a_file_that_is_not_text(tmp_path, cache):
    path = tmp_path / "archive.zip"
    path.write_bytes(b"PK\x03\x04\0\0\0\0")
    with pytest.raises(DataError, match="is not text"):
        data.load(path)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"1 1:0x1p3", "not a number"),
        (b"1 1:1_0", "not a number"),
        (b"1 -1:1", "not a whole number"),
        (b"1 1.5:1", "not a whole number"),
        (b"1 1:", "no value"),
        (b"1 sid:3 1:1", "not supported"),
        (b"1 1:1 qid:3", "not a whole number"),
        (b"1 " + b"9" * 5000 + b":1", "too large"),
        (b"nan 1:1", "not a finite number"),
        (b"1,2 1:1", "not a number"),
        (b"1 2:1 3:-Infinity", "not a finite number"),
        (b"1 3:1 2:1 3:0", "index 3 occurs twice"),
    ],
)
@pytest.mark.parametrize("quick", [False, True])
def test_other_faults_of_these_kinds(line, complaint, quick):
    text = Text(b"# head\n1 1:1\n" + line + b"\n", Path("f"), 11, quick)
    with pytest.raises(DataError, match=complaint) as caught:
        libsvm.parse(text)
    assert caught.value.where == "f, line 13"


def test_a_number_of_more_digits_than_a_double_holds():
    """π to 30 digits is the double nearest to π."""
    text = Text(b"1 1:3.14159265358979323846264338327\n", Path("f"), 1, True)
    assert libsvm.parse(text).values[0] == np.pi


tokens = st.sampled_from(
    [
        *("1", "-1", "+1", "0", "2.5", "x", "#", "\t", "\r", "\v", "qid:1", "cost:1"),
        *("1:1", "2:0", "1:-.5", "3:1e2", "7:1E-3", "7:12345678901234567890", "6:+4", "6:4.", "08:1", "0:3"),
        *("2147483647:1", "2147483648:1", "1:", ":1", "1:1:1", "4:nan", "5:1e999"),
    ]
)
texts = st.lists(st.lists(tokens, max_size=6).map(" ".join), max_size=6).map("\n".join)


@settings(deadline=None, max_examples=300)
@given(texts)
def test_the_kernel_and_the_rules_agree(text):
    """On any lines: the same rows, or the same complaint."""

    def outcome(quick):
        try:
            return [a.tolist() for a in libsvm.parse(Text(text.encode() + b"\n", Path("f"), 1, quick))]
        except DataError as error:
            return str(error)

    assert outcome(True) == outcome(False)


def test_a_file_without_lines_does_not_fill_the_memory(tmp_path, monkeypatch, cache):
    monkeypatch.setattr("pdmbench.data.formats.CHUNK", 10)
    monkeypatch.setattr("pdmbench.data.formats.LONGEST", 100)
    path = tmp_path / "f.svm"
    path.write_bytes(b"1 1:1\n-1 " + b"2:1" * 100)
    with pytest.raises(DataError, match="line 2: is too long"):
        data.load(path)


def test_pieces_are_cut_at_line_ends(tmp_path, monkeypatch, cache):
    """Line numbers and rows do not depend on where the file is cut."""
    monkeypatch.setattr("pdmbench.data.formats.CHUNK", 10)
    path = tmp_path / "f.svm"
    path.write_bytes(b"1 1:1 2:2 3:3 4:4 5:5\n\n-1 1:7\n1 3:1\r\n-1 2:0.5 # end")
    np.testing.assert_array_equal(
        data.load(path).patterns.to_csr().toarray(),
        [[1, 2, 3, 4, 5], [7, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0.5, 0, 0, 0]],
    )
    path.write_bytes(b"1 1:1 2:2 3:3 4:4 5:5\n\n-1 1:7\n1 3:1\r\n-1 2:x # end")
    with pytest.raises(DataError, match="line 5: the value of index 2, `x`"):
        data.load(path)
