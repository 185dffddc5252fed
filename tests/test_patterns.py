"""Layouts hold the matrix they were given, and are chosen by the data alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import LAYOUTS, values

from pdmbench.patterns import Patterns, index_dtype


def csr(x) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(np.asarray(x, dtype=float))


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.sampled_from(LAYOUTS))
def test_every_layout_gives_the_matrix_back(seed, m, n, layout):
    x = values(np.random.default_rng(seed), m, n, layout)
    patterns = Patterns.from_csr(csr(x), layout)
    assert patterns.layout == layout
    assert (patterns.m, patterns.n, patterns.nnz) == (m, n, np.count_nonzero(x))
    back = patterns.to_csr()
    assert back.shape == (m, n)
    assert back.dtype == np.float64
    assert back.nnz == patterns.nnz
    assert np.array_equal(back.toarray(), x)


@pytest.mark.parametrize(
    ("x", "layout"),
    [
        ([[1, 0, 1], [0, 1, 0]], "constant"),
        ([[1, 1], [1, 1]], "constant"),  # also where the matrix is full
        ([[2, 0, 2], [0, 0.5, 0]], "constant"),  # a value of its own per row
        ([[0, 0, 0], [0, 1, 0]], "constant"),  # an empty row
        ([[1, 2, 0, 0, 0], [0, 0, 3, 0, 0]], "sparse"),
        ([[1, 2, 3], [4, 0, 5]], "dense"),
        ([[1, 2, 0, 0], [0, 0, 3, 4]], "dense"),  # half of it: an index costs as much as a value
    ],
)
def test_the_data_choose_the_layout(x, layout):
    assert Patterns.from_csr(csr(x)).layout == layout


def test_rows_of_two_values_do_not_fit_the_constant_layout():
    with pytest.raises(ValueError, match="constant"):
        Patterns.from_csr(csr([[1, 2]]), "constant")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_matrix_handed_in_stays_untouched_by_its_copy(layout):
    x = csr([[1, 0], [1, 1]])
    Patterns.from_csr(x, layout).to_csr().data[:] = 7
    assert np.array_equal(x.toarray(), [[1, 0], [1, 1]])


@pytest.mark.parametrize("layout", ["constant", "sparse"])
@pytest.mark.parametrize("n", [*range(2**16 - 9, 2**16 + 3), 70_000])
def test_indices_around_16_bits_survive(layout, n):
    x = scipy.sparse.csr_array((np.ones(3), ([0, 1, 1], [n - 1, 0, n - 2])), shape=(2, n))
    assert (Patterns.from_csr(x, layout).to_csr() != x).nnz == 0


def test_the_index_type_is_the_smallest_that_will_do():
    assert index_dtype(60_000) is np.uint16
    assert index_dtype(2**16) is np.uint32


@pytest.mark.parametrize("layout", ["sparse", "dense"])
@pytest.mark.parametrize(
    "value",
    [
        0.1,  # not a single-precision number
        1 + 2**-24,  # one bit too many
        1e300,  # overflows
        1e-300,  # underflows
        2.0**-149,  # the smallest subnormal
        16_777_217.0,  # 2^24 + 1
    ],
)
def test_values_are_never_rounded(layout, value):
    assert Patterns.from_csr(csr([[value, 3.0, 0, 0, 0]]), layout).to_csr().toarray()[0, 0] == value


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_single_precision_stores_what_it_can_represent(layout):
    assert Patterns.from_csr(csr([[0.5, 3.0, 0, 0, 0]]), layout).rows.data.dtype == np.float32
    assert Patterns.from_csr(csr([[0.1, 3.0, 0, 0, 0]]), layout).rows.data.dtype == np.float64
