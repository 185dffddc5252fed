"""How much memory a process uses, in MiB."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_UNIT = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss: bytes there, KiB elsewhere


def peak_rss() -> float:
    """Highest resident memory of this process so far, mapped files counted."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNIT


def available() -> float:
    """What new allocations can have before the machine swaps."""
    import psutil

    return psutil.virtual_memory().available / 2**20


def own(pid: int) -> float | None:
    """Memory that a process and its children now hold for themselves; mapped files are not counted.

    None where the system does not tell, or when the process is gone.
    """
    if sys.platform != "linux":
        return _own_elsewhere(pid)
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children")
        below = children.read_text().split() if children.exists() else []
    except OSError:
        return None
    anonymous = status.partition("RssAnon:")[2].split(maxsplit=1)
    total = int(anonymous[0]) / 1024 if anonymous else 0.0  # a zombie has none
    return total + sum(own(int(child)) or 0.0 for child in below)


def _own_elsewhere(pid: int) -> float | None:
    import psutil

    try:
        return psutil.Process(pid).memory_info().rss / 2**20
    except psutil.Error:
        return None
