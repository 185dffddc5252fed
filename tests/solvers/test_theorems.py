"""Measured updates stay below the paper's bounds on random problems (Theorems 1 and 2)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import inseparable

from pdmbench import solvers, theory
from pdmbench.solvers.base import Monitor, Settings, Status


def run(problem, algorithm, **asked):
    """(updates, margin, bound) of a converged run."""
    solution = solvers.get(algorithm).solve(problem, Settings(**asked), Monitor())
    assert solution.status is Status.CONVERGED
    certificate = problem.certify(solution.weights, solution.dual)
    return solution.updates, certificate.margin, certificate.bound


@given(seed=st.integers(0, 10**6), eps=st.sampled_from([0.05, 0.2, 0.4, 0.5, 0.6, 0.9]))
@settings(max_examples=30, deadline=None)
def test_updates_stay_below_their_bounds(seed, eps):
    """γ_d is taken at its certified upper end, where the bounds are least."""
    problem = inseparable(seed, "dense", delta=1.0).problem
    _, _, gamma = run(problem, "pdm", eps=0.001)
    r = problem.R / gamma
    for algorithm in ("pdm", "pdm-succ"):
        updates, margin, _ = run(problem, algorithm, eps=eps, seed=seed)
        assert math.log10(updates) <= theory.theorem2(eps, r)
    beta = 0.9 * margin
    updates, _, _ = run(problem, "pfm", eps=eps, beta=beta, seed=seed)
    own = 1 - beta / gamma
    assert math.log10(updates) <= theory.theorem1(own, r)
    assert math.log10(updates) <= theory.theorem2(own, r)


@pytest.mark.parametrize("name", ["datasets/a1a delta=1", "datasets/splice delta=1"])
def test_reference_optima_give_bounds_above_any_double(optima, name):
    """At the paper's ε the bounds of real data overflow: hence logarithms."""
    known = optima[name]
    r = known["R"] / known["gamma_upper"]
    assert theory.theorem2(0.01, r) > 100
    assert math.isfinite(theory.theorem2(1e-6, r))
