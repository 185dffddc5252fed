"""What is to be measured: an experiment file (TOML) or the options of a command, as cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

from pdmbench import resources, schema, solvers
from pdmbench.errors import UsageError

USES_ETA = ("pdm-succ", "pfm-succ")  # the latter through its β


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of one solver on one data set.

    Attributes
    ----------
    dataset : str
        Registered name or path.
    algorithm : str
    eps, delta, rho, eta, beta : float
        As in :class:`pdmbench.bench.record.Record`. ``delta`` None: the data set's own; ``beta`` None: the
        margin of the solver named in :data:`pdmbench.solvers.TARGET_FROM`.
    seed : int
    positive : str, optional
        Label to take as +1 against the rest.
    time_limit : float, optional
        Seconds of training after which the cell is ended.
    memory_limit : float, optional
        MiB of memory of its own (mapped data not counted) at which the cell is ended.
    max_epochs : int, optional
        Full epochs after which the solver ends.
    trace : bool
        Measure margin and bound after every full epoch.

    Raises
    ------
    UsageError
        For a value out of its range.
    """

    dataset: str
    algorithm: str
    eps: float = 0.01
    delta: float | None = None
    rho: float = 1.0
    eta: float = 8.0
    beta: float | None = None
    seed: int = 0
    positive: str | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    max_epochs: int | None = None
    trace: bool = False

    def __post_init__(self) -> None:
        for name, read in CHECKS.items():
            value = getattr(self, name)
            try:
                if value is not None:
                    read(value)
            except ValueError as error:
                raise UsageError(f"{name} must be {error}, not {value!r}") from None

    @property
    def beta_from(self) -> str | None:
        """The algorithm whose margin this cell takes as β."""
        return solvers.TARGET_FROM.get(self.algorithm) if self.beta is None else None


def _accuracy(value: Any) -> float:
    if not 0 < schema.number()(value) < 1:
        raise ValueError("a number between 0 and 1")
    return float(value)


CHECKS: dict[str, schema.Reader] = {
    "eps": _accuracy,
    "delta": schema.number(least=0),
    "rho": schema.number(above=0),
    "eta": schema.number(above=1),
    "beta": schema.number(above=0),
    "seed": schema.whole(0),
    "time_limit": schema.number(above=0),
    "memory_limit": schema.number(above=0),
    "max_epochs": schema.whole(1),
}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment file: cells in the order of its rows, seeds and algorithms."""

    title: str
    cells: tuple[Cell, ...] = field(repr=False)


def _some(item: schema.Reader) -> schema.Reader:
    def read(value: Any) -> tuple[Any, ...]:
        if value == []:
            raise ValueError("a list of at least one")
        return schema.list_of(item)(value)

    return read


_COMMON: dict[str, schema.Reader] = {
    **{key: CHECKS[key] for key in ("eps", "rho", "eta", "time_limit", "memory_limit", "max_epochs")},
    "trace": schema.flag,
    "seeds": _some(CHECKS["seed"]),
    "algorithms": _some(schema.text),
}
_ROW: dict[str, schema.Reader] = {
    **_COMMON,
    "dataset": schema.text,
    "delta": CHECKS["delta"],
    "positive": schema.text,
}
_EXPERIMENT: dict[str, schema.Reader] = {
    **_COMMON,
    "title": schema.text,
    "rows": schema.list_of(schema.table),
}


def load_experiment(name_or_path: str) -> Experiment:
    """Read an experiment file.

    Settings at the top hold for every ``[[rows]]`` entry that does not say otherwise.

    Parameters
    ----------
    name_or_path : str
        A file that comes with the package, without ``.toml``, or a path.

    Raises
    ------
    UsageError
        For a file that is not there, an unknown key, or a value that cannot be.
    """
    path = _experiment_path(name_or_path)
    content = schema.convert(schema.load(path), _EXPERIMENT, str(path))
    title, rows = content.pop("title", path.stem), content.pop("rows", ())
    if not rows:
        raise UsageError("no [[rows]]", str(path), "add one for each data set")
    cells: list[Cell] = []
    for number, row in enumerate(rows, 1):
        where = f"{path}, [[rows]] number {number}"
        row = schema.convert(row, _ROW, where)
        if "dataset" not in row:
            raise UsageError("the key dataset is missing", where)
        cells += _row_cells({**content, **row}, path.parent, where)
    return Experiment(title=title, cells=tuple(cells))


def experiments() -> list[str]:
    """Names of the experiment files that come with the package."""
    found = {path.stem for path in resources.folder("configs").glob("*.toml")}
    return sorted(found - {"published"})  # the printed tables, no experiment


def select(cells: Iterable[Cell], only: Iterable[str] = (), time_limit: float | None = None) -> list[Cell]:
    """Some cells of an experiment.

    Parameters
    ----------
    cells : iterable of Cell
    only : iterable of str
        ``dataset/algorithm`` with shell wildcards, ``dataset`` for all its algorithms; nothing for all cells.
    time_limit : float, optional
        In place of the cells' own.

    Raises
    ------
    UsageError
        For a pattern that no cell matches.
    """
    cells = list(cells)
    names = {cell: f"{cell.dataset}/{cell.algorithm}" for cell in cells}
    chosen: set[Cell] = set()
    for pattern in only:
        found = [c for c, name in names.items() if fnmatch(name, pattern) or fnmatch(c.dataset, pattern)]
        if not found:
            near = schema.nearest(pattern, {*names.values(), *(cell.dataset for cell in cells)})
            raise UsageError(f"no cell is called {pattern}{near}", "--only")
        chosen.update(found)
    kept = [cell for cell in cells if cell in chosen] if chosen else cells
    return kept if time_limit is None else [replace(cell, time_limit=time_limit) for cell in kept]


def _experiment_path(name_or_path: str) -> Path:
    packaged = resources.folder("configs") / f"{name_or_path}.toml"
    if name_or_path in experiments():
        return packaged
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.exists():
        what = f"no such experiment: {name_or_path}{schema.nearest(name_or_path, experiments())}"
        raise UsageError(what, fix="give the path of a TOML file or one of " + ", ".join(experiments()))
    return path


def _row_cells(row: dict[str, Any], folder: Path, where: str) -> list[Cell]:
    beside = folder / row["dataset"]  # a path is meant from where the experiment file lies
    if beside.is_file():
        row["dataset"] = str(beside)
    seeds, algorithms = row.pop("seeds", (0,)), row.pop("algorithms", ("all",))
    try:
        names = solvers.expand(algorithms)
    except UsageError as error:
        raise UsageError(error.what, where, error.fix) from None
    return [Cell(algorithm=name, seed=seed, **row) for seed in seeds for name in names]
