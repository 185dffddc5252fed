"""Data sets like RCV1 and Covertype, of any size, from a seed.

Rows come in pieces of fixed size, each from a random stream of its own: the first m rows of a large set are
the set of m rows, which is what curves over m need, and memory does not grow with m.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pdmbench.data.formats import Block, full_block

PIECE = 4096  # rows generated at a time

TERMS, ENTRIES = 47_236, 75.0  # RCV1-v2's vocabulary, and about its mean number of terms a document
_OFFSET = 30.0  # of the Zipf–Mandelbrot law: a language's commonest words are stop words, left out of RCV1
_LENGTHS = 0.5  # standard deviation of the logarithm of a document's length
_TOPICAL = 0.05  # share of the terms that are more frequent in one class than in the other
_STRENGTH = 2.0  # standard deviation of their hidden direction, half the log-odds
_MISLABELLED = 0.03  # share of the documents

# Covertype's ten measured features: about the least value, mean, standard deviation and largest value.
_MEASURED = np.array(
    [
        (1859, 2959, 280, 3858),
        (0, 156, 112, 360),
        (0, 14, 7.5, 66),
        (0, 269, 213, 1397),
        (-173, 46, 58, 601),
        (0, 2350, 1559, 7117),
        (0, 212, 27, 254),
        (0, 223, 20, 254),
        (0, 143, 38, 254),
        (0, 1980, 1324, 7173),
    ]
)
_GROUPS = (4, 40)  # indicators of the wilderness area and of the soil type
_COVER_NOISE = 1.0  # a linear classifier is right on about three rows of four, as on the real set
_COVER_POSITIVES = 211_840 / 581_012


class Documents:
    """Weighted bags of words, as RCV1's.

    Lengths are log-normal. Terms follow a Zipf–Mandelbrot law tilted by ±u for the two classes, for a hidden
    sparse direction u; weights are (1 + ln tf) · idf, normalised to unit length. The classes are of about
    the same size, and a few documents bear the wrong label: no direction separates many of them.

    Parameters
    ----------
    n : int
        Terms.
    entries : float
        Distinct terms a document, on average; at most n/2.
    seed : int
    """

    def __init__(self, n: int = TERMS, entries: float = ENTRIES, seed: int = 0):
        self.n, self.seed = n, seed
        rng = np.random.default_rng([seed, 0])
        common = 1.0 / (np.arange(n) + _OFFSET)
        direction = np.where(rng.random(n) < _TOPICAL, _STRENGTH * rng.standard_normal(n), 0.0)
        negative, positive = (
            law / law.sum() for law in (common * np.exp(sign * direction) for sign in (-1, 1))
        )
        # One table for both classes: one search finds the term of a word of either.
        self._cumulative = np.concatenate([np.cumsum(negative), 1.0 + np.cumsum(positive)])
        self._cumulative[[n - 1, -1]] = 1.0, 2.0
        self._term = rng.permutation(n)  # at each rank
        # The commonest term comes last: even a small set then has all n features.
        last = int(np.flatnonzero(self._term == n - 1)[0])
        self._term[[0, last]] = self._term[[last, 0]]
        self._words = _mean_words(negative, positive, entries)
        self._idf = np.empty(n)
        self._idf[self._term] = -np.log(_document_frequency(negative, positive, self._words))

    def blocks(self, m: int) -> Iterator[Block]:
        """The first m documents, indices from 0, labels ±1."""
        for piece, rows in _pieces(m):
            labels, lengths, terms, weights = self._piece(piece)
            ends = np.cumsum(lengths)[:rows]
            yield Block(labels[:rows], ends, terms[: ends[-1]], weights[: ends[-1]])

    def _piece(self, piece: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Labels; distinct terms of each document; the terms; their weights."""
        rng = np.random.default_rng([self.seed, 1, piece])
        positive = rng.random(PIECE) < 0.5
        words = _lengths(self._words, rng.standard_normal(PIECE)).astype(np.int64)
        document = np.repeat(np.arange(PIECE), words)
        word = np.searchsorted(self._cumulative, rng.random(len(document)) + positive[document], side="right")
        place, frequency = np.unique(document * self.n + self._term[word % self.n], return_counts=True)
        document, term = np.divmod(place, self.n)
        weights = (1.0 + np.log(frequency)) * self._idf[term]
        weights /= np.sqrt(np.bincount(document, weights * weights, PIECE))[document]
        labels = np.where(positive ^ (rng.random(PIECE) < _MISLABELLED), 1.0, -1.0)
        # Six decimals make a text of half the size; rounding comes last, so norms are 1 to that accuracy.
        return labels, np.bincount(document, minlength=PIECE), term, np.round(weights, 6)


class Cover:
    """Rows as Covertype's: ten measured features and two groups of indicators, ×0.001 as the paper has them.

    Parameters
    ----------
    standardised : bool
        Every feature with mean 0 and standard deviation 1 instead, so that nearly no entry is zero.
    seed : int
    """

    n = len(_MEASURED) + sum(_GROUPS)

    def __init__(self, standardised: bool = False, seed: int = 0):
        self.seed, self.standardised = seed, standardised
        rng = np.random.default_rng([seed, 0])
        self._shares = []
        for size in _GROUPS:
            share = rng.permutation(1.0 / np.arange(1, size + 1))
            self._shares.append(share / share.sum())
        indicators = np.concatenate(self._shares)
        self._mean = np.append(_MEASURED[:, 1], indicators)
        self._deviation = np.append(_MEASURED[:, 2], np.sqrt(indicators * (1.0 - indicators)))
        self._direction = rng.standard_normal(self.n)
        _, score, noise = self._piece(0)
        self._noise = _COVER_NOISE * score.std()
        self._threshold = float(np.quantile(score + self._noise * noise, 1.0 - _COVER_POSITIVES))

    def blocks(self, m: int) -> Iterator[Block]:
        """The first m rows, indices from 0, labels ±1."""
        for piece, rows in _pieces(m):
            features, score, noise = self._piece(piece)
            labels = np.where(score + self._noise * noise > self._threshold, 1.0, -1.0)
            yield full_block(labels[:rows], features[:rows])

    def _piece(self, piece: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, scores and standard normal noise."""
        rng = np.random.default_rng([self.seed, 1, piece])
        least, mean, deviation, largest = _MEASURED.T
        drawn = mean + deviation * rng.standard_normal((PIECE, len(_MEASURED)))
        columns = [np.rint(np.clip(drawn, least, largest))]
        for share in self._shares:
            columns.append(np.eye(len(share))[rng.choice(len(share), PIECE, p=share)])
        features = np.hstack(columns)
        standard = (features - self._mean) / self._deviation
        score = standard @ self._direction
        features = np.round(standard, 6) if self.standardised else features / 1000.0
        return features, score, rng.standard_normal(PIECE)


class Recipe(NamedTuple):
    """A generated set with a name."""

    rows: int
    delta: float
    make: Callable[[], Documents | Cover]


SETS = {
    "rcv1like-100k": Recipe(100_000, 0.3, Documents),
    "rcv1like-804k": Recipe(804_414, 0.3, Documents),
    "covlike": Recipe(581_012, 3.0, Cover),
    "covlike-dense": Recipe(581_012, 1.0, lambda: Cover(standardised=True)),
}


def ensure(name: str, folder: Path) -> Path:
    """The LIBSVM file of a generated set, made unless it is there."""
    path, recipe = folder / f"{name}.svm", SETS[name]
    if not path.exists():
        write_libsvm(path, recipe.make().blocks(recipe.rows))
    return path


def write_libsvm(path: Path, blocks: Iterable[Block]) -> None:
    """Write rows as a LIBSVM file, indices from 1; every value reads back as the same number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(unfinished, "w", encoding="ascii") as file:
            for block in blocks:
                file.write(_text(block))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _text(block: Block) -> str:
    kept = block.values != 0.0
    lengths = np.diff(np.append(0, np.cumsum(kept))[np.append(0, block.ends)])
    numbers: list[int | float] = [0] * (2 * int(kept.sum()))
    numbers[::2] = (block.indices[kept].astype(np.int64) + 1).tolist()
    numbers[1::2] = block.values[kept].tolist()
    rows = zip(block.labels.tolist(), lengths.tolist(), strict=True)
    return "".join(f"{label:+.0f}" + " %d:%r" * length + "\n" for label, length in rows) % tuple(numbers)


def _pieces(m: int) -> Iterator[tuple[int, int]]:
    """Number and rows of each piece."""
    for piece, first in enumerate(range(0, m, PIECE)):
        yield piece, min(PIECE, m - first)


def _lengths(mean: float, deviates: np.ndarray) -> np.ndarray:
    """Words of documents, from standard normal deviates."""
    return np.maximum(1.0, np.rint(mean * np.exp(_LENGTHS * deviates - 0.5 * _LENGTHS**2)))


def _document_frequency(negative: np.ndarray, positive: np.ndarray, mean_words: float) -> np.ndarray:
    """Share of the documents that hold each term: 1 − (1 − p)^words, averaged over lengths and classes."""
    deviates, shares = np.polynomial.hermite_e.hermegauss(15)
    words, shares = _lengths(mean_words, deviates), shares / shares.sum()
    absent = [shares @ np.exp(np.outer(words, np.log1p(-law))) for law in (negative, positive)]
    return 1.0 - 0.5 * (absent[0] + absent[1])


def _mean_words(negative: np.ndarray, positive: np.ndarray, entries: float) -> float:
    """The mean length at which documents hold so many distinct terms, by bisection."""
    if not 1.0 <= entries <= 0.5 * len(negative):
        raise ValueError(f"documents of {entries:g} distinct terms cannot be drawn from {len(negative)}")

    def too_short(words: float) -> bool:
        return _document_frequency(negative, positive, words).sum() < entries

    low, high = entries, 2.0 * entries
    while too_short(high):
        high *= 2.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if too_short(middle) else (low, middle)
    return high
