"""The built-in data sets."""

from __future__ import annotations

import numpy as np
import pytest

from pdmbench import data
from pdmbench.data import builtin


def test_breast_cancer(cache):
    """357 of 569 are benign (scikit-learn's page of the set); its first mean radius is 17.99."""
    loaded = data.load("breast-cancer")
    assert (loaded.patterns.m, loaded.patterns.n, loaded.positives) == (569, 30, 357)
    assert loaded.labels[0] == -1
    rescale = data.describe("breast-cancer").rescale
    assert loaded.patterns.to_csr()[0, 0] == pytest.approx(17.99 * rescale, rel=1e-15)


def test_digits(cache):
    """1797 images, first a 0, then a 1; the classes 0, 2, 4, 6, 8 have 178 + 177 + 181 + 181 + 174."""
    loaded = data.load("digits")
    assert (loaded.patterns.m, loaded.patterns.n, loaded.positives) == (1797, 64, 891)
    assert loaded.labels[:3].tolist() == [1, -1, 1]
    assert loaded.patterns.to_csr().max() == 1.0


def dense(m: int, n: int, density: float, margin: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows, labels = [], []
    for block in builtin.synthetic(m, n, density, margin, seed):
        for k, end in enumerate(block.ends):
            start = block.ends[k - 1] if k else 0
            rows.append(np.zeros(n))
            rows[-1][block.indices[start:end]] = block.values[start:end]
        labels.append(block.labels)
    return np.array(rows), np.concatenate(labels)


@pytest.mark.parametrize("density", [0.05, 0.5, 1.0])
def test_synthetic_patterns_keep_their_distance(density):
    """l_k u·x_k ≥ margin for the u that is drawn first: ±1/√n."""
    x, labels = dense(300, 25, density, 0.4, seed=3)
    u = np.random.default_rng(3).choice([-1.0, 1.0], 25) / 5.0
    distances = labels * (x @ u)
    assert distances.min() == pytest.approx(0.4, rel=1e-12)
    assert np.count_nonzero(x) / x.size == pytest.approx(density, abs=0.02)
    assert np.count_nonzero(x, axis=1).min() >= 1


def test_synthetic_is_the_same_for_the_same_seed_alone(monkeypatch):
    first, again, other = (dense(50, 10, 0.3, 0.1, seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_synthetic_of_ones_own(cache, tmp_path):
    """A TOML file with other parameters is another data set."""
    toml = tmp_path / "mine.toml"
    toml.write_text(
        'title = "Mine"\ngenerator = "synthetic"\nm = 40\nn = 7\n'
        "[parameters]\ndensity = 0.5\nmargin = 0.1\nseed = 9\n"
    )
    loaded = data.load(toml)
    assert (loaded.name, loaded.patterns.m, loaded.patterns.n) == ("mine", 40, 7)
    assert loaded.digest != data.load("synthetic").digest
