"""The registry: one TOML file per data set, read into a frozen `DataSetSpec`.

The files lie in ``datasets/`` of this project and in the user's own folder ``$PDMBENCH_DATASETS``. A key that
is unknown, missing or of the wrong type is an error: a misspelt hash must not become an unchecked one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pdmbench import resources, schema
from pdmbench.errors import UsageError

FORMATS = ("libsvm", "covtype", "physics", "rcv1")
# What each built-in generator may be told, beside m and n.
GENERATORS: dict[str, dict[str, schema.Reader]] = {
    "breast-cancer": {},
    "digits": {},
    "synthetic": {
        "density": schema.number(above=0, most=1),
        "margin": schema.number(least=0),
        "seed": schema.whole(0),
    },
}


@dataclass(frozen=True)
class FileSpec:
    """One file as it is published; what is not known is None.

    Attributes
    ----------
    name : str
        Its name in the cache and below a mirror.
    urls : tuple of str
        Where it is published, in the order to try. They may differ in packing if only `unpacked_sha256` is
        given; readers tell the packing from the content.
    bytes, sha256 : int, str
        Size and hash as published, that is, packed.
    unpacked_bytes, unpacked_sha256 : int, str
        Size and hash of what is inside.
    member : str
        The file inside a tar archive.
    """

    name: str
    urls: tuple[str, ...] = ()
    bytes: int | None = None
    sha256: str | None = None
    unpacked_bytes: int | None = None
    unpacked_sha256: str | None = None
    member: str | None = None


@dataclass(frozen=True)
class DataSetSpec:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name : str
        The stem of its TOML file.
    origin : Path
        The TOML file.
    title : str
        One line for lists.
    m, n : int
        Numbers of patterns and of features, checked against the file.
    positives, nnz : int, optional
        Numbers of positive patterns and of stored entries; checked where known.
    format : str, optional
        One of `FORMATS`; None for a built-in data set.
    generator : str, optional
        One of `GENERATORS`; None for a data set read from files.
    parameters : tuple of (str, float)
        The generator's parameters beside m and n.
    positive : str, optional
        The label (for RCV1 the topic) that is +1 against the rest; None: the labels as given.
    rescale : float
        Factor on all values.
    delta : float, optional
        Δ of the extended space; None: chosen from R when the data are used.
    delta_inferred : bool
        Δ is inferred, not read in the paper.
    drop : tuple of int
        Features left out, counted from 1 in the file.
    missing : tuple of float
        Codes of a missing value: an error in a feature that is kept.
    folder : str
        Folder of the files below the cache and a mirror; data sets may share one.
    files : tuple of FileSpec
        In the order the format's reader expects.
    citation, url : str, optional
        Who made the data, and their page.
    """

    name: str
    origin: Path
    title: str
    m: int
    n: int
    folder: str
    positives: int | None = None
    nnz: int | None = None
    format: str | None = None
    generator: str | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    positive: str | None = None
    rescale: float = 1.0
    delta: float | None = None
    delta_inferred: bool = False
    drop: tuple[int, ...] = ()
    missing: tuple[float, ...] = ()
    files: tuple[FileSpec, ...] = ()
    citation: str | None = None
    url: str | None = None


def names() -> list[str]:
    """Names of all registered data sets, ours and the user's, in alphabetical order."""
    return sorted(_registered())


def get(source: str | os.PathLike[str]) -> DataSetSpec:
    """The description of a data set.

    Parameters
    ----------
    source : str or path
        A registered name or the path of a TOML file.

    Returns
    -------
    DataSetSpec

    Raises
    ------
    UsageError
        An unknown name, or a file that does not describe a data set.
    """
    if str(source).endswith(".toml"):
        return _read(Path(source))
    registered = _registered()
    if str(source) not in registered:
        raise UsageError(
            f"no such data set{schema.nearest(str(source), registered)}",
            where=str(source),
            fix="pdmbench datasets list shows all; a file of your own is given by its path",
        )
    return _read(registered[str(source)])


def _registered() -> dict[str, Path]:
    found = {path.stem: path for path in sorted(resources.folder("datasets").glob("*.toml"))}
    if own := os.environ.get("PDMBENCH_DATASETS"):
        folder = Path(own).expanduser()
        if not folder.is_dir():
            raise UsageError("no such folder", where=f"PDMBENCH_DATASETS={own}")
        for path in sorted(folder.glob("*.toml")):
            if path.stem in found and not path.samefile(found[path.stem]):
                raise UsageError(
                    f"{path.stem} is one of pdmbench's own data sets", str(path), "rename the file"
                )
            found[path.stem] = path
    return found


def _read(path: Path) -> DataSetSpec:
    """Read and check one TOML file."""
    where = str(path)
    values = schema.convert(schema.load(path), _DATA_SET, where)
    values = {"name": path.stem, "origin": path, "folder": path.stem, **values}
    values["files"] = tuple(
        _read_file(table, f"{where}, [[files]] number {number}")
        for number, table in enumerate(values.get("files", ()), start=1)
    )
    known = GENERATORS.get(values.get("generator"), {})
    parameters = schema.convert(values.get("parameters", {}), known, f"{where}, [parameters]")
    values["parameters"] = tuple(parameters.items())
    spec = schema.build(DataSetSpec, values, where)
    _check_source(spec, where)
    return spec


def _read_file(table: dict, where: str) -> FileSpec:
    return schema.build(FileSpec, schema.convert(table, _FILE, where), where)


def _check_source(spec: DataSetSpec, where: str) -> None:
    """A data set has files in a format, or a generator with its parameters: never both, never neither."""
    if (spec.format is None) == (spec.generator is None):
        raise UsageError("exactly one of the keys format and generator is needed", where)
    if (spec.format is None) != (not spec.files):
        raise UsageError("[[files]] are needed with the key format, and only with it", where)
    if len({file.name for file in spec.files}) < len(spec.files):
        raise UsageError("two [[files]] have the same name", where)
    if spec.format in ("covtype", "rcv1") and spec.positive is None:
        raise UsageError(f"the key positive is missing: format {spec.format} has several classes", where)
    if spec.generator and (absent := GENERATORS[spec.generator].keys() - dict(spec.parameters).keys()):
        raise UsageError(f"the key {min(absent)} is missing", f"{where}, [parameters]")


_file_name = schema.matching(r"\w[\w.+-]*", "a plain file name of letters, digits, . _ + and -")
_sha256 = schema.matching(r"[0-9a-f]{64}", "a sha256 of 64 hexadecimal digits in lower case")
_address = schema.matching(r"https?://[^/\s]\S*", "an address that begins with http:// or https://")

_FILE: dict[str, schema.Reader] = {
    "name": _file_name,
    "urls": schema.list_of(_address),
    "bytes": schema.whole(1),
    "sha256": _sha256,
    "unpacked_bytes": schema.whole(1),
    "unpacked_sha256": _sha256,
    "member": schema.text,
}

_DATA_SET: dict[str, schema.Reader] = {
    "title": schema.text,
    "m": schema.whole(2),
    "n": schema.whole(1),
    "positives": schema.whole(1),
    "nnz": schema.whole(0),
    "format": schema.one_of(FORMATS),
    "generator": schema.one_of(GENERATORS),
    "parameters": schema.table,
    "positive": schema.text,
    "rescale": schema.number(above=0),
    "delta": schema.number(least=0),
    "delta_inferred": schema.flag,
    "drop": schema.list_of(schema.whole(1)),
    "missing": schema.list_of(schema.number()),
    "folder": _file_name,
    "files": schema.list_of(schema.table),
    "citation": schema.text,
    "url": _address,
}
