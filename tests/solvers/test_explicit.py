"""The extended space written out row by row."""

from __future__ import annotations

import numpy as np
import pytest
from random_problems import LAYOUTS, inseparable, sample

from pdmbench.solvers import explicit


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [1, 7, 1000])
class TestExtendedMatrix:
    def test_is_the_patterns_beside_a_diagonal(self, monkeypatch, layout, block):
        monkeypatch.setattr(explicit, "BLOCK", block)
        problem, extended = inseparable(0, layout, 0.5)
        matrix = explicit.extended_matrix(problem)
        without_bias = np.delete(extended, problem.n, axis=1)
        np.testing.assert_array_equal(problem.labels[:, None] * matrix.toarray(), without_bias)
        assert matrix.has_canonical_format
        assert matrix.indices.dtype == np.int32

    def test_is_the_patterns_alone_where_delta_is_zero(self, monkeypatch, layout, block):
        monkeypatch.setattr(explicit, "BLOCK", block)
        problem, extended = inseparable(1, layout, 0.0)
        matrix = explicit.extended_matrix(problem).toarray()
        np.testing.assert_array_equal(problem.labels[:, None] * matrix, extended[:, : problem.n])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_without_entries_keep_their_place(layout):
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    problem, _ = sample(x, np.array([1.0, 1.0, -1.0]), 2.0, layout)
    np.testing.assert_array_equal(
        explicit.extended_matrix(problem).toarray(), np.hstack([x, 2.0 * np.eye(3)])
    )
