"""Products, steps and squared norms of rows, for every layout and every length of a row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from random_problems import LAYOUTS, sample, values

from pdmbench.kernels import margins, rows
from pdmbench.patterns import Patterns
from pdmbench.problem import MarginProblem

# Row lengths 0 … 13 and 30: every remainder of an unrolled loop, with and without whole turns of it.
LENGTHS = [*range(14), 30]


def staircase(layout: str) -> np.ndarray:
    """One row of each length, in multiples of 1/8: sums and products of them are exact."""
    random = np.random.default_rng(5)
    x = np.zeros((len(LENGTHS), 30))
    for row, length in zip(x, LENGTHS, strict=True):
        where = random.choice(30, length, replace=False)
        row[where] = random.choice([0.5, 2.0]) if layout == "constant" else random.integers(1, 65, length) / 8
    return x


def whole_numbers(count: int) -> np.ndarray:
    return np.random.default_rng(6).integers(-50, 51, count).astype(float)


@pytest.mark.parametrize("layout", LAYOUTS)
class TestExactly:
    """Arithmetic that rounds nowhere must give numpy's result to the last bit, compiled and interpreted."""

    def test_products(self, layout):
        x, w = staircase(layout), whole_numbers(31)
        labels = np.resize([1.0, -1.0], len(x))
        problem = sample(x, labels, 0.0, layout).problem
        compiled = np.empty(problem.m)
        margins.augmented_products(problem.y, problem.slots(w), compiled)
        assert np.array_equal(compiled, labels * (x @ w[:-1] + w[-1]))
        stored = problem.patterns.rows
        interpreted = [
            rows.dot(stored, rows.find(stored, k), problem.slots(w), 1.0) for k in range(problem.m)
        ]
        assert np.array_equal(interpreted, x @ w[:-1])

    def test_steps(self, layout):
        x, dual = staircase(layout), np.abs(whole_numbers(len(LENGTHS)))
        labels = np.resize([1.0, -1.0], len(x))
        problem = sample(x, labels, 0.0, layout).problem
        compiled = problem.slots(np.ones(31))
        margins.combine(problem.y, dual, compiled)
        assert np.array_equal(
            problem.augmented(compiled), 1 + np.append(x.T @ (labels * dual), labels @ dual)
        )
        stored = problem.patterns.rows
        for k in range(problem.m):
            interpreted = problem.slots(np.ones(31))
            rows.add(stored, rows.find(stored, k), -3.0, interpreted)
            assert np.array_equal(problem.augmented(interpreted), np.append(1 - 3 * x[k], 1))

    def test_squared_norms(self, layout):
        x = staircase(layout)
        problem = sample(x, np.ones(len(x)), 0.5, layout, rho=2.0).problem
        assert np.array_equal(problem.q, (x**2).sum(axis=1) + 4.0 + 0.25)
        for k in range(problem.m):
            assert rows.squared(problem.patterns.rows, k) == (x[k] ** 2).sum()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_real_numbers_are_in_double_precision(layout):
    random = np.random.default_rng(7)
    x = values(random, 50, 40, layout)  # stored in single precision
    w = random.normal(size=41)
    problem = sample(x, np.ones(50), 0.0, layout).problem
    products = np.empty(50)
    margins.augmented_products(problem.y, problem.slots(w), products)
    scale = np.abs(x) @ np.abs(w[:-1]) + abs(w[-1])
    assert np.all(np.abs(products - (x @ w[:-1] + w[-1])) <= 1e-14 * scale)


@pytest.mark.parametrize("layout", ["constant", "sparse"])
def test_features_beyond_16_bits(layout):
    columns = [65_534, 65_535, 65_536, 69_999, 0]
    x = scipy.sparse.csr_array((np.ones(5), ([0, 0, 0, 0, 1], columns)), shape=(2, 70_000))
    problem = MarginProblem(Patterns.from_csr(x, layout), np.array([1, -1], np.int8), 0.0)
    slots = problem.zero_weights()
    margins.combine(problem.y, np.array([3.0, 5.0]), slots)
    weights = problem.augmented(slots)
    assert np.array_equal(np.flatnonzero(weights), sorted([*columns, 70_000]))
    assert np.array_equal(weights[[*columns, 70_000]], [3, 3, 3, 3, -5, -2])
    products = np.empty(2)
    margins.augmented_products(problem.y, slots, products)
    assert np.array_equal(products, [4 * 3 - 2, 5 + 2])
