"""LIBSVM and svmlight files: ``label [qid:n] index:value ... [# comment]``.

:func:`parse_line` is the rule. The compiled kernel takes the lines that are plain, many at once, and leaves
every other line to it; so a line is right or wrong for one reason, told in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pdmbench.data.classes import Classes, by_value
from pdmbench.data.formats import Block, Fault, Text, fault, number, shown, texts
from pdmbench.data.registry import DataSetSpec

base = None

_MAX_INDEX = 2**31 - 1


def blocks(paths: Sequence[Path], spec: DataSetSpec | None = None) -> Iterator[Block]:
    """The rows of all files, one file after the other."""
    for k, path in enumerate(paths):
        for text in texts(path, spec.files[k].member if spec else None):
            yield parse(text)


def classes(labels: np.ndarray, paths: Sequence[Path]) -> Classes:
    """One class per label."""
    return by_value(labels)


def parse(text: Text) -> Block:
    """Parse whole lines.

    Raises
    ------
    DataError
        Naming the line.
    """
    content = text.content
    rows, entries = content.count(b"\n"), len(content) // 4  # the shortest entry is `1:1` and a separator
    labels, ends = np.empty(rows), np.empty(rows, dtype=np.int64)
    indices, values = np.empty(entries, dtype=np.uint32), np.empty(entries)
    kernel = _kernel() if text.quick else None
    position = row = entry = 0
    unsorted = False
    while position < len(content):
        if kernel:
            position, row, entry, more = kernel(content, position, labels, ends, indices, values, row, entry)
            unsorted |= more
            if position == len(content):
                break
        stop = content.index(b"\n", position)
        try:
            parsed = parse_line(content[position:stop])
        except Fault as wrong:
            if unsorted:
                _find_fault(text)  # an index may occur twice further up
            raise fault(text, position, wrong) from None
        if parsed:
            labels[row], found, numbers = parsed
            indices[entry : entry + len(found)] = found
            values[entry : entry + len(found)] = numbers
            unsorted |= found != sorted(found)
            entry += len(found)
            ends[row] = entry
            row += 1
        position = stop + 1
    block = Block(labels[:row], ends[:row], indices[:entry], values[:entry])
    return _sort(block, text) if unsorted else block


def parse_line(line: bytes) -> tuple[float, list[int], list[float]] | None:
    """Label, indices and values of one line, None for a line without an example.

    Raises
    ------
    Fault
        What is wrong with it.
    """
    content = re.sub(rb":\s+", b":", line.partition(b"#")[0])  # a blank may follow the colon
    tokens = content.split()
    if not tokens:
        return None
    label = number(tokens[0], "the label")
    features = tokens[2:] if len(tokens) > 1 and re.fullmatch(rb"qid:\d+", tokens[1]) else tokens[1:]
    entries: dict[int, float] = {}
    for token in features:
        index, colon, value = token.partition(b":")
        if not colon:
            raise Fault(f"the token {shown(token)} has no colon", "entries are written index:value")
        if index in (b"cost", b"sid"):
            raise Fault(
                f"{shown(token)}: example costs would change the problem and are not supported", "remove them"
            )
        if not index.isdigit():
            raise Fault(
                f"the index of {shown(token)} is not a whole number", "entries are written index:value"
            )
        if len(index.lstrip(b"0")) > 10 or int(index) > _MAX_INDEX:
            raise Fault(f"the index {shown(index)} is too large", "indices must be below 2³¹")
        if b":" in value:
            raise Fault(f"the token {shown(token)} has two colons", "separate the entries by blanks")
        if not value:
            raise Fault(f"the token {shown(token)} has no value", "entries are written index:value")
        if int(index) in entries:
            raise Fault(
                f"the index {int(index)} occurs twice", "which value is meant cannot be known: remove one"
            )
        entries[int(index)] = number(value, f"the value of index {int(index)},")
    return label, list(entries), list(entries.values())


def _kernel():
    from pdmbench.kernels import text as kernels

    if kernels.disabled():
        return None
    fives = kernels.powers_of_five()

    def parse_lines(content, position, labels, ends, indices, values, row, entry):
        buffer = np.frombuffer(content, dtype=np.uint8)
        return kernels.parse_svmlight(buffer, position, labels, ends, indices, values, row, entry, fives)

    return parse_lines


def _sort(block: Block, text: Text) -> Block:
    """Indices ascending within each row; an index that occurs twice is an error."""
    lengths = np.diff(block.ends, prepend=0)
    row = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((block.indices, row))
    indices = block.indices[order]
    if np.any((indices[1:] == indices[:-1]) & (row[1:] == row[:-1])):
        _find_fault(text)
    return block._replace(indices=indices, values=block.values[order])


def _find_fault(text: Text) -> None:
    position = 0
    while position < len(text.content):
        stop = text.content.index(b"\n", position)
        try:
            parse_line(text.content[position:stop])
        except Fault as wrong:
            raise fault(text, position, wrong) from None
        position = stop + 1
