"""UCI covtype.data: comma separated, the features, then the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pdmbench.data.classes import Classes, by_value
from pdmbench.data.formats import Block, table
from pdmbench.data.registry import DataSetSpec

base = 0


def blocks(paths: Sequence[Path], spec: DataSetSpec) -> Iterator[Block]:
    """The rows of all files."""
    return table.blocks(paths, spec, b",", label=-1, first=0, last=1)


def classes(labels: np.ndarray, paths: Sequence[Path]) -> Classes:
    """One class per cover type."""
    return by_value(labels)
