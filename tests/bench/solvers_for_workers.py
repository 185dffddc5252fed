"""Solvers that workers import by ``module:Class``."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np

from pdmbench.solvers.base import Solution, Solver, Status


class KillsItsWorkerOnce(Solver):
    """Kills the process above the first time, converges the second."""

    name = "kills-its-worker-once"

    def solve(self, problem, settings, monitor):
        monitor.start()
        marker = Path(os.environ["KILLED"])
        if not marker.exists():
            marker.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return Solution(Status.CONVERGED, np.ones(problem.n + 1), np.ones(problem.m), 1, 1, 1, 0.0)


class NeverEnds(Solver):
    """Says where it runs, then waits."""

    name = "never-ends"

    def solve(self, problem, settings, monitor):
        path = Path(os.environ["RUNNING"])
        path.with_suffix(".part").write_text(str(os.getpid()))
        path.with_suffix(".part").rename(path)
        signal.pause()


class Crashes(Solver):
    """Fails as no solver should."""

    name = "crashes"

    def solve(self, problem, settings, monitor):
        return 1 / 0
