"""The perceptron family against plain numpy on the explicit extension, its theorems, and its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from random_problems import LAYOUTS, Sample, inseparable, optimum, sample, separable, vector

from pdmbench import solvers
from pdmbench.errors import UsageError
from pdmbench.kernels import perceptrons as kernels
from pdmbench.solvers import perceptrons
from pdmbench.solvers.active_sets import Permutation
from pdmbench.solvers.base import Monitor, Settings, Solution, Start, Status
from pdmbench.solvers.perceptrons import ALMA2, DualPerceptron, MarginPerceptron, Margitron, Perceptron
from pdmbench.solvers.pfm import PFM

FAMILY = solvers.GROUPS["perceptrons"]
ROUNDING = 1e-9

drawn_problems = st.one_of(
    st.builds(separable, st.integers(0, 10**6), st.sampled_from(LAYOUTS)),
    st.builds(inseparable, st.integers(0, 10**6), st.sampled_from(LAYOUTS), st.sampled_from([0.5, 1.0])),
)
property_test = settings(deadline=None, derandomize=True, max_examples=60)


def solve(solver, drawn: Sample, max_epochs: int = 10**6, **values) -> Solution:
    return solver.solve(drawn.problem, Settings(**values), Monitor(max_epochs=max_epochs))


def unit(extended: np.ndarray) -> np.ndarray:
    """ŷ_k = y_k/‖y_k‖."""
    return extended / np.linalg.norm(extended, axis=1, keepdims=True)


def a_of(drawn: Sample, solution: Solution) -> np.ndarray:
    return vector(drawn, solution.weights, solution.dual)


def orders(m: int, seed: int, epochs: int) -> list[np.ndarray]:
    """The permutations of a run."""
    permutation = Permutation(m, seed)
    found = []
    for _ in range(epochs):
        permutation.draw()
        found.append(permutation.patterns.copy())
    return found


def rosenblatt(extended: np.ndarray, seed: int, epochs: int) -> np.ndarray:
    """I_k of the perceptron, by its definition: one pattern after the other, full epochs alone."""
    a, dual = np.zeros(extended.shape[1]), np.zeros(len(extended))
    for order in orders(len(extended), seed, epochs):
        for k in order:
            if a @ extended[k] <= 0.0:
                a += extended[k]
                dual[k] += 1
    return dual


@pytest.mark.parametrize("name", FAMILY)
@property_test
@given(drawn_problems, st.integers(0, 100))
def test_certified(name, drawn, seed):
    """a = Σ I_k y_k with I_k ≥ 0, a separates, its bound is one."""
    lower, upper = optimum(drawn.extended)
    solution = solve(solvers.get(name), drawn, eps=0.3, seed=seed)
    certificate = drawn.problem.certify(solution.weights, solution.dual)
    a = a_of(drawn, solution)
    assert solution.status is Status.CONVERGED
    assert np.all(solution.dual >= 0)
    assert np.allclose(drawn.extended.T @ solution.dual, a, rtol=0, atol=1e-9 * np.linalg.norm(a))
    assert certificate.margin == approx((drawn.extended @ a).min() / np.linalg.norm(a), rel=1e-6)
    assert 0.0 < certificate.margin <= upper * (1 + ROUNDING)
    assert certificate.bound >= lower * (1 - ROUNDING)
    assert solution.row_products >= solution.full_epochs * drawn.problem.m
    if name != "alma2":
        assert solution.updates == solution.dual.sum()


class TestPerceptron:
    @property_test
    @given(drawn_problems, st.booleans(), st.integers(0, 100))
    def test_never_more_updates_than_novikoff_allows(self, drawn, normalise, seed):
        """t ≤ (R/γ_d)², of the patterns that are presented."""
        presented = unit(drawn.extended) if normalise else drawn.extended
        gamma = optimum(presented)[0]
        solution = solve(Perceptron(normalise), drawn, seed=seed)
        assert solution.status is Status.CONVERGED
        assert 0 < solution.updates <= (presented**2).sum(axis=1).max() / gamma**2 * (1 + ROUNDING)

    @property_test
    @given(drawn_problems, st.booleans(), st.integers(0, 100))
    def test_primal_and_dual_make_the_same_updates(self, drawn, normalise, seed):
        primal, dual = (solve(kind(normalise), drawn, seed=seed) for kind in (Perceptron, DualPerceptron))
        assert np.array_equal(primal.dual, dual.dual)
        assert (primal.updates, primal.row_products, primal.full_epochs) == (
            dual.updates, dual.row_products, dual.full_epochs,
        )  # fmt: skip
        assert np.allclose(primal.weights, dual.weights, rtol=0, atol=1e-12 * np.linalg.norm(primal.weights))
        if not normalise:  # whole multiples of 1/8: sums are exact in any order
            assert primal.weights.tobytes() == dual.weights.tobytes()

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_both_are_the_textbook_perceptron(self, layout):
        drawn = inseparable(3, layout, 1.0)
        for kind in (Perceptron, DualPerceptron):
            solution = solve(kind(), drawn, seed=4)
            assert solution.updates > drawn.problem.m
            expected = rosenblatt(drawn.extended, 4, solution.full_epochs)
            assert np.array_equal(solution.dual, expected)

    @pytest.mark.parametrize("limit", [0, 8 * 40 * 3, 2**30])
    def test_gram_rows_beyond_the_limit_are_made_anew(self, limit, monkeypatch):
        drawn = inseparable(3, "dense", 1.0)
        monkeypatch.setattr(perceptrons, "GRAM_LIMIT", limit)
        solution = solve(DualPerceptron(), drawn, seed=4)
        assert np.array_equal(solution.dual, rosenblatt(drawn.extended, 4, solution.full_epochs))

    @property_test
    @given(drawn_problems, st.integers(0, 100))
    def test_normalised_patterns(self, drawn, seed):
        """The perceptron on ŷ_k; its I_k are those of y_k."""
        solution = solve(Perceptron(normalise=True), drawn, seed=seed)
        counts = solution.dual * np.linalg.norm(drawn.extended, axis=1)
        assert np.allclose(counts, np.round(counts), rtol=0, atol=1e-9)
        assert solution.updates == round(counts.sum())
        a = unit(drawn.extended).T @ np.round(counts)
        assert np.allclose(a_of(drawn, solution), a, rtol=0, atol=1e-9 * np.linalg.norm(a))


class TestMarginPerceptron:
    @property_test
    @given(drawn_problems, st.sampled_from([0.5, 0.1, 0.01]), st.booleans(), st.integers(0, 100))
    def test_guarantee(self, drawn, eps, normalise, seed):
        """Σ of at most 2b + R² an update: margin ≥ γ_d b/(2b+R²), t ≤ (2b+R²)/γ_d²; b = R²/2ε."""
        presented = unit(drawn.extended) if normalise else drawn.extended
        gamma, radius = optimum(presented)[0], np.linalg.norm(presented, axis=1).max()
        b = radius**2 / (2 * eps)
        solution = solve(MarginPerceptron(normalise=normalise), drawn, eps=eps, seed=seed)
        a = a_of(drawn, solution)
        smallest = (presented @ a).min()
        assert solution.status is Status.CONVERGED
        assert smallest > b * (1 - ROUNDING)
        assert smallest / np.linalg.norm(a) >= gamma / (2 * (1 + eps)) * (1 - ROUNDING)
        assert solution.updates <= (2 * b + radius**2) / gamma**2 * (1 + ROUNDING)

    @property_test
    @given(drawn_problems, st.sampled_from([0.2, 1.0, 300.0]), st.integers(0, 100))
    def test_is_the_margitron_with_exponent_one(self, drawn, b, seed):
        first, second = (solve(kind, drawn, seed=seed) for kind in (MarginPerceptron(b), Margitron(1.0, b)))
        assert np.array_equal(first.dual, second.dual)
        assert first.weights.tobytes() == second.weights.tobytes()

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_a_pattern_is_added_until_its_product_exceeds_b(self, layout):
        drawn = inseparable(2, layout, 0.5)
        present = presenter(drawn, 7.3, 0.0)
        for k in np.random.default_rng(1).integers(0, drawn.problem.m, 200):
            before, after = present(k)
            p, q = before @ drawn.extended[k], drawn.problem.q[k]
            expected = np.floor((7.3 - p) / q) + 1 if p <= 7.3 else 0
            assert np.allclose(after - before, expected * drawn.extended[k], rtol=0, atol=1e-9)


class TestMargitron:
    @property_test
    @given(drawn_problems, st.sampled_from([0.3, 0.8, 0.95]), st.integers(0, 100))
    def test_becomes_pfm_as_the_exponent_vanishes(self, drawn, share, seed):
        b = share * optimum(drawn.extended)[0]
        limit = solve(PFM(), drawn, beta=b, seed=seed)
        near = solve(Margitron(1e-13, b), drawn, seed=seed)
        assert np.array_equal(near.dual, limit.dual)
        assert (near.updates, near.full_epochs) == (limit.updates, limit.full_epochs)

    @property_test
    @given(
        drawn_problems, st.sampled_from([0.4, 0.5, 1.0]), st.sampled_from([0.3, 0.05]), st.integers(0, 100)
    )
    def test_guarantee(self, drawn, exponent, eps, seed):
        """The docstring's, for the default b."""
        gamma = optimum(drawn.extended)[0]
        solution = solve(Margitron(exponent), drawn, eps=eps, seed=seed)
        fraction = 1 / ((1 + exponent) * (1 + eps / exponent) + (2 * eps) ** (1 + exponent))
        a = a_of(drawn, solution)
        norm, radius = np.linalg.norm(a), drawn.problem.R
        assert solution.status is Status.CONVERGED
        assert (drawn.extended @ a).min() / norm >= fraction * gamma * (1 - ROUNDING)
        assert norm >= radius / (2 * eps) * (1 - ROUNDING)

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("power", [-0.7, 0.5, 0.9])
    def test_a_multiple_update_is_that_many_single_ones(self, layout, power):
        """Condition a·y_k ≤ b ‖a‖^{1−ε'}, from its definition."""
        drawn = inseparable(2, layout, 0.5)
        b = 0.7 * np.sqrt(drawn.problem.q.min())
        present = presenter(drawn, b, power)
        sizes = set()
        for k in np.random.default_rng(1).integers(0, drawn.problem.m, 300):
            before, after = present(k)
            a, y, count = before.copy(), drawn.extended[k], 0
            while a @ y <= (b * np.linalg.norm(a) ** power if a.any() else 0.0):
                a += y
                count += 1
            sizes.add(count)
            assert np.allclose(after, a, rtol=0, atol=1e-9 * max(1.0, np.linalg.norm(a)))
        assert sizes >= {0, 1, 2}

    def test_normalised_patterns_are_those_of_a_normalised_problem(self):
        """Δ and ρ scale with their pattern, so only data of one length are a problem of their own."""
        random = np.random.default_rng(5)
        x = random.choice([-1.0, 1.0], size=(40, 6))  # q = 6 + 1 + 2 = 9
        drawn = sample(x, random.choice([-1.0, 1.0], size=40), np.sqrt(2.0))
        whole = solve(Margitron(0.5, 2.9), drawn, seed=1)
        unit_length = solve(Margitron(0.5, 2.9 / 3.0**1.5, normalise=True), sample_scaled(drawn, 3.0), seed=1)
        assert whole.status is unit_length.status is Status.CONVERGED
        assert whole.updates == unit_length.updates

    def test_out_of_reach(self):
        """b ≥ ‖y‖ with ε' → 0 is PFM with β > γ_d: it would never end."""
        solution = solve(Margitron(0.01, 5.0), separable(1, "dense"))
        assert solution.status is Status.FAILED
        assert solution.updates == 0
        assert "b = 5 with ε' = 0.01" in solution.note

    @pytest.mark.parametrize(("exponent", "b"), [(0.0, None), (2.0, 1.0), (0.5, 0.0), (1.0, float("nan"))])
    def test_parameters_out_of_range(self, exponent, b):
        with pytest.raises(UsageError, match=r"ε'|b must be"):
            Margitron(exponent, b)


class TestALMA2:
    @property_test
    @given(drawn_problems, st.sampled_from([0.5, 0.2, 0.1]), st.integers(0, 100))
    def test_margin_of_normalised_patterns(self, drawn, alpha, seed):
        """(1−α) γ̂ within (2/γ̂²)(2/α − 1)² + 8/α − 4 updates (Gentile 2001, theorem 3 for p = 2)."""
        normalised = unit(drawn.extended)
        lower, upper = optimum(normalised)
        solution = solve(ALMA2(), drawn, eps=alpha, seed=seed)
        a = a_of(drawn, solution)
        assert solution.status is Status.CONVERGED
        assert (normalised @ a).min() / np.linalg.norm(a) >= (1 - alpha) * lower * (1 - ROUNDING)
        assert solution.updates <= 2 / lower**2 * (2 / alpha - 1) ** 2 + 8 / alpha - 4
        assert solution.updates + 1 >= 8 * (1 - alpha) ** 2 / (alpha * upper) ** 2 * (1 - ROUNDING)

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("smallest", [kernels.SMALLEST_SCALE, 0.5])
    def test_against_its_definition(self, layout, smallest):
        """w itself, update by update; with s about to underflow as well."""
        drawn, alpha = inseparable(6, layout, 0.5), 0.2
        problem, y = drawn.problem, unit(drawn.extended)
        w, count = np.zeros(y.shape[1]), 0
        state, weights, dual = np.array([0.0, 0.0, 1.0]), problem.zero_weights(), np.zeros(problem.m)
        if smallest < 0.5:
            state[2] = 2 * smallest
        for order in orders(problem.m, 0, 20):
            for k in order:
                if w @ y[k] <= (1 - alpha) * np.sqrt(8) / alpha / np.sqrt(count + 1):
                    w = w + np.sqrt(2) / np.sqrt(count + 1) * y[k]
                    w /= max(1.0, np.linalg.norm(w))
                    count += 1
            kernels.sweep_alma(problem.y, order, alpha, state, weights, dual)
            assert state[0] == count
            ours = state[2] * vector(drawn, problem.augmented(weights), dual)
            assert np.allclose(ours, w, rtol=0, atol=1e-12)
            assert state[1] * state[2] ** 2 == approx(w @ w, rel=1e-9)
        assert state[2] > 2 * kernels.SMALLEST_SCALE


def presenter(drawn: Sample, b: float, power: float):
    """Presents one pattern to the kernel; returns a before and after."""
    problem = drawn.problem
    state, weights, dual = np.zeros(2), problem.zero_weights(), np.zeros(problem.m)

    def present(k: int) -> tuple[np.ndarray, np.ndarray]:
        before = vector(drawn, problem.augmented(weights), dual)
        order, kept = np.array([k], np.uint32), np.empty(1, np.uint32)
        kernels.sweep(problem.y, order, 1, True, b, power, True, False, 1.0, state, weights, dual, kept)
        return before, vector(drawn, problem.augmented(weights), dual)

    return present


def sample_scaled(drawn: Sample, factor: float) -> Sample:
    """The same problem in other units."""
    problem = drawn.problem
    x = problem.patterns.to_csr().toarray() * factor
    return sample(x, problem.labels, problem.delta * factor, rho=factor * problem.rho)


@pytest.mark.parametrize("name", ["pdm", "pdm-succ", "romma", "naromma", "mpu", "perceptron-margin"])
@property_test
@given(drawn_problems, st.sampled_from([0.2, 0.05]), st.integers(0, 100))
def test_a_warm_start_keeps_the_guarantee(name, drawn, eps, seed):
    """From any I_k ≥ 0, also far from any optimum."""
    problem, solver = drawn.problem, solvers.get(name)
    lower, upper = optimum(drawn.extended)
    dual = np.random.default_rng(seed).integers(0, 4, problem.m).astype(float)
    a = drawn.extended.T @ dual
    start = Start(a[: problem.n + 1], dual, dual.sum())
    solution = solve(solver, drawn, eps=eps, seed=seed, start=start)
    certificate = problem.certify(solution.weights, solution.dual)
    assert solution.status is Status.CONVERGED
    assert np.array_equal(dual, start.dual)
    # From a start of its own the perceptron with margin promises separation alone.
    promised = 0.0 if name == "perceptron-margin" else 1 - eps
    assert promised * lower * (1 - ROUNDING) <= certificate.margin <= upper * (1 + ROUNDING)
    final = a_of(drawn, solution)
    assert np.allclose(drawn.extended.T @ solution.dual, final, rtol=0, atol=1e-9 * np.linalg.norm(final))


@pytest.mark.parametrize("name", ["pdm", "pdm-succ", "romma", "naromma", "mpu", "perceptron-margin"])
def test_a_warm_start_at_the_solution_has_nothing_to_do(name):
    drawn = inseparable(8, "sparse", 0.5)
    first = solve(solvers.get(name), drawn, eps=0.5)
    start = Start(first.weights, first.dual, first.dual.sum())
    again = solve(solvers.get(name), drawn, eps=0.5, start=start)
    assert (again.full_epochs, again.updates) == (1, 0)
    assert np.allclose(again.dual, first.dual, rtol=1e-12)
