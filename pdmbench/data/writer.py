"""Blocks of rows in, the array files of the layout that fits them out; memory does not grow with the entries.

The layout is what :meth:`pdmbench.patterns.Patterns.from_csr` would choose. It is known only at the end, so
each array begins in its smallest form and is rewritten, on disk, when a block does not fit it: that happens
early or not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pdmbench.data.formats import Block
from pdmbench.patterns import (
    DENSE_FROM,
    HEAD,
    exact_dtype,
    group_places,
    index_dtype,
    pad_rows,
    padded_columns,
)

_PIECE = 1 << 20  # entries handled at a time


class Packed(NamedTuple):
    """What was written."""

    layout: str
    m: int
    n: int
    nnz: int
    base: int  # the first index in the source


class _Column:
    """A growing ``.npy`` file of one dimension."""

    def __init__(self, path: Path, dtype: Any):
        self.path, self.dtype, self.size = path, np.dtype(dtype), 0
        self._open()

    def append(self, array: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(array, dtype=self.dtype).data)
        self.size += len(array)

    def recast(self, dtype: Any, shift: int = 0) -> None:
        """Rewrite what is there in another type, with a number added to what is no padding."""
        self.close()
        pieces, self.dtype = list(_pieces(self.path)), np.dtype(dtype)
        self.path.unlink()
        self.size = 0
        self._open()
        for piece in pieces:
            self.append(piece.astype(self.dtype) + self.dtype.type(shift) * (piece >= HEAD if shift else 1))

    def close(self) -> None:
        self._file.seek(0)
        write_header(self._file, self.dtype, (self.size,))
        self._file.close()

    def discard(self) -> None:
        self._file.close()
        self.path.unlink()

    def _open(self) -> None:
        self._file = open(self.path, "wb")  # noqa: SIM115 - closed by close() or discard()
        write_header(self._file, self.dtype, (self.size,))


class LayoutWriter:
    """Writes the arrays of a pattern matrix into a folder.

    Parameters
    ----------
    folder : Path
        Gets one ``.npy`` file per array of the layout, named as its field.
    base : int, optional
        What the first feature is called in the blocks; None: 0 if that occurs, else 1.
    """

    def __init__(self, folder: Path, base: int | None = None):
        self.folder = folder
        self.base = 1 if base is None else base
        self._base_known = base is not None
        self._last = -1  # largest index seen
        self.m = self.nnz = 0
        self._end = 0  # entries written, padding included
        self._indptr = _Column(folder / "indptr.npy", np.int64)
        self._indptr.append(np.zeros(1))
        self._indices = _Column(folder / "indices.npy", np.uint16)
        self._value = _Column(folder / "value.npy", np.float64)
        self._constant: list[tuple[np.ndarray, np.ndarray]] | None = []  # value and length of each row
        self._data = _Column(folder / "data.npy", np.float32)

    def append(self, block: Block) -> None:
        """Write some rows."""
        if len(block.indices):
            self._last = max(self._last, int(block.indices.max()))
            self._find_base(int(block.indices.min()))
        ends, indices, values = _without_zeros(block)
        lengths = np.diff(ends, prepend=0)
        if index_dtype(self._last + 1 - self.base) is np.uint32 and self._indices.dtype != np.uint32:
            self._indices.recast(np.uint32)
        if self._constant is not None:
            self._append_constant(values, lengths)
        padded, indices, data = pad_rows(
            lengths,
            indices - indices.dtype.type(self.base),
            values if self._constant is None else None,
            self._indices.dtype,
        )
        self._indptr.append(self._end + np.cumsum(padded))
        self._end += len(indices)
        self._indices.append(indices)
        if data is not None:
            self._append_data(data)
        self.m += len(ends)
        self.nnz += len(values)

    def finish(self) -> Packed:
        """Complete the files; there are as many features as the largest index says."""
        n = max(0, self._last + 1 - self.base)
        self._indptr.close()
        self._indices.close()
        if self._constant is not None:
            layout = "constant"
            self._value.close()
            self._data.discard()
        else:
            layout = "dense" if self.nnz / max(1, self.m * n) >= DENSE_FROM else "sparse"
            self._data.close()
            if layout == "dense":
                self._spread(n)
        return Packed(layout, self.m, n, self.nnz, self.base)

    def _find_base(self, smallest: int) -> None:
        if smallest == 0 and not self._base_known:
            self.base = 0
            self._base_known = True
            self._indices.recast(index_dtype(self._last + 1), 1)

    def _append_constant(self, values: np.ndarray, lengths: np.ndarray) -> None:
        """Write the one value of each row; where a row holds two, write the rows before it in full."""
        filled = lengths > 0
        value = np.ones(len(lengths))
        value[filled] = values[(np.cumsum(lengths) - lengths)[filled]]
        if np.array_equal(np.repeat(value, lengths), values):
            self._constant.append((value, lengths))
            self._value.append(value)
            return
        earlier, self._constant = self._constant, None
        self._value.discard()
        for row_value, row_lengths in earlier:
            padded, place = group_places(row_lengths)
            data = np.zeros(int(padded.sum()))
            data[place] = np.repeat(row_value, row_lengths)
            self._append_data(data)

    def _append_data(self, data: np.ndarray) -> None:
        if self._data.dtype == np.float32 and exact_dtype(data) is np.float64:
            self._data.recast(np.float64)
        self._data.append(data)

    def _spread(self, n: int) -> None:
        """Write the rows in full."""
        indptr, indices, data = (
            np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices", "data")
        )
        target = self.folder / "full.npy"
        step = max(1, _PIECE // n)
        with open(target, "wb") as file:
            write_header(file, data.dtype, (self.m, padded_columns(n)))
            for first in range(0, self.m, step):
                ends = indptr[first : first + step + 1]
                full = np.zeros((len(ends) - 1, HEAD + padded_columns(n)), dtype=data.dtype)
                entries = slice(ends[0], ends[-1])
                full[np.repeat(np.arange(len(full)), np.diff(ends)), indices[entries]] = data[entries]
                full = np.ascontiguousarray(full[:, HEAD:])
                file.write(full.data)
        del indptr, indices, data
        (self.folder / "indptr.npy").unlink()
        (self.folder / "indices.npy").unlink()
        target.replace(self.folder / "data.npy")


def write_header(file, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Write the header of an ``.npy`` file; NumPy leaves room in it for the first dimension to grow."""
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)


def _without_zeros(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kept = block.values != 0.0
    if kept.all():
        return block.ends, block.indices, block.values
    before = np.concatenate([[0], np.cumsum(kept)])
    return before[block.ends], block.indices[kept], block.values[kept]


def _pieces(path: Path):
    array = np.load(path, mmap_mode="r")
    for first in range(0, len(array), _PIECE):
        yield array[first : first + _PIECE]
