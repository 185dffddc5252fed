"""Every solver on real data against certified optima found by other means (liblinear's Newton method)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from pytest import approx

from pdmbench import solvers
from pdmbench.patterns import Patterns
from pdmbench.problem import Certificate, MarginProblem
from pdmbench.solvers.base import Monitor, Settings, Solution, Status

EPS = 0.01
KEYS = (
    "mirror/adult/a9a delta=1",
    "mirror/web/w8a delta=1",
    "datasets/a1a delta=1",
    "datasets/w1a delta=1",
    "datasets/mushrooms delta=0.3",
    "datasets/mushrooms delta=1",
    "datasets/splice delta=1",
    "datasets/ijcnn1.val delta=0.3",
    "datasets/heart_scale delta=0.3",
    "datasets/sonar_scale delta=0.3",
    "datasets/ionosphere_scale delta=0.3",
    "datasets/breast-cancer_scale delta=0.3",
    "datasets/rcv1_small_train.dat delta=0.1",
    "datasets/rcv1_small_train.dat delta=0.3",
)
# Updates of the prototype, over several seeds (issue "Table 1 on real data").
PROTOTYPE_UPDATES = {"pdm": (2.4e7, 3.1e7), "pdm-succ": (0.8e7, 1.1e7), "pfm": (1.0e7, 1.2e7)}


class Real(NamedTuple):
    """A data set of the reference, and what is known of it."""

    key: str
    problem: MarginProblem
    known: dict


@pytest.fixture(scope="module", params=KEYS)
def real(request, shared, optima) -> Real:
    from sklearn.datasets import load_svmlight_file

    known = optima[request.param]
    x, y = load_svmlight_file(shared / request.param.split()[0])
    x.eliminate_zeros()
    x.sort_indices()
    positive = next(value for value in np.unique(y)[::-1] if (y == value).sum() == known["positives"])
    labels = np.where(y == positive, 1, -1).astype(np.int8)
    return Real(
        request.param, MarginProblem(Patterns.from_csr(x), labels, known["delta"], known["rho"]), known
    )


@pytest.fixture(scope="module")
def run(real):
    """Solve once per data set, solver and β."""
    results: dict[tuple, tuple[Solution, Certificate]] = {}

    def run(name: str, beta: float | None = None) -> tuple[Solution, Certificate]:
        if (name, beta) not in results:
            solution = solvers.get(name).solve(real.problem, Settings(eps=EPS, beta=beta), Monitor())
            results[name, beta] = solution, solution.certify(real.problem)
        return results[name, beta]

    return run


def test_every_reference_is_used(optima):
    assert set(KEYS) == set(optima)


def test_sizes(real):
    problem, known = real.problem, real.known
    assert (problem.m, problem.n, problem.nnz) == (known["m"], known["n"], known["nnz"])
    assert approx(known["R"], rel=1e-15) == problem.R


def test_layouts(real):
    """Binary data, real-valued sparse and dense ones are all among them."""
    binary = ("a9a", "w8a", "a1a", "w1a", "mushrooms")
    expected = "constant" if any(name in real.key for name in binary) else "dense"
    assert real.problem.patterns.layout == ("sparse" if "rcv1" in real.key else expected)


@pytest.mark.parametrize("name", ["pdm", "pdm-succ", "romma", "naromma", "mpu", "cd"])
def test_the_optimum_to_one_percent(real, run, name):
    solution, certificate = run(name)
    assert solution.status is Status.CONVERGED
    assert (1 - EPS) * real.known["gamma_lower"] * (1 - 1e-9) <= certificate.margin
    assert certificate.margin <= real.known["gamma_upper"] * (1 + 1e-9)
    assert certificate.bound >= real.known["gamma_lower"] * (1 - 1e-9)
    if name in ("pdm", "pdm-succ"):
        assert certificate.accuracy <= EPS


@pytest.mark.parametrize(("name", "source"), [("pfm", "pdm"), ("pfm-succ", "pdm-succ")])
def test_pfm_reaches_the_margin_of_pdm(real, run, name, source):
    beta = run(source)[1].margin
    solution, certificate = run(name, beta)
    assert solution.status is Status.CONVERGED
    assert beta * (1 - 1e-9) <= certificate.margin <= real.known["gamma_upper"] * (1 + 1e-9)
    assert certificate.bound >= real.known["gamma_lower"] * (1 - 1e-9)


@pytest.mark.parametrize("real", ["mirror/adult/a9a delta=1"], indirect=True)
def test_updates_on_adult_are_those_of_the_prototype(real, run):
    beta = run("pdm")[1].margin
    for name, (least, most) in PROTOTYPE_UPDATES.items():
        solution, _ = run(name, beta if name == "pfm" else None)
        assert 0.9 * least <= solution.updates <= 1.1 * most  # other permutations than the prototype's
