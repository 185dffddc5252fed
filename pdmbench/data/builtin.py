"""Data sets that need no file: two that come with scikit-learn, and random ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pdmbench.data.formats import Block, full_block
from pdmbench.data.registry import DataSetSpec

_CELLS = 1 << 22  # generated at a time


def blocks(spec: DataSetSpec) -> Iterator[Block]:
    """The rows of a built-in data set, indices from 0, labels ±1."""
    if spec.generator == "synthetic":
        given = dict(spec.parameters)
        yield from synthetic(spec.m, spec.n, given["density"], given["margin"], int(given["seed"]))
        return
    from sklearn import datasets

    if spec.generator == "breast-cancer":
        features, target = datasets.load_breast_cancer(return_X_y=True)
        yield full_block(target * 2.0 - 1.0, features)
    else:
        features, digit = datasets.load_digits(return_X_y=True)
        yield full_block(1.0 - 2.0 * (digit % 2), features)


def synthetic(m: int, n: int, density: float, margin: float, seed: int) -> Iterator[Block]:
    """Sparse patterns that a hyperplane through the origin separates with a known margin.

    Every entry is non-zero with probability ``density``, independently; a row without any gets one. Values
    are standard normal. With u_j = ±1/√n the label is the sign of u·x, and a pattern nearer to the hyperplane
    than ``margin`` is moved away from it, within the features it has, to exactly that distance.

    Parameters
    ----------
    m, n : int
        Numbers of patterns and features.
    density : float
        In (0, 1].
    margin : float
        Least |u·x|, ≥ 0.
    seed : int
    """
    rng = np.random.default_rng(seed)
    u = rng.choice([-1.0, 1.0], n) / np.sqrt(n)
    step = max(1, _CELLS // n)
    for first in range(0, m, step):
        rows = min(step, m - first)
        filled = rng.choice(rows * n, rng.binomial(rows * n, density), replace=False, shuffle=False)
        row, column = np.divmod(np.sort(filled), n)
        empty = np.setdiff1d(np.arange(rows), row)
        row = np.concatenate([row, empty])
        column = np.concatenate([column, rng.integers(n, size=len(empty))])
        order = np.argsort(row, kind="stable")
        row, column = row[order], column[order]
        values = rng.standard_normal(len(row))
        distance = np.bincount(row, values * u[column], rows)
        labels = np.where(distance >= 0.0, 1.0, -1.0)
        lengths = np.bincount(row, minlength=rows)
        missing = np.maximum(0.0, margin - np.abs(distance)) * labels
        values += (missing * n / lengths)[row] * u[column]  # ‖u restricted to k features‖² = k/n
        yield Block(labels, np.cumsum(lengths), column, values)
