"""The numbers printed in the paper, from a file that whoever has the printed paper fills in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pdmbench import schema
from pdmbench.report.cells import Problem
from pdmbench.resources import folder

# Which quantities the paper prints for which solver, in the units of its tables.
PRINTED: dict[str, dict[str, tuple[str, ...]]] = {
    "table1": {
        "pdm": ("margin", "updates", "train_seconds"),
        "pfm": ("updates", "train_seconds"),
        "pdm-succ": ("margin", "updates", "train_seconds"),
        "pfm-succ": ("updates", "train_seconds"),
    },
    "table2": {
        "romma": ("margin", "train_seconds"),
        "svm-light": ("geometric_margin", "train_seconds"),
        "dcd-l1": ("margin", "train_seconds"),
        "dcd-l2": ("train_seconds",),
        "mpu": ("margin", "train_seconds"),
    },
}


@dataclass(frozen=True)
class Published:
    """Printed numbers and the settings they belong to.

    Attributes
    ----------
    where : str
        The file they come from.
    settings : mapping
        ``eps`` and ``rho`` of the paper's experiments.
    deltas : mapping
        Δ of each data set.
    values : mapping
        (data set, algorithm, field of the record) to the number, in the unit of the table.
    """

    where: str
    settings: Mapping[str, float] = field(default_factory=dict)
    deltas: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    def value(self, problem: Problem, algorithm: str, quantity: str) -> float | None:
        """The printed number, None where none is filled in or where the problem is not the paper's."""
        mine = {"eps": problem.eps, "rho": problem.rho}
        same = all(mine[name] == value for name, value in self.settings.items())
        if not same or problem.delta != self.deltas.get(problem.dataset, problem.delta):
            return None
        return self.values.get((problem.dataset, algorithm, quantity))


def load(path: str | Path | None = None) -> Published:
    """Read a file of printed numbers.

    Parameters
    ----------
    path : path, optional
        ``configs/published.toml`` by default.

    Raises
    ------
    UsageError
        When the file cannot be read, has a key that means nothing, or a cell that is neither a number nor "".
    """
    path = Path(path) if path is not None else folder("configs") / "published.toml"
    content = _read(schema.load(path), ("settings", "delta", *PRINTED), schema.table, str(path))
    settings = _filled(_read(content.get("settings", {}), ("eps", "rho"), _cell, f"{path}: settings"))
    deltas = _filled(_read(content.get("delta", {}), content.get("delta", {}), _cell, f"{path}: delta"))
    values: dict[tuple[str, str, str], float] = {}
    for table, printed in PRINTED.items():
        datasets = content.get(table, {})
        for dataset, solvers in _read(datasets, datasets, schema.table, f"{path}: {table}").items():
            where = f"{path}: {table}.{dataset}"
            for algorithm, numbers in _read(solvers, printed, schema.table, where).items():
                found = _filled(_read(numbers, printed[algorithm], _cell, f"{where}.{algorithm}"))
                values.update({(dataset, algorithm, quantity): value for quantity, value in found.items()})
    return Published(str(path), settings, deltas, values)


def _read(table: Mapping, keys: Iterable[str], reader: schema.Reader, where: str) -> dict:
    return schema.convert(table, dict.fromkeys(keys, reader), where)


def _cell(value: object) -> float | None:
    """A number, or "" for a cell that nobody has filled in."""
    if value == "":
        return None
    try:
        return schema.number(above=0)(value)
    except ValueError:
        raise ValueError('a positive number, or "" for none') from None


def _filled(cells: Mapping[str, float | None]) -> dict[str, float]:
    return {key: value for key, value in cells.items() if value is not None}
