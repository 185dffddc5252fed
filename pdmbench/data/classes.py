"""Which rows belong to which class, and which class is +1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdmbench.errors import DataError


class Classes(NamedTuple):
    """Members of each class; a row may belong to several (RCV1's topics) or to none."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    members: np.ndarray  # uint32[sum of counts], the rows of each class, one class after the other

    def labels(self, positive: str, m: int) -> np.ndarray:
        """+1 for the members of a class, -1 for the rest, int8[m]."""
        k = self.names.index(positive)
        first = sum(self.counts[:k])
        labels = np.full(m, -1, dtype=np.int8)
        labels[self.members[first : first + self.counts[k]]] = 1
        return labels


def by_value(labels: np.ndarray) -> Classes:
    """One class per distinct label, ascending."""
    values, code, counts = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.argsort(code, kind="stable").astype(np.uint32)
    names = tuple(_name(value) for value in values.tolist())
    return Classes(names, tuple(counts.tolist()), members)


def choose(classes: Classes, m: int, positive: str | None, where: str) -> tuple[str, str | None]:
    """The class that is +1, and what the run must say about it.

    Parameters
    ----------
    classes : Classes
    m : int
        Number of rows.
    positive : str, optional
        The label asked for; by default the larger of two.
    where : str
        The file, for messages.

    Raises
    ------
    DataError
        There are not two sides, or it is not clear which class is meant.
    """
    if classes.counts == (m,):
        raise DataError(
            f"has one class only: all {m} labels are {classes.names[0]}", where, "give data of two classes"
        )
    if positive is None:
        if len(classes.names) != 2:
            raise DataError(
                f"has {len(classes.names)} classes: {_listing(classes)}",
                where,
                "choose the one against the rest with --positive LABEL",
            )
        rest, chosen = classes.names
        usual = (rest, chosen) == ("-1", "1")
        return chosen, None if usual else f"labels {rest} and {chosen}: {chosen} is +1, {rest} is -1"
    chosen = positive if positive in classes.names else _canonical(positive)
    if chosen not in classes.names:
        raise DataError(f"has no label {positive}; its labels are {_listing(classes)}", where)
    if classes.counts[classes.names.index(chosen)] == m:
        raise DataError(f"has one class only: all {m} rows belong to {chosen}", where)
    return chosen, f"label {chosen} is +1, the rest are -1"


def _name(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _canonical(label: str) -> str:
    """``+1`` and ``1.0`` name the same label as ``1``."""
    try:
        return _name(float(label))
    except (ValueError, OverflowError):
        return label


def _listing(classes: Classes, most: int = 10) -> str:
    pairs = [f"{name} ({count})" for name, count in zip(classes.names, classes.counts, strict=True)]
    return ", ".join(pairs[:most] + ["…"] * (len(pairs) > most))
