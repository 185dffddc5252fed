"""Tables of numbers between separators: what covtype and physics files have in common.

:func:`parse_line` is the rule; the compiled kernel takes the plain lines and leaves the others to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pdmbench.data.formats import Block, Fault, Text, fault, full_block, number, texts
from pdmbench.data.registry import DataSetSpec
from pdmbench.errors import DataError


def blocks(
    paths: Sequence[Path], spec: DataSetSpec, separator: bytes, label: int, first: int, last: int
) -> Iterator[Block]:
    """The rows of all files.

    Parameters
    ----------
    paths : sequence of Path
    spec : DataSetSpec
        Its ``drop`` and ``missing`` count and mean features as they stand in the file.
    separator : bytes
        One byte.
    label, first, last : int
        Column of the label, column of the first feature and number of columns after the last one; columns
        count from 0.

    Raises
    ------
    DataError
        Naming the line.
    """
    features = spec.n + len(spec.drop)
    kept = np.setdiff1d(np.arange(features), np.array(spec.drop, dtype=int) - 1) + first
    for path, file in zip(paths, spec.files, strict=True):
        for text in texts(path, file.member):
            table = parse(text, separator, first + features + last)
            _expect_no_codes(table, kept, spec.missing, text)
            yield full_block(table[:, label], table[:, kept])


def parse(text: Text, separator: bytes, columns: int) -> np.ndarray:
    """Parse whole lines into float64[rows, columns]."""
    content = text.content
    table = np.empty((content.count(b"\n"), columns))
    kernel = _kernel(ord(separator)) if text.quick else None
    position = row = 0
    while position < len(content):
        if kernel:
            position, row = kernel(content, position, table, row)
            if position == len(content):
                break
        stop = content.index(b"\n", position)
        try:
            cells = parse_line(content[position:stop], separator, columns)
        except Fault as wrong:
            raise fault(text, position, wrong) from None
        if cells:
            table[row] = cells
            row += 1
        position = stop + 1
    return table[:row]


def parse_line(line: bytes, separator: bytes, columns: int) -> list[float]:
    """The numbers of one line; an empty line has none.

    Raises
    ------
    Fault
        What is wrong with it.
    """
    if not line.strip():
        return []
    cells = line.split(separator)
    if len(cells) != columns:
        raise Fault(f"has {len(cells)} columns, not {columns}", "is it the right file, and whole?")
    return [number(cell.strip(), f"column {k},") for k, cell in enumerate(cells, start=1)]


def _kernel(separator: int):
    from pdmbench.kernels import text as kernels

    if kernels.disabled():
        return None
    fives = kernels.powers_of_five()

    def parse_lines(content, position, table, row):
        buffer = np.frombuffer(content, dtype=np.uint8)
        return kernels.parse_table(buffer, position, separator, table, row, fives)

    return parse_lines


def _expect_no_codes(table: np.ndarray, kept: np.ndarray, codes: tuple[float, ...], text: Text) -> None:
    """A code of a missing value must not pass for a number."""
    found = np.argwhere(np.isin(table[:, kept], codes)) if codes else ()
    if len(found):
        row, column = found[0][0], kept[found[0][1]]
        lines = [k for k, line in enumerate(text.content.splitlines()) if line.strip()]
        raise DataError(
            f"column {column + 1} holds {table[row, column]:g}, the code of a missing value",
            f"{text.path}, line {text.line + lines[row]}",
            "drop that feature or complete the value",
        )
