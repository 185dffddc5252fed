"""The machine and the software of one run: what a time means."""

from __future__ import annotations

import os
import platform
import re
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import pdmbench

LIBRARIES = ("numpy", "numba", "llvmlite", "scipy", "scikit-learn", "liblinear-official")


def gather(jobs: int = 1) -> dict:
    """Describe this machine as it is now.

    Parameters
    ----------
    jobs : int
        Cells that are to run at once.

    Returns
    -------
    dict
        JSON values only. Memory in GiB; load is the mean number of busy processes over the last minute.
    """
    import psutil

    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": psutil.cpu_count(logical=False),
        "logical_cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "os": platform.platform(),
        "machine": platform.machine(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "pdmbench": pdmbench.__version__,
        "libraries": library_versions(),
        "liblinear_compiler": liblinear_compiler(),
        "jit": os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"),
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "jobs": jobs,
    }


def installation() -> dict:
    """Where things lie, and the state of the compiled kernels."""
    from pdmbench import kernels, paths

    compiled = len(list(kernels.CACHE_FOLDER.rglob("*.nbi")))
    return {
        "cache": str(paths.root()),
        "kernels": str(kernels.CACHE_FOLDER),
        "compiled_kernels": compiled,
        "mirror": os.environ.get("PDMBENCH_MIRROR"),
        "offline": os.environ.get("PDMBENCH_OFFLINE", "") not in ("", "0"),
    }


def busy(environment: dict) -> str | None:
    """A warning when the machine has no idle core for each of its jobs, else None."""
    load, cores, jobs = (environment.get(key) for key in ("load", "logical_cores", "jobs"))
    if load is None or cores is None or load + jobs <= cores + 0.5:
        return None
    return f"the machine is busy (load {load:g} on {cores} cores before this run): do not trust the times"


def library_versions() -> dict[str, str | None]:
    """Installed versions, None for what is not installed."""
    versions: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def cpu_model() -> str:
    """The processor's own name for itself."""
    if platform.system() == "Linux":
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("model name", "Model", "cpu model")):
                return line.partition(":")[2].strip()
    elif platform.system() == "Darwin":
        import subprocess

        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return platform.processor() or platform.machine()


def liblinear_compiler() -> str | None:
    """The compiler's signature inside liblinear's library, where it left one."""
    try:
        files = metadata.files("liblinear-official") or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.suffix in (".so", ".dylib", ".pyd", ".dll"):
            found = re.search(
                rb"(?:GCC: \([^)\0]*\)|clang version) [\w.\-]+", Path(file.locate()).read_bytes()
            )
            if found:
                return found.group().decode(errors="replace")
    return None


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
