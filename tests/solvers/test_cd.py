"""Certified dual coordinate descent: what it promises, on either of its two ways."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import LAYOUTS, inseparable, optimum, separable

from pdmbench import solvers
from pdmbench.patterns import Patterns
from pdmbench.problem import MarginProblem
from pdmbench.solvers import cd
from pdmbench.solvers.base import Monitor, Settings, Status

WAYS = {"newton": 2048, "descent": 0}  # the number of features up to which Newton's method is used


def solve(problem, eps, seed=0, monitor=None):
    return solvers.get("cd").solve(problem, Settings(eps=eps, seed=seed), monitor or Monitor())


@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(LAYOUTS),
    st.sampled_from([0.1, 0.3, 1.0]),
    st.sampled_from([0.05, 1e-4]),
)
def test_the_certificate_reaches_the_accuracy_asked_for(way, seed, layout, delta, eps):
    """1 − margin/bound ≤ ε, and both are on their side of the optimum found by NNLS."""
    drawn = inseparable(seed, layout, delta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cd, "FEW_FEATURES", WAYS[way])
        solution = solve(drawn.problem, eps)
    certificate = solution.certify(drawn.problem)
    lower, upper = optimum(drawn.extended)
    assert solution.status is Status.CONVERGED
    assert certificate.accuracy <= eps * (1 + 1e-9)
    assert certificate.margin <= upper * (1 + 1e-9)
    assert certificate.bound >= lower * (1 - 1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_separable_data_need_no_extension(layout):
    """Δ = 0: the margin is min ā·ȳ_k / ‖ā‖, the bound that of α."""
    drawn = separable(5, layout)
    certificate = solve(drawn.problem, 0.01).certify(drawn.problem)
    lower, upper = optimum(drawn.extended)
    assert 0.99 * lower <= certificate.margin <= upper * (1 + 1e-9)
    assert certificate.accuracy <= 0.01 * (1 + 1e-9)


def test_inseparable_data_without_extension_end_by_their_limit():
    drawn = inseparable(1, "sparse", 0.0)
    assert solve(drawn.problem, 0.01, monitor=Monitor(max_epochs=20)).status is Status.EPOCH_LIMIT


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_decides_every_bit(way, monkeypatch):
    monkeypatch.setattr(cd, "FEW_FEATURES", WAYS[way])
    drawn = inseparable(2, "sparse", 0.3, m=300)
    first, again = (solve(drawn.problem, 1e-4).weights.tobytes() for _ in range(2))
    assert first == again


def test_samples_that_grow_end_where_all_patterns_lead():
    """Enough patterns for two samples: the certificate speaks of all of them."""
    random = np.random.default_rng(4)
    x = random.normal(size=(20_000, 3))
    labels = np.where(x @ [1.0, -1.0, 0.5] + 2.0 * random.normal(size=len(x)) > 0.0, 1, -1).astype(np.int8)
    problem = MarginProblem(Patterns.from_csr(scipy.sparse.csr_array(x)), labels, delta=0.3)
    solution = solve(problem, 1e-6)
    certificate = solution.certify(problem)
    assert solution.status is Status.CONVERGED
    assert certificate.accuracy <= 1e-6 * (1 + 1e-6)
    # NNLS is out of reach here; the descent by coordinates is the other way to the same optimum.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cd, "FEW_FEATURES", 0)
        other = solve(problem, 1e-3).certify(problem)
    assert certificate.margin == pytest.approx(other.margin, rel=1.1e-3)
    assert other.margin <= certificate.bound


def test_a_limit_leaves_the_best_so_far():
    drawn = inseparable(6, "sparse", 0.1, m=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cd, "FEW_FEATURES", 0)
        solution = solve(drawn.problem, 1e-9, monitor=Monitor(max_epochs=5))
    assert solution.status is Status.EPOCH_LIMIT
    assert np.isfinite(solution.certify(drawn.problem).margin)
