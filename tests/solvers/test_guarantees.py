"""What each solver promises, on random problems whose optimum is computed independently (NNLS)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from random_problems import LAYOUTS, Sample, inseparable, optimum, sample, separable, vector

from pdmbench import solvers
from pdmbench.errors import UsageError
from pdmbench.kernels import mpu, pdm, pfm
from pdmbench.solvers.base import Monitor, Settings, Solution, Solver, Status
from pdmbench.solvers.mpu import MPU

SOLVERS = {
    **{name: solvers.get(name) for name in ("pdm", "pdm-succ", "romma", "naromma", "mpu")},
    "mpu without early stopping": MPU(early_stopping=False),
}
BY_ITS_OWN_BOUND = ("pdm", "pdm-succ")  # γ'_d ≥ (1−ε) ‖a‖/t; the others promise (1−ε) γ_d
ROUNDING = 1e-9

drawn_problems = st.one_of(
    st.builds(separable, st.integers(0, 10**6), st.sampled_from(LAYOUTS)),
    st.builds(
        inseparable,
        st.integers(0, 10**6),
        st.sampled_from(LAYOUTS),
        st.sampled_from([0.3, 1.0]),
        rho=st.sampled_from([1.0, 2.5]),
    ),
)
accuracies = st.sampled_from([0.6, 0.5, 0.1, 0.02])
property_test = settings(deadline=None, derandomize=True, max_examples=60)


def solve(solver: Solver, drawn: Sample, monitor: Monitor | None = None, **values) -> Solution:
    return solver.solve(drawn.problem, Settings(**values), monitor or Monitor(max_epochs=100_000))


@pytest.mark.parametrize("name", SOLVERS)
@property_test
@given(drawn_problems, accuracies, st.integers(0, 100))
def test_the_accuracy_is_reached(name, drawn, eps, seed):
    lower, upper = optimum(drawn.extended)
    solution = solve(SOLVERS[name], drawn, eps=eps, seed=seed)
    certificate = drawn.problem.certify(solution.weights, solution.dual)
    assert solution.status is Status.CONVERGED
    assert certificate.margin >= (1 - eps) * lower * (1 - ROUNDING)
    assert certificate.margin <= upper * (1 + ROUNDING)
    assert certificate.bound >= lower * (1 - ROUNDING)
    if name in BY_ITS_OWN_BOUND:
        assert certificate.margin >= (1 - eps) * certificate.bound * (1 - ROUNDING)
        assert certificate.accuracy <= eps + ROUNDING


@pytest.mark.parametrize("name", SOLVERS)
@property_test
@given(drawn_problems, st.integers(0, 100))
def test_weights_and_counts_agree(name, drawn, seed):
    solution = solve(SOLVERS[name], drawn, eps=0.1, seed=seed)
    a = vector(drawn, solution.weights, solution.dual)
    assert np.allclose(drawn.extended.T @ solution.dual, a, rtol=0, atol=1e-9 * np.linalg.norm(a))
    assert np.all(solution.dual >= 0)
    assert solution.updates > 0
    assert solution.full_epochs > 0
    assert solution.row_products >= solution.full_epochs * drawn.problem.m
    if "romma" not in name:
        assert np.array_equal(solution.dual, np.round(solution.dual))  # unit steps
    if "pdm" in name:
        assert solution.dual.sum() == solution.updates  # t
    if "mpu" in name:
        assert solution.dual.sum() <= solution.updates  # learned minus unlearned; updates count both


@property_test
@given(drawn_problems, st.sampled_from([0.2, 0.8, 0.97]), st.integers(0, 100))
def test_pfm_reaches_its_target(drawn, share, seed):
    lower, upper = optimum(drawn.extended)
    beta = share * lower
    solution = solve(solvers.get("pfm"), drawn, beta=beta, seed=seed)
    certificate = drawn.problem.certify(solution.weights, solution.dual)
    assert solution.status is Status.CONVERGED
    assert beta * (1 - ROUNDING) <= certificate.margin <= upper * (1 + ROUNDING)
    assert certificate.bound >= lower * (1 - ROUNDING)
    assert solution.dual.sum() == solution.updates


@property_test
@given(drawn_problems, st.sampled_from([1.2, 2.0, 100.0]), st.integers(0, 100))
def test_a_target_beyond_a_proven_bound_ends_pfm(drawn, share, seed):
    lower, upper = optimum(drawn.extended)
    solution = solve(solvers.get("pfm"), drawn, beta=share * upper, seed=seed)
    assert solution.status is Status.FAILED
    proven = float(re.fullmatch(r"β = \S+ is out of reach: γ_d ≤ (\S+) is proven", solution.note)[1])
    assert lower * (1 - 1e-5) <= proven <= share * upper * (1 + 1e-5)  # printed with six digits
    if share == 100.0:  # longer than the longest pattern: refused before the first epoch
        assert solution.full_epochs == solution.updates == 0


@pytest.mark.parametrize("beta", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_pfm_needs_a_target(beta):
    with pytest.raises(UsageError, match="--beta"):
        solve(solvers.get("pfm"), separable(0, "dense"), beta=beta)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SOLVERS)
class TestInseparable:
    """Δ = 0 and no separating hyperplane: nothing converges, the limits end it."""

    def test_epoch_limit(self, name, layout):
        drawn = inseparable(1, layout, 0.0)
        assert optimum(drawn.extended)[1] < 1e-9
        solution = solve(SOLVERS[name], drawn, Monitor(max_epochs=7))
        assert solution.status is Status.EPOCH_LIMIT
        assert solution.full_epochs == 7
        assert drawn.problem.certify(solution.weights, solution.dual).margin <= 0

    def test_time_limit(self, name, layout):
        solution = solve(SOLVERS[name], inseparable(1, layout, 0.0), Monitor(max_seconds=0.0))
        assert solution.status is Status.TIME_LIMIT
        assert solution.full_epochs == 1


@pytest.mark.parametrize("name", SOLVERS)
def test_a_pattern_under_both_labels(name):
    """The smallest inseparable problem: w is opposite to what it gets wrong. That is not convergence."""
    drawn = sample(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]), 0.0)
    solution = solve(SOLVERS[name], drawn, Monitor(max_epochs=20))
    assert solution.status is Status.EPOCH_LIMIT
    assert drawn.problem.certify(solution.weights, solution.dual).margin <= 0


@pytest.mark.parametrize("name", SOLVERS)
def test_one_pattern(name):
    """γ_d = ‖y‖, reached exactly by any multiple of y."""
    drawn = sample(np.array([[2.0, 1.0]]), np.array([-1.0]), 1.0)
    solution = solve(SOLVERS[name], drawn)
    certificate = drawn.problem.certify(solution.weights, solution.dual)
    assert solution.status is Status.CONVERGED
    assert certificate.margin == approx(np.sqrt(7), rel=1e-15)
    assert certificate.bound == approx(np.sqrt(7), rel=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
class TestTrackedNorm:
    """‖a‖² as the sweeps carry it along equals that of Σ I_k y_k: no recomputation in between."""

    @staticmethod
    def check(drawn, sweep, size_of_state):
        problem = drawn.problem
        state, weights, dual = np.zeros(size_of_state), problem.zero_weights(), np.zeros(problem.m)
        order = np.random.default_rng(8).integers(0, problem.m, 5000).astype(np.uint32)
        sweep(problem.y, order, state, weights, dual, np.empty(5000, np.uint32))
        a = drawn.extended.T @ dual
        assert dual.sum() > 500
        assert state[1] == approx(a @ a, rel=1e-10)
        tracked = vector(drawn, problem.augmented(weights), dual)
        assert np.allclose(tracked, a, rtol=0, atol=1e-12 * np.linalg.norm(a))

    @pytest.mark.parametrize("multiple", [False, True])
    def test_pdm(self, layout, multiple):
        def sweep(y, order, *arrays):
            pdm.sweep(y, order, 1, False, 0.05, multiple, 1.0, *arrays)

        self.check(inseparable(2, layout, 0.3), sweep, 2)

    def test_pfm(self, layout):
        drawn = inseparable(2, layout, 0.3)
        beta = 0.9 * optimum(drawn.extended)[0]

        def sweep(y, order, *arrays):
            pfm.sweep(y, order, 1, False, beta, 1.0, *arrays)

        self.check(drawn, sweep, 2)

    def test_mpu(self, layout):
        drawn = inseparable(2, layout, 0.3)
        gap = 3 * drawn.problem.R**2

        def sweep(y, order, *arrays):
            mpu.sweep(y, order, 1, False, 9 * gap, 10 * gap, 10 * gap, *arrays)  # ε = 0.1

        self.check(drawn, sweep, 4)


@property_test
@given(drawn_problems, st.sampled_from([0.5, 0.1]), st.integers(0, 100))
def test_mpu_never_unlearns_what_it_has_not_learned(drawn, eps, seed):
    """I_k ≥ 0 after every presentation; learning and unlearning take the fewest units that suffice."""
    problem, extended = drawn
    m, gap = problem.m, 3 * problem.R**2
    low = gap * (1 - eps) / eps
    high = low + gap
    state, weights, dual = np.zeros(4), problem.zero_weights(), np.zeros(m)
    kept = np.empty(1, np.uint32)
    order = np.random.default_rng(seed).integers(0, m, 400).astype(np.uint32)
    for i in range(len(order)):
        k, before = order[i], dual.copy()
        p = extended[k] @ vector(drawn, problem.augmented(weights), dual)
        mpu.sweep(problem.y, order[i : i + 1], 1, False, low, high, high, state, weights, dual, kept)
        size = dual[k] - before[k]
        after = p + size * problem.q[k]
        assert dual.min() >= 0
        if size > 0:
            assert p <= low * (1 + ROUNDING)
            assert after > low * (1 - ROUNDING) >= (after - problem.q[k]) * (1 - 3 * ROUNDING)
        elif size < 0:
            assert p >= high * (1 - ROUNDING)
            assert after <= high * (1 + ROUNDING) or dual[k] == 0
            assert after + problem.q[k] >= high * (1 - ROUNDING)
        else:
            assert p >= low * (1 - ROUNDING)
            assert p <= high * (1 + ROUNDING) or dual[k] == 0


def test_mpu_unlearns():
    """It happens: updates count the unlearned units, t does not."""
    drawn = inseparable(2, "dense", 0.3)
    solution = solve(MPU(early_stopping=False), drawn, eps=0.02)
    assert solution.updates > solution.dual.sum()


def test_early_stopping_ends_no_later():
    drawn = inseparable(2, "dense", 0.3)
    early, late = (solve(MPU(early_stopping=stop), drawn, eps=0.02) for stop in (True, False))
    assert early.full_epochs < late.full_epochs
    assert early.updates <= late.updates


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SOLVERS)
def test_inseparable_data_without_extension_are_not_solved(name):
    """No vector has a positive margin, so no run may converge: a limit ends it, or an overflow."""
    for seed in range(3):
        problem = inseparable(seed, "dense", 0.0, m=30, n=3).problem
        solution = SOLVERS[name].solve(problem, Settings(eps=0.05, seed=seed), Monitor(max_epochs=200))
        assert solution.status in (Status.EPOCH_LIMIT, Status.FAILED)
        assert (solution.status is Status.FAILED) == (solution.note is not None)
        assert np.isfinite(solution.weights).all()
        assert solution.certify(problem).margin <= 0.0


def test_pfm_claims_nothing_that_its_vector_does_not_prove():
    """Opposite labels on one pattern and a tiny Δ: the tracked ‖a‖² loses its digits, the proof may not."""
    x, labels = np.array([[1.0], [1.0], [-2.0]]), np.array([1.0, -1.0, -1.0])
    problem = sample(x, labels, 1e-8, "sparse").problem
    gamma = 1e-8 / np.sqrt(
        2.0
    )  # of the pair alone: half of each, what is left is Δ/√2; the third is satisfied
    for share in (0.3, 0.5, 0.9):
        solution = solvers.get("pfm").solve(problem, Settings(beta=share * gamma), Monitor(max_epochs=50))
        assert solution.status in (Status.CONVERGED, Status.EPOCH_LIMIT)
