"""RCV1-v2 (LYRL2004): term vectors in several files, and the topics of each document in another.

A line of vectors is ``<document id>  <term id>:<weight> ...``: a LIBSVM line whose label is the id. A line of
topics is ``<topic> <document id> 1``; a document has several. Rows keep the order of the vectors.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pdmbench.data.classes import Classes
from pdmbench.data.formats import Block, Fault, fault, libsvm, shown, texts
from pdmbench.data.registry import DataSetSpec
from pdmbench.errors import DataError

base = None


def blocks(paths: Sequence[Path], spec: DataSetSpec) -> Iterator[Block]:
    """The rows of all vector files; the last file, of topics, has none. Labels are document ids."""
    return libsvm.blocks(paths[:-1], spec)


def classes(labels: np.ndarray, paths: Sequence[Path]) -> Classes:
    """One class per topic, joined with the documents by their ids.

    Raises
    ------
    DataError
        A document occurs twice, or a topic is given to one that does not occur.
    """
    order = np.argsort(labels, kind="stable")
    known = labels[order]
    if np.any(twice := known[1:] == known[:-1]):
        raise DataError(f"document {known[1:][twice][0]:.0f} occurs twice", ", ".join(map(str, paths[:-1])))
    topics = _topics(paths[-1])
    members = []
    for topic in sorted(topics):
        ids = np.unique(np.array(topics[topic]))
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        if np.any(missing := known[place] != ids):
            raise DataError(
                f"gives topic {topic} to document {ids[missing][0]}, which has no vector",
                str(paths[-1]),
                "are all files of vectors there?",
            )
        members.append(np.sort(order[place]).astype(np.uint32))
    return Classes(tuple(sorted(topics)), tuple(map(len, members)), np.concatenate(members))


def _topics(path: Path) -> dict[str, array[int]]:
    """The document ids of each topic."""
    topics: dict[str, array[int]] = {}
    for text in texts(path):
        position = 0
        for line in text.content.splitlines(keepends=True):
            fields = line.split()
            if fields:
                if len(fields) != 3 or not fields[1].isdigit() or len(fields[1]) > 15:
                    raise fault(text, position, Fault(f"{shown(line.strip())} is not `<topic> <document> 1`"))
                topics.setdefault(fields[0].decode("ascii", "replace"), array("q")).append(int(fields[1]))
            position += len(line)
    if not topics:
        raise DataError("has no topics", str(path), "is it the right file?")
    return topics
