"""Numba kernels: arrays in, arrays out. This room alone imports numba.

No fastmath anywhere: a sum is evaluated in the order written, so the same seed gives the same bits on
every x86-64 machine, and with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path

from pdmbench.paths import root


def _cache_folder() -> Path:
    """A writable folder of compiled kernels for exactly these sources.

    Numba looks only at the file a kernel stands in, not at those it calls into: hence the digest over all.
    """
    sources = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or root() / "kernels")
    if folder.name != digest:  # as a parent process has set it
        folder /= digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        fallback = Path(tempfile.mkdtemp(prefix="pdmbench-kernels-"))
        atexit.register(shutil.rmtree, fallback, ignore_errors=True)
        warnings.warn(
            f"{folder} cannot be written ({error.strerror}): kernels are compiled anew", stacklevel=2
        )
        return fallback


CACHE_FOLDER = _cache_folder()
os.environ["NUMBA_CACHE_DIR"] = str(CACHE_FOLDER)

import numba  # noqa: E402 - reads NUMBA_CACHE_DIR when imported

numba.config.CACHE_DIR = str(CACHE_FOLDER)  # also when somebody imported numba before us
OPTIONS = {"error_model": "numpy"}
INLINED = {**OPTIONS, "forceinline": True}  # by LLVM: inlining by numba takes several times as long

jit = numba.njit(cache=True, **OPTIONS)
inlined = numba.njit(**INLINED)
