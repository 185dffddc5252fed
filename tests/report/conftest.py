"""Hand-made records: round numbers, so that every expected value can be checked in the head."""

from __future__ import annotations

import pytest

from pdmbench.bench.record import Record
from pdmbench.solvers.base import Status

DIGESTS = {"adult": "a" * 64, "web": "b" * 64}


@pytest.fixture(scope="session")
def make():
    """``make(dataset, algorithm, **fields)``: converged, margin 0.0099, bound 0.01, 2·10⁶ updates, 1 s."""

    def record(dataset: str, algorithm: str, **fields) -> Record:
        values = {
            "m": 1000,
            "n": 10,
            "nnz": 5000,
            "R": 4.0,
            "eps": 0.01,
            "delta": 1.0,
            "rho": 1.0,
            "seed": 0,
            "status": Status.CONVERGED,
            "margin": 0.0099,
            "geometric_margin": 0.01,
            "bound": 0.01,
            "updates": 2_000_000,
            "row_products": 10_000_000,
            "full_epochs": 7,
            "train_seconds": 1.0,
            "wall_seconds": 1.5,
            "started": "2024-05-01T10:00:00+00:00",
            "environment": "e0",
            "version": "0.1.0",
            "digest": DIGESTS.get(dataset, "c" * 64),
        }
        values.update(fields)
        if values["margin"] is not None and values["bound"] is not None:
            values.setdefault("certified_accuracy", 1 - values["margin"] / values["bound"])
        return Record(dataset=dataset, algorithm=algorithm, **values)

    return record


@pytest.fixture(scope="session")
def unfinished(make):
    """``unfinished(dataset, algorithm, status, **fields) -> Record`` without a single measured number."""

    def record(dataset: str, algorithm: str, status: str, **fields) -> Record:
        nothing = dict.fromkeys(
            ("margin", "geometric_margin", "bound", "updates", "row_products", "full_epochs", "train_seconds")
        )
        return make(dataset, algorithm, status=Status(status), **{**nothing, **fields})

    return record
