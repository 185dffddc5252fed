"""Fixtures for all rooms."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import platformdirs
import pytest

# Compiled kernels are shared by all tests and their processes, also by those with a data cache of their own.
os.environ.setdefault("NUMBA_CACHE_DIR", str(platformdirs.user_cache_path("pdmbench") / "kernels"))

# A shell lets what it starts in the background ignore Ctrl-C, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data kept beside the checkout on the developers' machines and in CI."""
    if not SHARED.is_dir():
        pytest.skip("the reference data are not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def optima(shared) -> dict:
    """Certified optima: ``"<path> delta=<Δ>" -> {m, n, R, gamma_lower, gamma_upper, …}``."""
    return json.loads((shared / "reference" / "gamma.json").read_text())


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty data cache, away from the user's; compiled kernels stay where they are."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PDMBENCH_CACHE", str(folder))
    monkeypatch.delenv("PDMBENCH_MIRROR", raising=False)
    monkeypatch.delenv("PDMBENCH_DATASETS", raising=False)
    return folder
