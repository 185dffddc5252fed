"""Generated sets: the same from the same seed, nested, streamed, and with the statistics they promise."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import generate
from benchmarks.generate import PIECE, Cover, Documents
from pdmbench import data
from pdmbench.data.formats import Block


def joined(blocks) -> Block:
    """All rows as one block."""
    blocks = list(blocks)
    starts = np.cumsum([0, *(len(block.values) for block in blocks[:-1])])
    ends = np.concatenate([block.ends + start for block, start in zip(blocks, starts, strict=True)])
    labels, indices, values = (
        np.concatenate([getattr(b, name) for b in blocks]) for name in ("labels", "indices", "values")
    )
    return Block(labels, ends, indices, values)


def first(block: Block, m: int) -> Block:
    end = block.ends[m - 1]
    return Block(block.labels[:m], block.ends[:m], block.indices[:end], block.values[:end])


def same(a: Block, b: Block) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


SMALL = {"documents": lambda seed: Documents(2000, 20.0, seed), "cover": lambda seed: Cover(seed=seed)}


@pytest.mark.parametrize("kind", SMALL)
def test_a_seed_gives_one_set_and_another_seed_another(kind):
    rows = joined(SMALL[kind](3).blocks(50))
    assert same(rows, joined(SMALL[kind](3).blocks(50)))
    assert not same(rows, joined(SMALL[kind](4).blocks(50)))


@pytest.mark.parametrize("kind", SMALL)
def test_a_larger_set_begins_with_the_smaller_one(kind):
    made, m = SMALL[kind](0), PIECE + 7
    assert same(joined(made.blocks(m)), first(joined(made.blocks(2 * PIECE)), m))


@pytest.mark.parametrize("kind", SMALL)
def test_rows_come_in_pieces_so_memory_does_not_grow_with_m(kind):
    assert [len(block.labels) for block in SMALL[kind](0).blocks(2 * PIECE + 5)] == [PIECE, PIECE, 5]


@pytest.fixture(scope="module")
def documents() -> Block:
    return joined(Documents().blocks(2 * PIECE))


def test_documents_have_rcv1s_shape_at_any_size(documents):
    lengths = np.diff(documents.ends, prepend=0)
    assert documents.indices.max() + 1 == 47_236
    # The mean of 8,192 lengths with a standard deviation below half of it: ±2.2 % is four standard errors.
    assert lengths.mean() == pytest.approx(75.0, rel=0.022)
    assert lengths.min() >= 1


def test_documents_have_unit_length_and_ascending_terms(documents):
    row = np.repeat(np.arange(len(documents.ends)), np.diff(documents.ends, prepend=0))
    # Each weight is rounded to six decimals: at most 5e-7 √75 or so off in norm.
    assert np.sqrt(np.bincount(row, documents.values**2)) == pytest.approx(1.0, abs=1e-5)
    assert np.all((np.diff(documents.indices) > 0) | (np.diff(row) > 0))
    assert documents.values.min() > 0.0


def test_terms_are_zipf_distributed(documents):
    """Under f(r) ∝ 1/(r + 30) the first 1,000 ranks hold ln(1030/30)/ln(47266/30) = 48 % of the words.

    Distinct terms a document count less for the common ones, and the two classes tilt some: hence a range.
    """
    held = np.sort(np.bincount(documents.indices, minlength=47_236))[::-1]
    assert 0.40 < held[:1000].sum() / held.sum() < 0.60
    assert held[0] > 5 * held[500] > 10 * held[5000]


def test_about_half_of_the_documents_are_positive(documents):
    # A fair coin's share in 8,192 throws has a standard deviation of 0.0055.
    assert np.mean(documents.labels > 0) == pytest.approx(0.5, abs=0.022)


def test_no_direction_separates_documents():
    """Three per cent bear the wrong label; with few terms and many documents no direction can fit them."""
    from sklearn.svm import LinearSVC

    block = joined(Documents(300, 30.0).blocks(2 * PIECE))
    matrix = as_matrix(block, 300)
    score = LinearSVC(C=100.0, tol=1e-2).fit(matrix, block.labels).score(matrix, block.labels)
    assert 0.80 < score < 0.985


def test_documents_that_are_too_long_for_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match="cannot be drawn from 100"):
        Documents(100, 80.0)


def test_cover_has_ten_measured_features_and_one_indicator_of_each_group():
    block = joined(Cover().blocks(PIECE))
    full = as_matrix(block, 54).toarray()
    assert np.array_equal(np.rint(1000 * full) / 1000, full)  # whole numbers × 0.001
    for group in (full[:, 10:14], full[:, 14:]):
        assert np.array_equal(np.sort(group, axis=1)[:, -2:], np.tile([0.0, 0.001], (PIECE, 1)))
    # 36.46 % of Covertype's rows are of class 1; the threshold is set on these very rows.
    assert np.mean(block.labels > 0) == pytest.approx(211_840 / 581_012, abs=1e-3)


def test_standardised_cover_has_mean_0_and_deviation_1():
    full = as_matrix(joined(Cover(standardised=True).blocks(4 * PIECE)), 54).toarray()
    common = [*range(1, 10), *range(10, 14)]
    common = [j for j in common if j not in (1, 3, 5, 9)]  # those are cut off at 0, which moves both
    assert full[:, common].mean(axis=0) == pytest.approx(0.0, abs=0.1)
    assert full[:, common].std(axis=0) == pytest.approx(1.0, abs=0.1)
    assert np.mean(full != 0.0) > 0.95


def test_a_written_set_reads_back_as_the_same_numbers(cache, tmp_path):
    made = Documents(500, 20.0)
    path = tmp_path / "folder" / "few.svm"
    generate.write_libsvm(path, made.blocks(60))
    found, expected = data.load(path), joined(made.blocks(60))
    matrix = found.patterns.to_csr()
    assert found.patterns.n == 500
    assert np.array_equal(matrix.indptr[1:], expected.ends)
    assert np.array_equal(matrix.indices, expected.indices)
    assert np.array_equal(matrix.data, expected.values)
    assert np.array_equal(found.labels, expected.labels)
    assert [file.name for file in path.parent.iterdir()] == ["few.svm"]


def test_a_write_that_fails_leaves_no_file(tmp_path):
    def blocks():
        yield from Documents(500, 20.0).blocks(10)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate.write_libsvm(tmp_path / "few.svm", blocks())
    assert not list(tmp_path.iterdir())


def as_matrix(block: Block, n: int):
    import scipy.sparse

    pointer, indices = np.append(0, block.ends).astype(np.int32), block.indices.astype(np.int32)
    return scipy.sparse.csr_array((block.values, indices, pointer), shape=(len(block.ends), n))
