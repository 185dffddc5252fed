"""The numbers printed in the paper, from a file that whoever has the printed paper fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from pdmbench.errors import UsageError
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
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib

    path = Path(path) if path is not None else folder("configs") / "published.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(path)) from None
    _known(content, ("settings", "delta", *PRINTED), str(path), "")
    settings = _numbers(content.get("settings", {}), f"{path}: settings")
    _known(settings, ("eps", "rho"), str(path), "settings.")
    deltas = _numbers(content.get("delta", {}), f"{path}: delta")
    values: dict[tuple[str, str, str], float] = {}
    for table, printed in PRINTED.items():
        for dataset, cells in _mapping(content.get(table, {}), f"{path}: {table}").items():
            key = f"{table}.{dataset}"
            _known(_mapping(cells, f"{path}: {key}"), printed, str(path), f"{key}.")
            for algorithm, numbers in cells.items():
                where = f"{key}.{algorithm}"
                found = _numbers(_mapping(numbers, f"{path}: {where}"), f"{path}: {where}")
                _known(numbers, printed[algorithm], str(path), f"{where}.")
                values.update({(dataset, algorithm, quantity): value for quantity, value in found.items()})
    return Published(str(path), settings, deltas, values)


def _known(content: Mapping, allowed: tuple[str, ...] | Mapping, path: str, prefix: str) -> None:
    for key in content:
        if key not in allowed:
            near = get_close_matches(key, list(allowed), 1)
            fix = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(allowed)}"
            raise UsageError(f"unknown key {prefix}{key}", where=path, fix=fix)


def _mapping(value: object, where: str) -> Mapping:
    if not isinstance(value, Mapping):
        raise UsageError("a table is expected here", where=where)
    return value


def _numbers(content: Mapping, where: str) -> dict[str, float]:
    """The filled cells: an empty string is one that nobody has filled in."""
    found = {}
    for key, value in _mapping(content, where).items():
        if value == "":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise UsageError(
                f"{key} = {value!r} is no positive number", where, 'write the number, or "" for none'
            )
        found[key] = float(value)
    return found
