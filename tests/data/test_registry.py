"""The registry: what is registered, and what a TOML file must say."""

from __future__ import annotations

import json

import pytest

from pdmbench.data import registry
from pdmbench.errors import UsageError

PAPER = ["adult", "web", "physics", "real-sim", "news20", "webspam", "covertype", "rcv1-c11", "rcv1-ccat"]
BUILT_IN = ["breast-cancer", "digits", "synthetic"]
MINIMAL = """
title = "Mine"
format = "libsvm"
m = 4
n = 2
[[files]]
name = "mine.svm"
"""


@pytest.fixture
def toml(tmp_path):
    """Write a description and give its path."""

    def write(text: str, name: str = "mine.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def complaint(path) -> str:
    with pytest.raises(UsageError) as caught:
        registry.get(path)
    message = str(caught.value)
    assert str(path) in message
    return message


def test_registered_are_the_papers_nine_and_the_built_in(cache):
    assert registry.names() == sorted(PAPER + BUILT_IN)
    assert all(registry.get(name).name == name for name in registry.names())


# The rows of the table in section 12 of the algorithms page: m, n, rescale, Δ, whether Δ is inferred.
ROWS = {
    "adult": (32561, 123, 1, 1, False),
    "web": (49749, 300, 1, 1, False),
    "physics": (50000, 70, 0.001, 1, False),
    "real-sim": (72309, 20958, 1, 0.1, True),
    "news20": (19996, 1355191, 1, 0.1, True),
    "webspam": (350000, 254, 1, 0.3, True),
    "covertype": (581012, 54, 0.001, 3, False),
    "rcv1-c11": (804414, 47236, 1, 0.3, True),
    "rcv1-ccat": (804414, 47236, 1, 0.3, True),
}


@pytest.mark.parametrize("name", PAPER)
def test_rows_are_those_of_the_paper(name):
    spec = registry.get(name)
    assert (spec.m, spec.n, spec.rescale, spec.delta, spec.delta_inferred) == ROWS[name]


@pytest.mark.parametrize("name", PAPER)
def test_facts_are_the_known_ones_and_none_is_invented(name, shared):
    known = json.loads((shared / "reference" / "datasets.json").read_text())
    facts = known[name.partition("-")[0] if name.startswith("rcv1") else name]
    spec = registry.get(name)
    assert len(spec.files) == len(facts["files"])
    assert spec.positives == facts.get("positives", facts.get("classes_1_to_7", [None])[0])
    for file, fact in zip(spec.files, facts["files"], strict=True):
        urls = [fact["url"]] if isinstance(fact["url"], str) else fact["url"]
        assert list(file.urls) == [url.replace("{libsvm}", known["base_libsvm"]) for url in urls]
        for key in ("name", "bytes", "sha256", "unpacked_bytes", "unpacked_sha256", "member"):
            assert getattr(file, key) == fact.get(key), key


def test_physics_drops_the_eight_features_with_codes_of_missing_values(shared):
    fact = json.loads((shared / "reference" / "datasets.json").read_text())["physics"]
    columns = sorted(column for group in fact["missing"].values() for column in group)
    spec = registry.get("physics")
    assert spec.drop == tuple(column - 2 for column in columns)  # id and class stand before the features
    assert spec.missing == (999, 9999)
    assert spec.n == 78 - 8


def test_rcv1_tasks_share_their_files():
    one, other = registry.get("rcv1-c11"), registry.get("rcv1-ccat")
    assert (one.folder, one.files) == (other.folder, other.files) == ("rcv1", one.files)
    assert (one.positive, other.positive) == ("C11", "CCAT")


def test_minimal_description_has_defaults(toml):
    spec = registry.get(toml(MINIMAL))
    assert (spec.name, spec.folder, spec.rescale, spec.delta, spec.positives) == (
        "mine",
        "mine",
        1,
        None,
        None,
    )


def test_a_spec_is_frozen_and_hashable(toml):
    spec = registry.get(toml(MINIMAL))
    assert hash(spec) == hash(registry.get(spec.origin))
    with pytest.raises(AttributeError):
        spec.m = 5


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("m = 4", "m = 4\nrescal = 2.0", "unknown key rescal; did you mean rescale?"),
        ("m = 4\n", "", "the key m is missing"),
        ('title = "Mine"\n', "", "the key title is missing"),
        ("m = 4", 'm = "4"', "m must be a whole number of at least 2, not '4'"),
        ("m = 4", "m = true", "m must be a whole number of at least 2, not True"),
        ("m = 4", "m = 4\ndelta = -1", "delta must be a finite number of at least 0, not -1"),
        ("m = 4", "m = 4\ndelta = nan", "delta must be a finite number of at least 0, not nan"),
        ("m = 4", "m = 4\nrescale = 0", "rescale must be a finite number above 0, not 0"),
        ("m = 4", 'm = 4\ndelta_inferred = "no"', "delta_inferred must be true or false, not 'no'"),
        ("m = 4", "m = 4\ndrop = 3", "drop must be a list, not 3"),
        (
            "m = 4",
            "m = 4\ndrop = [0]",
            "drop must be a list, each item a whole number of at least 1, not [0]",
        ),
        ("m = 4", 'm = 4\nfolder = "../x"', "folder must be a plain file name"),
        ("m = 4", "m = ", "is not valid TOML"),
        ('"libsvm"', '"svmlite"', "format must be one of libsvm, covtype, physics, rcv1, not 'svmlite'"),
        ('"libsvm"', '"rcv1"', "the key positive is missing"),
        ('format = "libsvm"\n', "", "exactly one of the keys format and generator"),
        ('format = "libsvm"', 'generator = "digits"', "[[files]] are needed with the key format"),
        ("mine.svm", "a/b", "[[files]] number 1: name must be a plain file name"),
        (
            '"mine.svm"',
            '"mine.svm"\nsha265 = "0"',
            "[[files]] number 1: unknown key sha265; did you mean sha256?",
        ),
        ('"mine.svm"', '"mine.svm"\nsha256 = "0"', "sha256 must be a sha256 of 64 hexadecimal digits"),
        ('"mine.svm"', '"mine.svm"\nurls = ["ftp://x/y"]', "urls must be a list, each item an address"),
        ('name = "mine.svm"', "bytes = 1", "[[files]] number 1: the key name is missing"),
        ('"mine.svm"', '"mine.svm"\n[[files]]\nname = "mine.svm"', "two [[files]] have the same name"),
    ],
)
def test_bad_description_names_file_and_key(toml, old, new, says):
    assert old in MINIMAL
    assert says in complaint(toml(MINIMAL.replace(old, new)))


def test_generator_parameters_are_checked(toml):
    text = 'title = "S"\ngenerator = "synthetic"\nm = 9\nn = 3\n[parameters]\ndensity = 0.5\nmargin = 0.1\n'
    assert "the key seed is missing" in complaint(toml(text))
    assert "unknown key sead; did you mean seed?" in complaint(toml(text + "sead = 1\n"))
    assert "seed must be a whole number of at least 0, not 0.5" in complaint(toml(text + "seed = 0.5\n"))
    dense = text.replace("density = 0.5", "density = 1.5")
    assert "density must be a finite number above 0 up to 1, not 1.5" in complaint(toml(dense))
    spec = registry.get(toml(text + "seed = 7\n"))
    assert dict(spec.parameters) == {"density": 0.5, "margin": 0.1, "seed": 7}


def test_missing_and_binary_files_are_errors_too(toml, tmp_path):
    assert "cannot be read" in complaint(tmp_path / "nowhere.toml")
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not valid TOML" in complaint(path)


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(UsageError, match="did you mean adult"):
        registry.get("adlut")


def test_own_folder_adds_data_sets(toml, cache, monkeypatch):
    path = toml(MINIMAL)
    monkeypatch.setenv("PDMBENCH_DATASETS", str(path.parent))
    assert "mine" in registry.names()
    assert registry.get("mine") == registry.get(path)


def test_one_bad_own_description_harms_no_other(toml, cache, monkeypatch):
    monkeypatch.setenv("PDMBENCH_DATASETS", str(toml("nonsense").parent))
    assert registry.get("adult").m == 32561
    assert "mine" in registry.names()


def test_own_folder_cannot_redefine_a_row_of_the_paper(toml, cache, monkeypatch):
    monkeypatch.setenv("PDMBENCH_DATASETS", str(toml(MINIMAL, "adult.toml").parent))
    with pytest.raises(UsageError, match="adult is one of pdmbench's own"):
        registry.get("adult")


def test_own_folder_must_exist(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PDMBENCH_DATASETS", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="no such folder"):
        registry.names()
