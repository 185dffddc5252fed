"""Certificates (two patterns by hand, then random ones in dense arithmetic) and the best extension of ā."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from random_problems import LAYOUTS, inseparable, optimum, sample, separable, vector

from pdmbench.errors import DataError, UsageError
from pdmbench.patterns import Patterns
from pdmbench.problem import MarginProblem, default_delta

random_problems = st.builds(
    inseparable, st.integers(0, 10**6), st.sampled_from(LAYOUTS), st.sampled_from([0.3, 1.0, 3.0])
)


@pytest.fixture(scope="module")
def lopsided() -> MarginProblem:
    """x₁ = 3 labelled +1, x₂ = 1 labelled −1, Δ = 2, ρ = 1: ȳ₁ = [3, 1], ȳ₂ = [−1, −1]."""
    return sample(np.array([[3.0], [1.0]]), np.array([1.0, -1.0]), 2.0).problem


class TestByHand:
    def test_sizes(self, lopsided):
        assert (lopsided.m, lopsided.n, lopsided.nnz) == (2, 1, 2)
        assert list(lopsided.q) == [9 + 1 + 4, 1 + 1 + 4]
        assert math.sqrt(14) == lopsided.R

    def test_a_vector_with_its_dual_coefficients(self, lopsided):
        # I = (1, 2): ā = [3, 1] − 2 [1, 1] = [1, −1]; ‖a‖² = 2 + 4·(1 + 4); a·y₁ = 2 + 4, a·y₂ = 0 + 8.
        certificate = lopsided.certify(np.array([1.0, -1.0]), np.array([1.0, 2.0]))
        assert certificate.margin == approx(6 / math.sqrt(22), rel=1e-15)
        assert certificate.bound == approx(math.sqrt(22) / 3, rel=1e-15)
        assert certificate.accuracy == approx(1 - 18 / 22, rel=1e-14)
        assert certificate.geometric_margin == approx(6 / math.sqrt(22 - 1), rel=1e-15)

    def test_the_bound_stands_on_the_dual_coefficients_alone(self, lopsided):
        # ā = [2, 0] is not Σ I_k ȳ_k: products 6 + 4 and −2 + 8, ‖a‖² = 4 + 20; the bound stays.
        certificate = lopsided.certify(np.array([2.0, 0.0]), np.array([1.0, 2.0]))
        assert certificate.margin == approx(6 / math.sqrt(24), rel=1e-15)
        assert certificate.bound == approx(math.sqrt(22) / 3, rel=1e-15)

    def test_negative_coefficients_prove_nothing(self, lopsided):
        # Of I = (1, −2) the first alone counts: ‖y₁‖ = √14 ≥ γ_d, while ‖y₁ − 2y₂‖/|1 − 2| would be no bound.
        certificate = lopsided.certify(np.array([1.0, -1.0]), np.array([1.0, -2.0]))
        assert certificate.bound == approx(math.sqrt(14), rel=1e-15)

    def test_the_best_extension(self, lopsided):
        # ā = [1, 0], products 3 and −1: f(s) = s² + [(1 − 3s)² + (1 + s)²]/4 for s < 1/3, f' = 7s − 1.
        weights, dual = lopsided.polish(np.array([1.0, 0.0]))
        assert weights == approx([1 / 7, 0], rel=1e-15)
        assert dual == approx([1 / 7, 2 / 7], rel=1e-15)
        certificate = lopsided.certify(np.array([1.0, 0.0]))
        assert certificate.margin == approx(math.sqrt(7 / 3), rel=1e-15)  # 1/√f(1/7), f = 3/7
        assert certificate.bound == approx(math.sqrt(22) / 3, rel=1e-15)  # I in the proportion 1 : 2
        assert lopsided.polished_margin(np.array([1.0, 0.0])) == certificate.margin

    def test_a_direction_that_is_wrong_everywhere_has_the_margin_of_the_extension(self):
        # All products negative: s = 0, and what is left is Δ/√m.
        x = np.array([[1.0], [2.0], [3.0]])
        problem = sample(x, np.ones(3), 0.5).problem
        assert problem.polished_margin(np.array([-1.0, 0.0])) == approx(0.5 / math.sqrt(3), rel=1e-15)

    def test_no_direction_has_the_margin_of_the_extension(self, lopsided):
        assert lopsided.polished_margin(np.zeros(2)) == approx(2 / math.sqrt(2), rel=1e-15)

    def test_the_optimum_certifies_itself(self):
        # x = ±1, labels ±1, Δ = ρ = 1: by symmetry I = (½, ½), a = [1, 0, ½, ½], ‖a‖² = a·y_k = 3/2.
        problem = sample(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 1.0).problem
        certificate = problem.certify(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
        assert certificate.margin == approx(math.sqrt(1.5), rel=1e-15)
        assert certificate.bound == approx(math.sqrt(1.5), rel=1e-15)
        assert certificate.accuracy == approx(0.0, abs=1e-15)
        assert certificate.geometric_margin == certificate.margin  # no bias component

    def test_nothing_learned_proves_nothing(self, lopsided):
        certificate = lopsided.certify(np.zeros(2), np.zeros(2))
        assert certificate.margin == 0.0
        assert certificate.bound == math.inf
        assert certificate.accuracy == 1.0

    def test_dual_weights_that_cancel_prove_there_is_no_margin(self):
        # One pattern under both labels, Δ = 0: ȳ₁ + ȳ₂ = 0, hence γ_d ≤ 0; γ'_d is no fraction of that.
        problem = sample(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]), 0.0).problem
        certificate = problem.certify(np.zeros(2), np.ones(2))
        assert certificate.bound == 0.0
        assert math.isnan(certificate.accuracy)

    def test_without_extension_no_dual_weights_follow_from_a_direction(self):
        problem = sample(np.array([[2.0], [-2.0]]), np.array([1.0, -1.0]), 0.0).problem
        certificate = problem.certify(np.array([1.0, 0.0]))
        assert certificate.margin == approx(2.0, rel=1e-15)
        assert certificate.bound == math.inf

    @pytest.mark.parametrize(
        ("delta", "rho"),
        [
            *[(-1, 1), (math.nan, 1), (math.inf, 1), (1e200, 1), (1e-160, 1)],
            *[(1, 0), (1, -1), (1, math.nan), (1, math.inf), (1, 1e200), (1, 1e-160)],
        ],
    )
    def test_parameters_out_of_range(self, lopsided, delta, rho):
        with pytest.raises(UsageError, match="--rho" if delta == 1 else "--delta"):
            MarginProblem(lopsided.patterns, lopsided.labels, delta, rho)


def test_a_length_that_overflows_is_an_error_of_the_data():
    """(1e200)² is above 1.8e308, the largest double."""
    patterns = Patterns.from_csr(scipy.sparse.csr_array([[1.0, 0.0], [0.0, 1e200]]))
    with pytest.raises(DataError, match="squared length of pattern 2 overflows"):
        MarginProblem(patterns, np.array([1, -1], dtype=np.int8), 1.0)


@pytest.mark.parametrize("size", [2.0**-480, 2.0**-300, 2.0**300, 2.0**480])
def test_certificates_scale_with_the_data_and_not_at_all_with_the_vector(size):
    """γ_d is homogeneous in (x, ρ, Δ); squares of the dual coefficients alone would vanish or overflow."""
    problem, y = inseparable(7, LAYOUTS[0], 1.0)
    weights = np.random.default_rng(7).normal(size=problem.n + 1)
    dual = np.abs(y @ np.ones(y.shape[1]))
    scaled = Patterns.from_csr(problem.patterns.to_csr().astype(np.float64) * size)
    large = MarginProblem(scaled, problem.labels, problem.delta * size, problem.rho * size)
    for known in (None, dual):
        expected = problem.certify(weights, known)
        for factor in (1.0, 1 / size, 1 / size**2):
            found = large.certify(weights * size * factor, None if known is None else known * factor)
            assert found.margin == approx(expected.margin * size, rel=1e-12)
            assert found.bound == approx(expected.bound * size, rel=1e-12)
            assert found.geometric_margin == approx(expected.geometric_margin * size, rel=1e-12)


@pytest.mark.parametrize(
    ("radius", "delta"), [(2.449, 0.2), (4.0, 0.4), (10.77, 1.0), (1.0, 0.1), (9847.0, 1000.0)]
)
def test_default_delta_is_a_tenth_of_R_to_one_digit(radius, delta):
    assert default_delta(radius) == delta


@settings(deadline=None, derandomize=True)
@given(random_problems, st.integers(0, 10**6))
def test_certificates_equal_those_of_the_explicit_extension(drawn, seed):
    random = np.random.default_rng(seed)
    problem, y = drawn
    weights, dual = random.normal(size=problem.n + 1), np.maximum(0.0, random.normal(size=problem.m))
    certificate = problem.certify(weights, dual)
    a = vector(drawn, weights, dual)
    assert certificate.margin == approx((y @ a).min() / np.linalg.norm(a), rel=1e-12)
    without_bias = np.delete(a, problem.n)
    assert certificate.geometric_margin == approx((y @ a).min() / np.linalg.norm(without_bias), rel=1e-12)
    assert certificate.bound == approx(np.linalg.norm(y.T @ dual) / dual.sum(), rel=1e-12)
    assert np.allclose(problem.q, (y**2).sum(axis=1), rtol=1e-14)
    assert approx(np.linalg.norm(y, axis=1).max(), rel=1e-14) == problem.R


@settings(deadline=None, derandomize=True)
@given(st.builds(separable, st.integers(0, 10**6), st.sampled_from(LAYOUTS)), st.integers(0, 10**6))
def test_any_certificate_encloses_the_optimum(drawn, seed):
    random = np.random.default_rng(seed)
    problem, y = drawn
    lower, upper = optimum(y)
    dual = np.maximum(0.0, random.normal(size=problem.m))
    certificate = problem.certify(random.normal(size=problem.n + 1), dual)
    assert certificate.margin <= upper * (1 + 1e-12)
    assert certificate.bound >= lower * (1 - 1e-12)


@settings(deadline=None, derandomize=True)
@given(random_problems, st.integers(0, 10**6), st.floats(-6, 6))
def test_polishing(drawn, seed, magnitude):
    """f is least at the scale found; 1/√f is the margin, no other extension has a larger one."""
    random = np.random.default_rng(seed)
    problem, y = drawn
    # Anything between a random direction and that of the class means.
    weights = y[:, : problem.n + 1].mean(axis=0) + random.random() * random.normal(size=problem.n + 1)
    weights *= 10.0**magnitude
    products = y[:, : problem.n + 1] @ weights

    def f(s):
        return s**2 * (weights @ weights) + (np.maximum(0, 1 - s * products) ** 2).sum() / problem.delta**2

    scaled, dual = problem.polish(weights)
    s = (scaled @ weights) / (weights @ weights)
    assert s >= 0
    assert scaled == approx(s * weights, rel=1e-12)
    # f is convex: its slope vanishes at the minimum, or the minimum is at s = 0 and the slope points upwards.
    slopes = np.append(
        2 * s * (weights @ weights), -2 * products * np.maximum(0, 1 - s * products) / problem.delta**2
    )
    assert slopes.sum() >= -1e-12 * np.abs(slopes).sum()
    assert s == 0 or slopes.sum() <= 1e-12 * np.abs(slopes).sum()
    assert dual == approx(np.maximum(0, 1 - s * products) / problem.delta**2, rel=1e-9, abs=1e-12)

    certificate = problem.certify(weights)
    assert certificate.margin == approx(1 / math.sqrt(f(s)), rel=1e-12)
    assert problem.polished_margin(weights) == certificate.margin
    lower, upper = optimum(y)
    assert certificate.margin <= upper * (1 + 1e-9)
    assert certificate.bound >= lower * (1 - 1e-9)
    for _ in range(5):
        other = random.exponential() * np.maximum(0, random.normal(1, 1, problem.m)) * dual.max()
        scaled_at_will = weights * (s or 1.0) * random.exponential()
        assert problem.certify(scaled_at_will, other).margin <= certificate.margin * (1 + 1e-12)


@settings(deadline=None, derandomize=True)
@given(random_problems)
def test_the_optimal_direction_polishes_to_the_optimum(drawn):
    """At the optimum margin and bound meet γ_d."""
    problem, y = drawn
    lower, _ = optimum(y)
    alpha = scipy.optimize.nnls(
        np.vstack([y.T, np.ones(problem.m)]), np.append(np.zeros(y.shape[1]), 1.0), maxiter=10_000
    )[0]
    certificate = problem.certify((y.T @ alpha)[: problem.n + 1])
    assert certificate.margin == approx(lower, rel=1e-7)
    assert certificate.bound == approx(lower, rel=1e-7)


def test_the_margin_is_at_least_that_of_the_extension():
    """Δ/√m, however the labels fall (Shawe-Taylor & Cristianini)."""
    problem, y = inseparable(3, "dense", 1.0)
    assert optimum(y)[1] >= 1.0 / math.sqrt(problem.m)
