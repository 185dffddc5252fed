"""What is in the cache, without reading any data."""

from __future__ import annotations

from pathlib import Path

from pdmbench import paths
from pdmbench.data import cache, download, registry, sources
from pdmbench.data.sources import OwnFile

CACHED, DOWNLOADED, BUILT_IN, ABSENT = "cached", "downloaded", "built in", "absent"


def state(source: str) -> str:
    """Whether a data set is cached, its files are downloaded, or it would have to be fetched."""
    origin = sources.find(source)
    if cache.find(origin.key) is not None:
        return CACHED
    if isinstance(origin, OwnFile):
        return DOWNLOADED
    if origin.spec.generator is not None:
        return BUILT_IN
    return DOWNLOADED if all(path.exists() for path in download.place(origin.spec)) else ABSENT


def places(source: str | None) -> list[Path]:
    """Where the files of a data set lie or belong, else its cache entry; for None the cache folder."""
    if source is None:
        return [paths.root()]
    origin = sources.find(source)
    if isinstance(origin, OwnFile):
        return [Path(source).resolve()]
    return download.place(origin.spec) or [paths.root() / "sets" / origin.key]


def facts(source: str) -> dict[str, object]:
    """What is known of a data set, by what it is called; unknown things are left out."""
    spec = registry.get(source)
    known: dict[str, object] = {
        "name": spec.name,
        "title": spec.title,
        "m": spec.m,
        "n": spec.n,
        "entries": spec.nnz,
        "positives": spec.positives,
        "positive": spec.positive,
        "rescale": None if spec.rescale == 1 else spec.rescale,
        "delta": None if spec.delta is None else f"{spec.delta:g}{' (inferred)' * spec.delta_inferred}",
        "state": state(source),
        "citation": spec.citation,
        "url": spec.url,
    }
    for number, file in enumerate(spec.files, 1):
        known |= {
            f"file {number}": file.name,
            f"url {number}": " ".join(file.urls),
            f"sha256 {number}": file.sha256,
        }
    return {name: value for name, value in known.items() if value is not None}
