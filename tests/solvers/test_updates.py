"""Single updates against plain numpy on the explicit extension; what a result must not depend on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from random_problems import LAYOUTS, Sample, inseparable, optimum, sample, separable, vector

from pdmbench import solvers
from pdmbench.kernels import mpu, pdm, pfm, romma
from pdmbench.solvers import active_sets
from pdmbench.solvers.base import Monitor, Settings, Solution, Start, Status

NAMES = ("pdm", "pdm-succ", "pfm", "romma", "naromma", "mpu")
INTEGER_STEPS = ("pdm", "pdm-succ", "pfm", "mpu")

drawn_problems = st.one_of(
    st.builds(separable, st.integers(0, 10**6), st.sampled_from(LAYOUTS)),
    st.builds(inseparable, st.integers(0, 10**6), st.sampled_from(LAYOUTS), st.sampled_from([0.3, 1.0])),
)
no_ties = st.sampled_from([0.31738, 0.05293])  # with a round ε, a product can equal 1 − ε but for rounding
property_test = settings(deadline=None, derandomize=True, max_examples=60)


def solve(
    name: str, drawn: Sample, eps: float = 0.05, seed: int = 0, monitor: Monitor | None = None
) -> Solution:
    beta = 0.95 * optimum(drawn.extended)[0] if name == "pfm" else None
    solution = solvers.get(name).solve(
        drawn.problem, Settings(eps=eps, beta=beta, seed=seed), monitor or Monitor()
    )
    assert solution.status is Status.CONVERGED
    return solution


def bits(solution: Solution) -> tuple:
    """All of a result but its time."""
    return (
        solution.weights.tobytes(), solution.dual.tobytes(),
        solution.updates, solution.row_products, solution.full_epochs,
    )  # fmt: skip


class Presenter:
    """Presents one pattern at a time to a kernel.

    Parameters
    ----------
    drawn : Sample
    sweep : callable
        ``sweep(y, order, state, weights, dual, kept)``.
    state : list of float
    """

    def __init__(self, drawn: Sample, sweep, state: list[float]):
        self.drawn, self.sweep, self.state = drawn, sweep, np.array(state)
        self.slots, self.dual = drawn.problem.zero_weights(), np.zeros(drawn.problem.m)

    def start(self, k: int, size: float) -> None:
        """a = size · y_k."""
        problem = self.drawn.problem
        self.slots = problem.slots(size * self.drawn.extended[k, : problem.n + 1])
        self.dual[k] = size

    def present(self, k: int) -> float:
        """The size of the update that follows, in units of y_k."""
        before = self.dual[k]
        order = np.array([k], dtype=np.uint32)
        self.sweep(self.drawn.problem.y, order, self.state, self.slots, self.dual, np.empty(1, np.uint32))
        return self.dual[k] - before

    @property
    def a(self) -> np.ndarray:
        """The present vector, all components."""
        return vector(self.drawn, self.drawn.problem.augmented(self.slots), self.dual)


def order_of(m: int, seed: int, epochs: int) -> Iterator[int]:
    random = np.random.default_rng(seed)
    for _ in range(epochs):
        yield from random.permutation(m)


def single_updates(a: np.ndarray, y: np.ndarray, asks) -> int:
    """How often y is added until it no longer asks for it: ``asks(a·y, ‖a‖², number of updates)``."""
    count = 0
    while asks(a @ y, a @ a, count):
        a = a + y
        count += 1
    return count


@property_test
@given(drawn_problems, st.sampled_from([0.6, 0.5, 0.237, 0.051]), st.integers(0, 100))
def test_a_multiple_update_of_pdm_is_that_many_single_ones(drawn, eps, seed):
    def sweep(y, order, *arrays):
        pdm.sweep(y, order, 1, False, eps, True, 1.0, *arrays)

    presenter = Presenter(drawn, sweep, [0.0, 0.0])
    for k in order_of(drawn.problem.m, seed, 8):
        t, a = presenter.dual.sum(), presenter.a

        def asks(p, squared, count, t=t):
            return (t + count) * p <= (1 - eps) * squared  # condition (8), times t

        expected = single_updates(a, drawn.extended[k], asks)
        assert presenter.present(k) == expected


@property_test
@given(drawn_problems, st.sampled_from([0.31, 0.83, 0.97]), st.integers(0, 100))
def test_a_multiple_update_of_pfm_is_that_many_single_ones(drawn, share, seed):
    beta = share * optimum(drawn.extended)[0]

    def sweep(y, order, *arrays):
        pfm.sweep(y, order, 1, False, beta, 1.0, *arrays)

    presenter = Presenter(drawn, sweep, [0.0, 0.0])
    for k in order_of(drawn.problem.m, seed, 8):

        def asks(p, squared, count):
            return p <= beta * np.sqrt(squared)  # condition (7)

        expected = single_updates(presenter.a, drawn.extended[k], asks)
        assert presenter.present(k) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("multiple", [False, True])
def test_pdm_updates_by_one_or_by_more(layout, multiple):
    def sweep(y, order, *arrays):
        pdm.sweep(y, order, 1, False, 0.05, multiple, 1.0, *arrays)

    drawn = inseparable(4, layout, 0.3)
    presenter = Presenter(drawn, sweep, [0.0, 0.0])
    sizes = set()
    for k in order_of(drawn.problem.m, 0, 10):
        t, a = presenter.dual.sum(), presenter.a
        sizes.add(presenter.present(k))
        assert (presenter.dual.sum() > t) == (t * (a @ drawn.extended[k]) <= 0.95 * (a @ a))
    assert sizes > {0, 1, 2} if multiple else sizes == {0, 1}


class TestROMMA:
    @staticmethod
    def presenter(drawn: Sample, eps: float, first: int) -> Presenter:
        def sweep(y, order, *arrays):
            romma.sweep_romma(y, order, 1, False, eps, *arrays)

        q = drawn.problem.q[first]
        presenter = Presenter(drawn, sweep, [1.0, 1 / q, 1.0, 1.0])  # s, ‖w‖², updates, factor
        presenter.start(first, 1 / q)
        return presenter

    @staticmethod
    def present(presenter: Presenter, k: int) -> bool:
        before = presenter.state[2]
        presenter.present(k)
        return presenter.state[2] > before

    @property_test
    @given(drawn_problems, no_ties, st.integers(0, 100))
    def test_naromma_points_the_same_way_after_every_update(self, drawn, eps, seed):
        def sweep(y, order, *arrays):
            romma.sweep_naromma(y, order, 1, False, eps, *arrays)

        order = list(order_of(drawn.problem.m, seed, 12))
        ours = self.presenter(drawn, eps, order[0])
        norm = np.sqrt(drawn.problem.q[order[0]])
        theirs = Presenter(drawn, sweep, [1 / norm, 1.0, 1.0, 1.0])  # ℓ̂, ‖w‖², updates, factor
        theirs.start(order[0], 1 / norm)
        for k in order:
            assert self.present(ours, k) == self.present(theirs, k)
            a, b = ours.a, theirs.a
            assert np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b)) <= 1e-12

    @property_test
    @given(drawn_problems, no_ties, st.integers(0, 100))
    def test_an_update_is_the_shortest_vector_that_meets_both_constraints(self, drawn, eps, seed):
        """min ‖w‖ subject to w·y ≥ 1 and w·w_old ≥ ‖w_old‖² (Li & Long 2002): its KKT conditions."""
        order = list(order_of(drawn.problem.m, seed, 8))
        presenter = self.presenter(drawn, eps, order[0])
        for k in order:
            old, y = presenter.state[0] * presenter.a, drawn.extended[k]
            if not self.present(presenter, k):
                assert old @ y >= (1 - eps) * (1 - 1e-9)
                continue
            assert old @ y < (1 - eps) * (1 + 1e-9)
            w = presenter.state[0] * presenter.a
            assert w @ y == approx(1, rel=1e-9)
            slack = w @ old / (old @ old) - 1
            assert slack >= -1e-9
            (of_old, of_y), residual, *_ = np.linalg.lstsq(np.column_stack([old, y]), w)
            assert np.all(residual <= 1e-18 * (w @ w))  # w lies in their span ...
            assert of_y > 0  # ... with multipliers ≥ 0 that are complementary to the slack
            assert of_old >= -1e-9
            assert of_old == approx(0, abs=1e-7) or slack <= 1e-9
            assert presenter.state[1] == approx(w @ w, rel=1e-9)

    def test_the_scale_is_folded_into_the_vector_before_it_underflows(self):
        """w = s v with s about to be too small goes the same way as with s = 1."""
        drawn = inseparable(4, "dense", 0.3)
        order = list(order_of(drawn.problem.m, 0, 10))
        expected, tiny = self.presenter(drawn, 0.05, order[0]), self.presenter(drawn, 0.05, order[0])
        tiny.state[0] = romma.SMALLEST_SCALE
        tiny.start(order[0], 1 / drawn.problem.q[order[0]] / romma.SMALLEST_SCALE)
        for k in order:
            assert self.present(expected, k) == self.present(tiny, k)
            w = expected.state[0] * expected.a
            assert np.allclose(tiny.state[0] * tiny.a, w, rtol=0, atol=1e-12 * np.linalg.norm(w))
        assert tiny.state[0] > 1e90 * romma.SMALLEST_SCALE

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_folding_within_a_copied_set_reaches_every_dual_coefficient(self, layout, monkeypatch):
        """ā = Σ I_k ȳ_k holds wherever the scale falls below its limit: here, at every place in turn."""
        monkeypatch.setattr(active_sets, "COPY_FROM", 0)
        monkeypatch.setattr(active_sets, "COPY_LEAST", 0)
        drawn = inseparable(3, layout, 0.3, m=40)
        problem = drawn.problem
        begun = solvers.get("romma").solve(problem, Settings(eps=0.02), Monitor(max_epochs=3))
        a = vector(drawn, begun.weights, begun.dual)
        for above in np.geomspace(1.0, 1.2, 60):
            # The run starts at the scale Σ I_k / ‖a‖², here a little above the limit, and loses some.
            large = begun.dual.sum() / (a @ a) / (above * romma.SMALLEST_SCALE)
            start = Start(large * begun.weights, large * begun.dual, large * begun.dual.sum())
            solution = solvers.get("romma").solve(
                problem, Settings(eps=0.02, start=start), Monitor(max_epochs=4)
            )
            rebuilt = solution.dual @ drawn.extended[:, : problem.n + 1]
            assert np.allclose(solution.weights, rebuilt, rtol=0, atol=1e-9 * np.linalg.norm(rebuilt))


# A kernel, its parameters, and where it begins: at so much of the first pattern (q = ‖y‖²), in which state.
SWEEPS = {
    "pdm": (pdm.sweep, (0.05, True, 1.0), lambda q: (0.0, [0.0, 0.0])),
    "pfm": (pfm.sweep, (0.02, 1.0), lambda q: (0.0, [0.0, 0.0])),
    "mpu": (mpu.sweep, (50.0, 55.0, np.nan), lambda q: (0.0, [0.0, 0.0, 0.0, 0.0])),
    "romma": (romma.sweep_romma, (0.05,), lambda q: (1 / q, [1.0, 1 / q, 1.0, 1.0])),
    "naromma": (romma.sweep_naromma, (0.05,), lambda q: (1 / np.sqrt(q), [1 / np.sqrt(q), 1.0, 1.0, 1.0])),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("scattered", [False, True])
def test_rounds_in_one_call_are_rounds_one_by_one(name, layout, scattered):
    """... until one makes no update; what is fetched ahead changes nothing."""
    sweep, parameters, begin = SWEEPS[name]
    drawn = inseparable(8, layout, 0.3)
    y, m = drawn.problem.y, drawn.problem.m
    order = np.random.default_rng(1).permutation(m).astype(np.uint32)

    def start() -> tuple[np.ndarray, ...]:
        size, state = begin(y.q[order[0]])
        presenter = Presenter(drawn, sweep, state)
        presenter.start(order[0], size)
        return presenter.state, presenter.slots, presenter.dual, np.zeros(m, np.uint32)

    together, one_by_one = start(), start()
    *counts, presented = sweep(y, order, 200, scattered, *parameters, *together)
    for left in reversed(range(presented // m)):
        *last, alone = sweep(y, order, 1, False, *parameters, *one_by_one)
        assert alone == m
        assert last[-1] > 0 or left == 0
    assert counts == last
    assert presented > m
    for ours, theirs in zip(together, one_by_one, strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_copying_active_sets_together_changes_no_bit(name, layout, monkeypatch):
    monkeypatch.setattr(active_sets, "COPY_FROM", 0)
    monkeypatch.setattr(active_sets, "COPY_LEAST", 0)
    drawn = inseparable(5, layout, 0.3, m=120)
    results = []
    for limit in (0, 1500, 2**40):  # in place; the inner sets copied; all copied
        monkeypatch.setattr(active_sets, "COPY_LIMIT", limit)
        results.append(bits(solve(name, drawn)))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("name", INTEGER_STEPS)
def test_ones_only_data_give_the_same_bits_in_every_layout(name):
    """Weights are whole numbers then (Δ² and ρ too), and sums of them are exact in any order."""
    random = np.random.default_rng(9)
    x = (random.random((80, 21)) < 0.4).astype(float)
    labels = np.where(random.random(80) < 0.4, 1.0, -1.0)
    results = [bits(solve(name, sample(x, labels, 1.0, layout))) for layout in LAYOUTS]
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("name", NAMES)
def test_real_valued_data_have_the_same_guarantee_in_every_layout(name):
    random = np.random.default_rng(10)
    x = random.normal(size=(60, 9)) / 3
    labels = np.where(random.random(60) < 0.4, 1.0, -1.0)
    for layout in ("sparse", "dense"):
        drawn = sample(x, labels, 0.5, layout)
        assert drawn.problem.patterns.rows.data.dtype == np.float64
        lower, upper = optimum(drawn.extended)
        solution = solve(name, drawn)
        certificate = drawn.problem.certify(solution.weights, solution.dual)
        assert 0.95 * lower * (1 - 1e-9) <= certificate.margin <= upper * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_read_only_data_give_the_same_bits(name):
    """Data sets come memory-mapped, for reading only."""
    drawn = inseparable(5, "constant", 1.0)
    expected = bits(solve(name, drawn))
    for array in drawn.problem.patterns.rows:
        array.flags.writeable = False
    assert bits(solve(name, drawn)) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_everything(name, layout):
    drawn = inseparable(6, layout, 0.3, m=150)
    first, second, other = (solve(name, drawn, seed=seed) for seed in (1, 1, 2))
    assert bits(first) == bits(second)
    assert other.updates != first.updates
    assert not np.array_equal(other.dual, first.dual)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_watching_a_run_changes_no_bit(name, layout):
    drawn = inseparable(6, layout, 0.3)
    trace = []
    watched = solve(name, drawn, monitor=Monitor(on_epoch=trace.append))
    assert bits(watched) == bits(solve(name, drawn))
    assert [point.epoch for point in trace] == list(range(1, watched.full_epochs + 1))
    last = drawn.problem.certify(watched.weights, watched.dual)
    assert (trace[-1].updates, trace[-1].margin, trace[-1].bound) == (
        watched.updates, last.margin, last.bound,
    )  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_successive_runs_continue(layout):
    """PDM-succ to ε = 0.5/8 starts as PDM-succ to ε = 0.5 ends, and nothing is forgotten on the way."""
    drawn = inseparable(7, layout, 0.3)
    traces = {}
    for eps in (0.5, 0.0625):
        trace = []
        solution = solve("pdm-succ", drawn, eps=eps, monitor=Monitor(on_epoch=trace.append))
        traces[eps] = [(point.updates, point.margin, point.bound) for point in trace]
        if eps == 0.5:
            coarse = solution
    assert traces[0.0625][: coarse.full_epochs] == traces[0.5]
    assert solution.full_epochs > coarse.full_epochs
    assert np.all(solution.dual >= coarse.dual)  # PDM only learns
    updates = [point[0] for point in traces[0.0625]]
    assert updates == sorted(updates)
    assert solution.dual.sum() == solution.updates > coarse.updates


def test_successive_runs_of_one_accuracy_are_one_run_with_multiple_updates():
    """For ε ≥ 1/2 the sequence is ε alone."""
    drawn = inseparable(7, "dense", 0.3)
    assert (
        solve("pdm-succ", drawn, eps=0.5).full_epochs == solve("pdm-succ", drawn, eps=0.5000001).full_epochs
    )
