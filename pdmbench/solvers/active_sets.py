"""The schedule of presentations: full epochs, and nested active sets between them (paper, section 5).

Every visit is an ordinary presentation of a pattern, so the theorems keep holding. A set that is small
enough is copied together first: passes over contiguous rows take half to a third of the time of passes over
rows scattered through memory, and each set is passed over several times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pdmbench.kernels import margins
from pdmbench.kernels.margins import Reflected
from pdmbench.patterns import ConstantRows, DenseRows, Rows, SparseRows, aligned
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import Monitor

COPY_FROM = 2**19  # bytes; patterns that fit in a usual second-level cache are not worth copying
COPY_LEAST = 2**17  # bytes; so few patterns are in the cache after their first pass
COPY_DEPTH = 2  # the third set is a small part of the second, which is together already
COPY_LIMIT = 192 * 2**20  # bytes; a larger set is visited in place, so memory does not grow with the data


class Level(NamedTuple):
    """An active set.

    Attributes
    ----------
    rounds : int
        Passes over the set at most (N₁, N₂, N₃).
    cut : float
        A pass keeps for the next level the patterns with a·y_k ≤ cut · threshold.
    """

    rounds: int
    cut: float


# visit(y, order, rounds, scattered, cut, dual, kept) -> (n_kept, n_updated, presented): up to ``rounds``
# passes with the solver's present state, the first two numbers being those of the last one.
Visit = Callable[[Reflected, np.ndarray, int, bool, float, np.ndarray, np.ndarray], tuple[int, int, int]]


class Permutation:
    """Fresh random permutations of the patterns.

    Parameters
    ----------
    m : int
        Number of patterns.
    seed : int
        The only source of randomness.

    Attributes
    ----------
    patterns : ndarray of uint32, shape (m,)
    """

    def __init__(self, m: int, seed: int):
        self.patterns = np.arange(m, dtype=np.uint32)
        self._bits = np.random.PCG64(seed)

    def draw(self) -> None:
        """Permute :attr:`patterns` anew, in place."""
        m = len(self.patterns)
        draws = self._bits.random_raw((m + 1) // 2).view(np.uint32)[:m]
        margins.shuffle(self.patterns, draws)


class ActiveSets:
    """Runs a solver's sweeps over nested active sets.

    Parameters
    ----------
    problem : MarginProblem
    dual : ndarray of shape (m,)
        I_k, up to date whenever a full epoch begins or ends.
    visit : callable
        The solver's sweep, see :data:`Visit`.
    levels : tuple of Level
        From the first active set to the innermost.
    monitor : Monitor

    Attributes
    ----------
    row_products : int
        Patterns presented so far.
    """

    def __init__(
        self,
        problem: MarginProblem,
        dual: np.ndarray,
        visit: Visit,
        levels: tuple[Level, ...],
        monitor: Monitor,
    ):
        self.problem, self.dual, self.visit, self.levels, self.monitor = problem, dual, visit, levels, monitor
        self.row_products = 0
        self._bytes_per_pattern = bytes_per_pattern(problem)
        self._kept = [np.empty(problem.m, np.uint32) for _ in range(len(levels) + 1)]
        self._copies = [Copy() for _ in levels]

    def full_epoch(self, order: np.ndarray, cut: float) -> tuple[np.ndarray, int]:
        """Visit all patterns once.

        Parameters
        ----------
        order : ndarray of uint32, shape (m,)
            A permutation.
        cut : float
            c₁: keep the patterns with a·y_k ≤ cut · threshold.

        Returns
        -------
        active : ndarray of uint32
            The first active set, in the order of visiting.
        n_updated : int
        """
        n_kept, n_updated, presented = self.visit(
            self.problem.y, order, 1, True, cut, self.dual, self._kept[0]
        )
        self.row_products += presented
        return self._kept[0][:n_kept], n_updated

    def nested_rounds(self, active: np.ndarray) -> None:
        """Visit the first active set, and within it the ones below, as the levels say."""
        self._descend(self.problem.y, self.dual, active, 0)

    def _descend(self, y: Reflected, dual: np.ndarray, members: np.ndarray, depth: int) -> None:
        if not len(members):  # sweeps need at least one pattern
            return
        size = self._bytes_per_pattern
        parent, own = len(y.label) * size, len(members) * size
        together = y is not self.problem.y
        near = (together and depth >= COPY_DEPTH) or parent < COPY_FROM or own < COPY_LEAST
        if near or own > COPY_LIMIT:
            self._rounds(y, dual, members, not near, depth)
            return
        copy, copied_dual, order = self._copies[depth].gather(y, dual, members)
        try:
            self._rounds(copy, copied_dual, order, False, depth)
        finally:
            dual[members] = copied_dual

    def _rounds(self, y: Reflected, dual: np.ndarray, order: np.ndarray, scattered: bool, depth: int) -> None:
        rounds, cut = self.levels[depth]
        kept = self._kept[depth + 1]
        innermost = depth == len(self.levels) - 1
        # Nothing happens between the rounds of the innermost set: they are one call.
        for _ in range(1 if innermost else rounds):
            n_kept, n_updated, presented = self.visit(
                y, order, rounds if innermost else 1, scattered, cut, dual, kept
            )
            self.row_products += presented
            if innermost or not n_updated:
                return
            self._descend(y, dual, kept[:n_kept], depth + 1)
            self.monitor.check()


def bytes_per_pattern(problem: MarginProblem) -> float:
    """About what one pattern takes in memory: its row, pointer, label, q_k and I_k."""
    rows = problem.patterns.rows
    if isinstance(rows, DenseRows):
        return 24.0 + rows.data.shape[1] * rows.data.itemsize
    entry = rows.indices.itemsize + (rows.data.itemsize if isinstance(rows, SparseRows) else 0)
    return 32.0 + entry * len(rows.indices) / problem.m


class Copy:
    """Memory for one level's copied patterns, reused from one set to the next."""

    def __init__(self) -> None:
        self._buffers: dict[str, np.ndarray] = {}

    def gather(
        self, y: Reflected, dual: np.ndarray, members: np.ndarray
    ) -> tuple[Reflected, np.ndarray, np.ndarray]:
        """Copy ``members`` together; returns the copied patterns, their I_k and the order 0, 1, …."""
        m = len(members)
        rows = y.rows
        if isinstance(rows, DenseRows):
            copy: Rows = DenseRows(self._take("data", m, rows.data))
        else:
            entries = len(rows.indices)
            if entries > COPY_LIMIT // 8:  # too many to reserve as much
                entries = int((rows.indptr[members + np.uint32(1)] - rows.indptr[members]).sum())
            indptr = self._take("indptr", m + 1, rows.indptr)
            indices = self._take("indices", entries, rows.indices)
            if isinstance(rows, ConstantRows):
                copy = ConstantRows(indptr, indices, self._take("value", m, rows.value))
            else:
                copy = SparseRows(indptr, indices, self._take("data", entries, rows.data))
        copied = Reflected(copy, self._take("label", m, y.label), self._take("q", m, y.q), y.rho, y.delta2)
        copied_dual = self._take("dual", m, dual)
        margins.gather_patterns(y, dual, members, copied, copied_dual)
        order = self._buffers.get("order")
        if order is None or len(order) < m:
            order = self._buffers["order"] = np.arange(m + m // 4, dtype=np.uint32)
        return copied, copied_dual, order[:m]

    def _take(self, name: str, length: int, like: np.ndarray) -> np.ndarray:
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < length:
            buffer = self._buffers[name] = aligned((length + length // 4, *like.shape[1:]), like.dtype)
        return buffer[:length]
