"""When kernels are compiled, how long it takes, and how little of numba that needs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock
from numba.core import event

from pdmbench.kernels import CACHE_FOLDER


class Compilation(event.Listener):
    """Hears of every kernel that is compiled, not of those loaded from numba's cache, and says so.

    Parameters
    ----------
    report : callable
        Receives one line as soon as a kernel is compiled, another when asked for the seconds.

    Attributes
    ----------
    seconds : float
        Spent on compiling since :meth:`settle`.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report, self.seconds, self._depth, self._began = report, 0.0, 0, 0.0
        self._purpose = ""

    @contextmanager
    def watched(self, purpose: str) -> Iterator[None]:
        """Listen during the block; one process compiles at a time, numba's cache does not stand several.

        Parameters
        ----------
        purpose : str
            What the kernels are for, as the user is told.
        """
        self._purpose = purpose
        with FileLock(CACHE_FOLDER / "compiling.lock"), event.install_listener("numba:compile", self):
            yield

    def on_start(self, event: event.Event) -> None:
        """Called by numba when a compilation starts; they nest."""
        if self._depth == 0:
            self._began = time.perf_counter()
            if self.seconds == 0.0:
                self._report(f"compiling kernels for {self._purpose}, once on this machine ...")
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """Called by numba when a compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began

    def settle(self) -> float:
        """Seconds spent on compiling since the last call; says them."""
        seconds, self.seconds = self.seconds, 0.0
        if seconds > 0:
            self._report(f"compiled in {seconds:.1f} s")
        return seconds


def forgo_blas() -> None:
    """Keep numba from importing scipy.linalg for ``np.dot``, which no kernel uses: a fifth of a second.

    For programs of our own alone: code of others in the same process could then not compile ``np.dot``.
    """
    name = "scipy.linalg.cython_blas"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment] - makes the import fail
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[name]
