"""phy_train.dat of the KDD Cup 2004: tab separated, an id, the class 0 or 1, then the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pdmbench.data.classes import Classes, by_value
from pdmbench.data.formats import Block, table
from pdmbench.data.registry import DataSetSpec

base = 0


def blocks(paths: Sequence[Path], spec: DataSetSpec) -> Iterator[Block]:
    """The rows of all files, without the features the registry drops."""
    return table.blocks(paths, spec, b"\t", label=1, first=2, last=0)


def classes(labels: np.ndarray, paths: Sequence[Path]) -> Classes:
    """One class per value of the second column."""
    return by_value(labels)
