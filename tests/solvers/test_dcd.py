"""DCD through liblinear: its problem, its messages, its seed, its optimum."""

from __future__ import annotations

import ctypes
import math
import sys

import numpy as np
import pytest
from random_problems import LAYOUTS, inseparable, optimum, sample, separable

from pdmbench import solvers
from pdmbench.data import load
from pdmbench.errors import SolverUnavailable
from pdmbench.problem import MarginProblem
from pdmbench.solvers import dcd
from pdmbench.solvers.base import Monitor, Settings, Status

BOTH = ("dcd-l1", "dcd-l2")


def train(name: str, problem: MarginProblem, monitor: Monitor | None = None, **settings):
    return solvers.get(name).solve(problem, Settings(**settings), monitor or Monitor())


def slow_problem() -> MarginProblem:
    """A tiny Δ makes the dual Hessian nearly singular: DCD needs far more than liblinear's 300 epochs."""
    return inseparable(3, "dense", 0.003, m=60).problem


def rows_of(data, library) -> np.ndarray:
    """What liblinear's own structures say, as a dense matrix."""
    dense = np.zeros((data.l, data.n))
    for k in range(data.l):
        j = 0
        while (node := data.x[k][j]).index != -1:
            dense[k, node.index - 1] = node.value
            j += 1
    return dense


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("extended", [True, False])
def test_liblinears_problem_holds_the_patterns(layout, extended):
    problem, y = inseparable(0, layout, 0.5, rho=2.0)
    library = dcd._library("dcd-l1")
    data = dcd._problem(library, problem, extended)
    x = problem.labels[:, None] * y
    order = [*range(problem.n), *(range(problem.n + 1, y.shape[1]) if extended else ()), problem.n]
    np.testing.assert_array_equal(rows_of(data, library), x[:, order])
    np.testing.assert_array_equal(data.y[: data.l], problem.labels)
    assert data.bias == 2.0


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reaches_the_optimum_as_its_tolerance_shrinks(name, layout):
    problem, extended = inseparable(1, layout, 1.0)
    lower, upper = optimum(extended)
    solution = train(name, problem, eps=1e-5)
    certificate = problem.certify(solution.weights, solution.dual)
    assert solution.status is Status.CONVERGED
    assert lower * (1 - 1e-4) <= certificate.margin <= upper * (1 + 1e-9)


@pytest.mark.parametrize("name", BOTH)
def test_hard_margin_without_extension(name):
    # ȳ = (3, 1) and (−1, −1): the segment between them is nearest to the origin at (0.2, −0.4).
    problem, _ = sample(np.array([[3.0], [1.0]]), np.array([1.0, -1.0]), 0.0)
    solution = train(name, problem, eps=1e-6)
    assert solution.dual is None
    assert problem.certify(solution.weights).margin == pytest.approx(math.sqrt(0.2), rel=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dual_coefficients_of_l1_belong_to_its_weights(layout):
    problem, extended = inseparable(2, layout, 0.5)
    solution = train("dcd-l1", problem, eps=0.1)
    assert np.all(solution.dual >= 0.0)
    np.testing.assert_allclose(extended[:, : problem.n + 1].T @ solution.dual, solution.weights, rtol=1e-9)


@pytest.mark.parametrize("name", BOTH)
class TestSeed:
    def test_same_seed_same_bits_whatever_was_drawn_in_between(self, name):
        problem = separable(4, "dense", delta=0.5).problem
        first = train(name, problem, seed=7)
        ctypes.CDLL(None).rand()
        np.testing.assert_array_equal(train(name, problem, seed=7).weights, first.weights)

    def test_every_seed_is_another_order(self, name):
        problem = inseparable(4, "dense", 0.5).problem
        results = {train(name, problem, seed=seed).weights.tobytes() for seed in range(4)}
        assert len(results) == 4


class TestOutOfEpochs:
    def test_l1_says_so(self):
        solution = train("dcd-l1", slow_problem())
        assert solution.status is Status.EPOCH_LIMIT
        assert solution.full_epochs == 300
        assert solution.note == "liblinear ended DCD at its limit of 300 epochs, short of its tolerance"

    def test_l2_says_that_the_primal_solver_took_over(self):
        solution = train("dcd-l2", slow_problem())
        assert solution.status is Status.EPOCH_LIMIT
        assert solution.full_epochs == 300
        assert "300 epochs" in solution.note
        assert "primal solver" in solution.note

    def test_l2_time_ends_when_dcd_ends(self):
        class Stepping(Monitor):
            readings = 0

            def seconds(self) -> float:
                self.readings += 1
                return float(self.readings)

        monitor = Stepping()
        solution = train("dcd-l2", slow_problem(), monitor)
        assert monitor.readings == 2  # at the switch, at the end
        assert solution.train_seconds == 1.0

    def test_within_eps_of_dcds_own_bound_counts_as_converged(self):
        # Tolerance 1e-14 is out of reach of rounding; the objective is not.
        problem = inseparable(1, "dense", 1.0).problem
        listener = dcd._Listener(Monitor())
        listener(b"\noptimization finished, #iter = 300\n")
        listener(b"Objective value = -8.000000\n")
        assert (listener.epochs(), listener.bound()) == (300, 0.25)  # 1/√(2·8)
        solution = train("dcd-l2", problem, eps=1e-14)
        assert solution.status is Status.EPOCH_LIMIT
        assert train("dcd-l2", problem).note is None

    def test_liblinear_is_quiet_and_speaks_to_nobody_afterwards(self, capfd):
        train("dcd-l2", slow_problem())
        assert capfd.readouterr() == ("", "")


def test_nodes_in_a_file_give_the_same_bits(monkeypatch, cache):
    """... and nothing is left behind."""
    problem = inseparable(5, "sparse", 0.5).problem
    in_memory = train("dcd-l2", problem)
    monkeypatch.setattr(dcd, "MAPPED_FROM", 0)
    mapped = train("dcd-l2", problem)
    assert mapped.weights.tobytes() == in_memory.weights.tobytes()
    assert list(cache.iterdir()) == []


def test_without_liblinear(monkeypatch):
    monkeypatch.setitem(sys.modules, "liblinear", None)
    problem = inseparable(0, "dense", 1.0).problem
    with pytest.raises(SolverUnavailable, match="install liblinear-official"):
        train("dcd-l2", problem)


def test_certified_optima(optima, shared, cache):
    """γ_d of ../shared/reference: DCD-L2 within 1 %, neither beyond it."""
    for key, known in optima.items():
        path, delta = key.split(" delta=")
        data = load(str(shared / path))
        problem = MarginProblem(data.patterns, data.labels, float(delta))
        hinge, squared = (train(name, problem) for name in BOTH)
        l1, l2 = (problem.certify(found.weights, found.dual) for found in (hinge, squared))
        assert 0.99 * known["gamma_lower"] <= l2.margin <= known["gamma_upper"] * (1 + 1e-9), key
        assert l1.margin <= known["gamma_upper"] * (1 + 1e-9), key
        assert min(l1.bound, l2.bound) >= known["gamma_lower"] * (1 - 1e-9), key
        if hinge.note is None:  # a·y_k ≥ 1 − ε at liblinear's tolerance
            assert l1.margin >= 0.98 * known["gamma_lower"], key
