"""Other trainers of the same problem, min ½‖ā‖² + C Σ ξ_k² with C = 1/(2Δ²), each with its tolerance."""

from __future__ import annotations

import ctypes
import time
import warnings
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any

import numpy as np

from pdmbench.problem import MarginProblem

SEED = 1
_EPOCHS = 100_000  # no limit but the tolerance


class Peer(ABC):
    """A trainer on one problem; what it reads is built beforehand and takes no part in its time.

    Parameters
    ----------
    problem : MarginProblem
        With Δ > 0.
    """

    name: str

    def __init__(self, problem: MarginProblem):
        self.problem = problem
        self.cost = 0.5 / problem.delta**2

    @abstractmethod
    def train(self, tolerance: float) -> tuple[float, np.ndarray]:
        """Train to a tolerance.

        Returns
        -------
        seconds : float
            CPU seconds of training alone.
        weights : ndarray of shape (n + 1,)
            ā, the bias component last.
        """


class _Liblinear(Peer):
    solver: int

    def __init__(self, problem: MarginProblem):
        from liblinear import liblinear
        from scipy.sparse import csr_matrix

        super().__init__(problem)
        self._library = liblinear
        patterns = csr_matrix(problem.patterns.to_csr())
        self._data = liblinear.problem(problem.labels.astype(np.float64), patterns, bias=problem.rho)

    def train(self, tolerance: float) -> tuple[float, np.ndarray]:
        library = self._library
        options = f"-s {self.solver} -c {self.cost!r} -e {tolerance!r} -B {self.problem.rho!r} -q"
        parameter = library.parameter(options)
        library.liblinear.set_print_string_function(parameter.print_func)
        ctypes.CDLL(None).srand(ctypes.c_uint(SEED))  # liblinear draws its permutations from rand()
        began = time.process_time()
        trained = library.liblinear.train(self._data, parameter)
        seconds = time.process_time() - began
        model = library.toPyModel(trained)
        weights = np.ctypeslib.as_array(model.w, (self.problem.n + 1,)) * model.get_labels()[0]
        return seconds, weights


class LiblinearDual(_Liblinear):
    """liblinear's dual coordinate descent."""

    name, solver = "liblinear -s 1", 1


class LiblinearPrimal(_Liblinear):
    """liblinear's trust-region Newton method."""

    name, solver = "liblinear -s 2", 2


class _LinearSVC(Peer):
    dual: bool

    def __init__(self, problem: MarginProblem):
        from scipy.sparse import csr_matrix

        super().__init__(problem)
        self._patterns = csr_matrix(problem.patterns.to_csr())

    def _model(self, tolerance: float) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(
            C=self.cost, dual=self.dual, tol=tolerance, max_iter=_EPOCHS, random_state=SEED,
            intercept_scaling=self.problem.rho,
        )  # fmt: skip

    def train(self, tolerance: float) -> tuple[float, np.ndarray]:
        model = self._model(tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of epochs that ran out: the margin tells
            began = time.process_time()
            model.fit(self._patterns, self.problem.labels)
            seconds = time.process_time() - began
        bias = float(np.ravel(model.intercept_)[0]) / self.problem.rho
        return seconds, np.append(np.ravel(model.coef_), bias)


class LinearSVCDual(_LinearSVC):
    """scikit-learn's LinearSVC on the dual problem."""

    name, dual = "LinearSVC dual", True


class LinearSVCPrimal(_LinearSVC):
    """scikit-learn's LinearSVC on the primal problem."""

    name, dual = "LinearSVC primal", False


class Snap(_LinearSVC):
    """Snap ML's dual coordinate descent, on one thread."""

    name, dual = "snapml", True

    def _model(self, tolerance: float) -> Any:
        from snapml import SupportVectorMachine

        # Its objective is ½‖ā‖² · regularizer + Σ ξ_k²/2, which is ours divided by 2C.
        return SupportVectorMachine(
            loss="squared_hinge", regularizer=0.5 / self.cost, tol=tolerance, max_iter=_EPOCHS, n_jobs=1,
            fit_intercept=True, intercept_scaling=self.problem.rho, random_state=SEED,
        )  # fmt: skip


def installed() -> list[type[Peer]]:
    """The peers this environment has."""
    found: list[type[Peer]] = [LiblinearDual, LiblinearPrimal, LinearSVCDual, LinearSVCPrimal]
    return [*found, Snap] if find_spec("snapml") else found
