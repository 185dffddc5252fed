"""Experiment files: their cells, and what is said of a mistake."""

from __future__ import annotations

import pytest

from pdmbench.bench import plan
from pdmbench.bench.plan import Cell
from pdmbench.errors import UsageError


@pytest.fixture
def write(tmp_path):
    """Write an experiment file; returns its path."""

    def write_(text: str) -> str:
        path = tmp_path / "own.toml"
        path.write_text(text)
        return str(path)

    return write_


def test_cells_are_rows_times_seeds_times_algorithms(write):
    text = """
        title = "mine"
        algorithms = ["table1", "pdm"]
        eps = 0.1
        seeds = [0, 3]
        [[rows]]
        dataset = "adult"
        delta = 1
        [[rows]]
        dataset = "web"
        algorithms = ["mpu"]
        eps = 0.2
        seeds = [5]
        positive = "2"
        trace = true
    """
    experiment = plan.load_experiment(write(text))
    assert experiment.title == "mine"
    names = ["pdm", "pfm", "pdm-succ", "pfm-succ"]
    first = [Cell(dataset="adult", algorithm=a, eps=0.1, delta=1.0, seed=s) for s in (0, 3) for a in names]
    last = Cell(dataset="web", algorithm="mpu", eps=0.2, seed=5, positive="2", trace=True)
    assert list(experiment.cells) == [*first, last]


def test_a_path_is_meant_from_where_the_file_lies(write, tmp_path):
    (tmp_path / "a.svm").write_text("")
    (cell,) = plan.load_experiment(write('algorithms = ["pdm"]\n[[rows]]\ndataset = "a.svm"')).cells
    assert cell.dataset == str(tmp_path / "a.svm")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no [[rows]]"),
        ("epz = 0.1", "unknown key epz; did you mean eps?"),
        ('[[rows]]\ndata_set = "adult"', "[[rows]] number 1: unknown key data_set; did you mean dataset?"),
        ("[[rows]]\ndelta = 1", "[[rows]] number 1: the key dataset is missing"),
        ('eps = 1.0\n[[rows]]\ndataset = "adult"', "eps must be a number between 0 and 1, not 1.0"),
        ('eps = "x"\n[[rows]]\ndataset = "adult"', "eps must be a finite number"),
        ('[[rows]]\ndataset = "adult"\ndelta = -1', "delta must be a finite number of at least 0"),
        (f'[[rows]]\ndataset = "adult"\ndelta = 1{"0" * 400}', "delta must be a finite number of at least 0"),
        ('seeds = [0.5]\n[[rows]]\ndataset = "adult"', "seeds must be a list, each item a whole number"),
        (
            'algorithms = ["pmd"]\n[[rows]]\ndataset = "adult"',
            "number 1: unknown algorithm 'pmd'; did you mean",
        ),
        ("eps = ", "is not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(write, text, said):
    path = write(text)
    with pytest.raises(UsageError) as error:
        plan.load_experiment(path)
    assert str(error.value).startswith(path)
    assert said in str(error.value)


def test_no_seeds_or_algorithms_is_a_mistake_not_an_empty_run(write):
    for key in ("seeds", "algorithms"):
        with pytest.raises(UsageError, match=key):
            plan.load_experiment(write(f'{key} = []\n[[rows]]\ndataset = "adult"'))


def test_the_packaged_experiments_are_whole():
    assert plan.experiments() == ["builtin", "paper"]
    paper = plan.load_experiment("paper").cells
    deltas = {cell.dataset: cell.delta for cell in paper}
    assert deltas == {  # the paper's Δ, algorithms.md 12
        "adult": 1, "web": 1, "physics": 1, "real-sim": 0.1, "news20": 0.1, "webspam": 0.3, "covertype": 3,
        "rcv1-c11": 0.3, "rcv1-ccat": 0.3,
    }  # fmt: skip
    assert {(cell.eps, cell.eta, cell.rho) for cell in paper} == {(0.01, 8.0, 1.0)}
    for dataset in deltas:
        names = {cell.algorithm for cell in paper if cell.dataset == dataset}
        assert {
            "pdm",
            "pfm",
            "pdm-succ",
            "pfm-succ",
            "romma",
            "mpu",
            "dcd-l1",
            "dcd-l2",
            "svm",
            "svm-light",
        } <= names
    assert {cell.dataset for cell in plan.load_experiment("builtin").cells} == {
        "breast-cancer", "digits", "synthetic",
    }  # fmt: skip


def test_select_by_data_set_and_algorithm():
    cells = [Cell(dataset=d, algorithm=a) for d in ("adult", "web") for a in ("pdm", "mpu")]
    assert plan.select(cells) == cells
    assert plan.select(cells, ["web/mpu"]) == [cells[3]]
    assert plan.select(cells, ["*/pdm"]) == [cells[0], cells[2]]
    assert plan.select(cells, ["adult", "web/pdm"]) == cells[:3]
    assert {cell.time_limit for cell in plan.select(cells, time_limit=5.0)} == {5.0}
    with pytest.raises(UsageError, match="no cell is called wep; did you mean web"):
        plan.select(cells, ["wep"])


def test_pfm_aims_at_the_margin_of_its_partner_unless_told():
    assert Cell(dataset="a", algorithm="pfm").beta_from == "pdm"
    assert Cell(dataset="a", algorithm="pfm-succ").beta_from == "pdm-succ"
    assert Cell(dataset="a", algorithm="pfm", beta=0.1).beta_from is None
    assert Cell(dataset="a", algorithm="pdm").beta_from is None
