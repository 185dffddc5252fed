"""What is written block by block is what laying out the whole matrix gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_array

from pdmbench.data.formats import Block
from pdmbench.data.writer import LayoutWriter
from pdmbench.patterns import HEAD, LAYOUTS, Patterns

values = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 0.1])
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=values)
ones = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.sampled_from([0.0, 1.0])
)


def block_of(rows: list[tuple[list[int], list[float]]]) -> Block:
    ends = np.cumsum([len(indices) for indices, _ in rows], dtype=np.int64)
    indices = np.array([i for row in rows for i in row[0]], dtype=np.uint32)
    return Block(
        np.zeros(len(rows)), ends, indices, np.array([v for row in rows for v in row[1]], dtype=float)
    )


def write(folder, blocks: list[Block], base: int | None = None) -> tuple[Patterns, str, int]:
    writer = LayoutWriter(folder, base)
    for block in blocks:
        writer.append(block)
    packed = writer.finish()
    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    for path in folder.glob("*.npy"):
        path.unlink()
    return Patterns(LAYOUTS[packed.layout](**arrays), packed.n, packed.nnz), packed.layout, packed.base


@settings(deadline=None)
@given(matrices | ones, st.integers(1, 4), st.sampled_from([0, 1]))
def test_any_matrix_in_any_blocks(tmp_path_factory, matrix, step, first):
    """The same layout, types and values as from_csr; explicit zeros in the source are no entries."""
    folder = tmp_path_factory.mktemp("written")
    m, n = matrix.shape
    full = [(list(range(first, n + first)), row.tolist()) for row in matrix]
    written, layout, base = write(folder, [block_of(full[k : k + step]) for k in range(0, m, step)])
    expected = Patterns.from_csr(csr_array(matrix))
    assert (layout, base, written.n, written.nnz) == (expected.layout, first, n, expected.nnz)
    for ours, theirs in zip(written.rows, expected.rows, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_types_grow_when_they_must(tmp_path):
    """70000 features need indices of 32 bits; 0.1 is no float32; rows written before are kept."""
    blocks = [
        block_of([([1, 5], [2.0, 2.0])]),
        block_of([([3], [0.5])]),
        block_of([([2, 70000], [0.1, 1.0])]),
    ]
    written, layout, _ = write(tmp_path, blocks)
    assert (layout, written.n) == ("sparse", 70000)
    assert (written.rows.indices.dtype, written.rows.data.dtype) == (np.uint32, np.float64)
    np.testing.assert_array_equal(written.to_csr().indices, [0, 4, 2, 1, 69999])
    np.testing.assert_array_equal(written.to_csr().data, [2, 2, 0.5, 0.1, 1])


@pytest.mark.parametrize(("last", "dtype"), [(2**16 - HEAD, np.uint16), (2**16 - HEAD + 1, np.uint32)])
def test_indices_of_16_bits_reach_behind_the_head_of_a_weight_vector(tmp_path, last, dtype):
    written, _, _ = write(tmp_path, [block_of([([last], [1.0])])])
    assert written.rows.indices.dtype == dtype


def test_an_index_0_that_comes_late(tmp_path):
    """Rows that were written as if counting began at 1 are shifted, and no longer fit 16 bits."""
    written, _, base = write(tmp_path, [block_of([([1, 65535], [1.0, 1.0])]), block_of([([0], [1.0])])])
    assert (base, written.n, written.rows.indices.dtype) == (0, 65536, np.uint32)
    np.testing.assert_array_equal(written.to_csr().indices, [1, 65535, 0])
