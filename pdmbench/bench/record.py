"""One measured cell of a benchmark, as one JSON object: the only thing that reports ever read."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields

from pdmbench.solvers.base import Status

FINISHED = (Status.CONVERGED, Status.TIME_LIMIT, Status.EPOCH_LIMIT)


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one run of one solver on one data set gave. Numbers that do not exist are None.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    positive : str, optional
        Label taken as +1 against the rest, where the user named one.
    m, n, nnz : int
        Patterns, features, stored non-zeros.
    R : float
        max_k ‖y_k‖ in the extended space.
    algorithm : str
    eps, delta, rho : float
        Accuracy ε, extension Δ, augmentation ρ.
    eta : float, optional
        Factor η between successive accuracies, for the solvers that use it.
    beta : float, optional
        Target margin β of PFM.
    beta_from : str, optional
        The algorithm whose margin β is; None when the user gave β.
    seed : int
    status : Status
    margin : float
        Directional margin γ'_d.
    geometric_margin : float
        γ', the bias not counted in the norm.
    bound : float
        ‖a‖ / Σ I_k ≥ γ_d.
    certified_accuracy : float
        1 − margin / bound.
    polished_margin : float
        γ'_d of the best extension of the same direction.
    updates, row_products, full_epochs : int
        Unit steps, products a·y_k evaluated, passes over all patterns.
    train_seconds : float
        CPU seconds of training alone.
    wall_seconds : float
        Wall-clock seconds of training and certifying, or until the cell's process was ended.
    compile_seconds, load_seconds : float
        Seconds spent on compiling kernels and on loading the data set, never part of training.
    peak_rss_mb, peak_anon_mb : float
        Highest resident memory of the cell's process, and of its anonymous (not file-backed) part, in MiB.
    time_limit : float, optional
        Seconds after which the cell was to be ended.
    max_epochs : int, optional
        Full epochs after which the cell was to be ended.
    jobs : int
        Cells that ran at once.
    started : str
        Start in UTC, ISO 8601.
    environment : str
        Id of the environment that is stored beside the records.
    version : str
        Version of pdmbench.
    digest : str
        SHA-256 of the data.
    note, error : str, optional
        One line for the reader of the table; one line of why it failed.
    """

    dataset: str
    positive: str | None = None
    m: int | None = None
    n: int | None = None
    nnz: int | None = None
    R: float | None = None
    algorithm: str
    eps: float
    delta: float | None = None
    rho: float
    eta: float | None = None
    beta: float | None = None
    beta_from: str | None = None
    seed: int
    status: Status
    margin: float | None = None
    geometric_margin: float | None = None
    bound: float | None = None
    certified_accuracy: float | None = None
    polished_margin: float | None = None
    updates: int | None = None
    row_products: int | None = None
    full_epochs: int | None = None
    train_seconds: float | None = None
    wall_seconds: float | None = None
    compile_seconds: float | None = None
    load_seconds: float | None = None
    peak_rss_mb: float | None = None
    peak_anon_mb: float | None = None
    time_limit: float | None = None
    max_epochs: int | None = None
    jobs: int = 1
    started: str | None = None
    environment: str | None = None
    version: str | None = None
    digest: str | None = None
    note: str | None = None
    error: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the solver ran to its end or to a limit it was given."""
        return self.status in FINISHED

    @property
    def identity(self) -> tuple:
        """What was asked for: equal for two runs of one cell, whatever they gave."""
        given_beta = None if self.beta_from else self.beta
        real = (self.eps, self.delta, self.rho, self.eta, given_beta)
        real = tuple(None if value is None else float(value) for value in real)
        return (self.dataset, self.positive, self.algorithm, *real, int(self.seed))

    def cell_key(self) -> str:
        """Short hash of the identity and the data: names the cell's trace."""
        return hashlib.sha256(json.dumps([*self.identity, self.digest]).encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """One line of JSON; reading it back gives an equal record."""
        values = {key: _exact(value) for key, value in asdict(self).items()}
        return json.dumps(values, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """Read what :meth:`to_json` wrote; keys of other versions are ignored.

        Raises
        ------
        ValueError
            When ``line`` is not a record.
        """
        try:
            values = json.loads(line)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(values, dict):
            raise ValueError("not a JSON object")
        known = {field.name: field.type for field in fields(cls)}
        values = {key: value for key, value in values.items() if key in known}
        for key, value in values.items():
            if not _is(value, known[key]):
                raise ValueError(f"{key} is {value!r}, no {known[key]}")
        try:
            record = cls(**values)
        except TypeError as missing:
            raise ValueError(str(missing)) from None
        if not 0 < record.eps < 1:
            raise ValueError(f"eps is {record.eps}, not between 0 and 1")
        object.__setattr__(record, "status", Status(record.status))
        return record


_JSON = {"str": str, "Status": str, "int": int, "float": (int, float)}


def _is(value: object, annotation: str) -> bool:
    """Whether a JSON value is what a field's annotation says: ``kind`` or ``kind | None``."""
    kind, _, none = annotation.partition(" | ")
    if value is None:
        return bool(none)
    return isinstance(value, _JSON[kind]) and not isinstance(value, bool)


def _exact(value: object) -> object:
    """A plain JSON value: the enum's word, null for what is no finite number."""
    if isinstance(value, Status):
        return value.value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
