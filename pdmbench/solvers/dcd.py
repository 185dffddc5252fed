"""Dual coordinate descent through liblinear (Hsieh et al., ICML 2008).

liblinear visits the patterns by the C library's ``rand``, which is seeded here before each run: the same
seed gives the same weights wherever that function is the same. It gives DCD 300 epochs and offers no way to
allow more: with the squared hinge loss its primal Newton solver then takes over, and only a printed message
tells. The message is caught, its moment ends the training time, and the note says what happened.
"""

from __future__ import annotations

import ctypes
import math
import re
import tempfile
from typing import Any

import numpy as np

from pdmbench.errors import SolverUnavailable
from pdmbench.paths import root
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import Monitor, Settings, Solution, Solver, Status
from pdmbench.solvers.explicit import blocks

HARD = 1e10  # C of a hard margin: a choice, the paper says ∞
SQUARED_HINGE, HINGE = 1, 3  # liblinear's -s
MAPPED_FROM = 2**28  # bytes of liblinear's nodes that go to a file
OUT_OF_EPOCHS = "reaching max number of iterations"
SWITCHED = "Switching to use -s 2"


class _DCD(Solver):
    """DCD on liblinear's own problem; ``eps`` is its tolerance on the projected gradient."""

    def warm_up(self, problem: MarginProblem) -> None:
        problem.certify(np.ones(problem.n + 1))

    def _train(
        self, problem: MarginProblem, settings: Settings, monitor: Monitor, loss: int, cost: float
    ) -> Solution:
        library = _library(self.name)
        extended = loss == HINGE and problem.delta > 0.0
        data = _problem(library, problem, extended)
        parameter = library.parameter(f"-s {loss} -c {cost!r} -e {settings.eps!r} -B {problem.rho!r}")
        listener = _Listener(monitor)
        callback = library.PRINT_STRING_FUN(listener)
        library.liblinear.set_print_string_function(callback)
        try:
            # The C library takes the seeds 0 and 1 for the same.
            ctypes.CDLL(None).srand(ctypes.c_uint(settings.seed + 1))
            monitor.start()
            model = library.liblinear.train(data, parameter)
            seconds = monitor.seconds()
        finally:
            library.liblinear.set_print_string_function(library.PRINT_STRING_FUN())
        found = _weights(library.toPyModel(model), data.n)
        weights, dual = np.append(found[: problem.n], found[-1]), None
        if extended:
            # The weight at l_k's extra dimension is Δ l_k I_k.
            dual = np.maximum(found[problem.n : -1] * problem.labels / problem.delta, 0.0)
        status, note = Status.CONVERGED, None
        if OUT_OF_EPOCHS in listener.text:
            margin = problem.certify(weights, dual).margin
            if margin < (1.0 - settings.eps) * listener.bound():
                status = Status.EPOCH_LIMIT
            note = f"liblinear ended DCD at its limit of {listener.epochs()} epochs, short of its tolerance"
        if listener.switched_after is not None:
            reason = note or "liblinear left DCD"
            note = f"{reason}; its primal solver went on and gave the margin; the time is DCD's alone"
            seconds = listener.switched_after
        return Solution(status, weights, dual, 0, 0, listener.epochs(), seconds, note)


class DCDL1(_DCD):
    """DCD-L1: the hinge loss with C = ∞ on the explicit extension, so its weights carry the I_k."""

    name = "dcd-l1"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        return self._train(problem, settings, monitor, HINGE, HARD)


class DCDL2(_DCD):
    """DCD-L2: the squared hinge loss with C = 1/(2Δ²) on the original data."""

    name = "dcd-l2"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        cost = 0.5 / problem.delta**2 if problem.delta > 0.0 else HARD
        return self._train(problem, settings, monitor, SQUARED_HINGE, cost)


class _Listener:
    """Hears what liblinear prints.

    Attributes
    ----------
    text : str
        All of it.
    switched_after : float, optional
        CPU seconds of training when liblinear left DCD for its primal solver.
    """

    def __init__(self, monitor: Monitor):
        self.text = ""
        self.switched_after: float | None = None
        self._monitor = monitor

    def __call__(self, message: bytes) -> None:
        text = message.decode("ascii", "replace")
        self.text += text
        if SWITCHED in text:
            self.switched_after = self._monitor.seconds()

    def epochs(self) -> int:
        """Epochs of DCD; with its shrinking a later one passes over fewer patterns."""
        return int(self._first(r"#iter = (\d+)"))

    def bound(self) -> float:
        """DCD's own upper bound on γ_d: 1/√(2D) for its dual objective D = Σ I_k − ‖a‖²/2."""
        dual_objective = -float(self._first(r"Objective value = (\S+)"))
        return 1.0 / math.sqrt(2.0 * dual_objective) if dual_objective > 0.0 else math.inf

    def _first(self, pattern: str) -> str:
        found = re.search(pattern, self.text)
        return found[1] if found else "0"


def _library(solver: str) -> Any:
    """liblinear's Python module."""
    try:
        from liblinear import liblinear
    except Exception as error:  # its module raises Exception itself when no library is found
        raise SolverUnavailable(
            f"liblinear cannot be loaded ({error})", solver, "install liblinear-official"
        ) from error
    return liblinear


def _problem(library: Any, problem: MarginProblem, extended: bool) -> Any:
    """liblinear's problem: one array of nodes (index from 1, value), a pointer to each row's first.

    Each row is its features, Δ in its own extra dimension where ``extended``, ρ, and the end mark −1.
    """
    room = 2 + extended
    width = problem.n + extended * problem.m + 1
    nodes = _scratch(problem.nnz + room * problem.m, np.dtype(library.feature_node))
    starts = np.zeros(problem.m + 1, dtype=np.int64)
    for block in blocks(problem.patterns, room):
        nodes["index"][block.places][block.features] = block.indices.astype(np.int32) + 1
        nodes["value"][block.places][block.features] = block.values
        starts[1:][block.rows] = block.ends
    ends = starts[1:]
    nodes[ends - 1] = (-1, 0.0)
    nodes[ends - 2] = (width, problem.rho)
    if extended:
        nodes["index"][ends - 3] = np.arange(problem.n + 1, width)
        nodes["value"][ends - 3] = problem.delta
    pointers = (nodes.ctypes.data + nodes.itemsize * starts[:-1]).astype(np.uintp)

    data = library.problem.__new__(library.problem)
    data.l, data.n, data.bias = problem.m, width, problem.rho
    data.y = problem.y.label.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    data.x = ctypes.cast(pointers.ctypes.data, ctypes.POINTER(ctypes.POINTER(library.feature_node)))
    data.kept_alive = nodes, pointers
    return data


def _scratch(length: int, dtype: np.dtype) -> np.ndarray:
    """Room for liblinear's nodes, 16 bytes an entry: for many of them in a file that goes when it is closed.

    The system can then give their memory away and read them again, as it does with the mapped data.
    """
    if length * dtype.itemsize < MAPPED_FROM:
        return np.empty(length, dtype)
    folder = root()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, dtype, "w+", shape=(length,))


def _weights(model: Any, size: int) -> np.ndarray:
    """A copy of the model's weights, for the class +1."""
    return np.ctypeslib.as_array(model.w, (size,)) * model.get_labels()[0]
