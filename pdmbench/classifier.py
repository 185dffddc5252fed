"""What all scikit-learn classifiers of the package share; see :mod:`pdmbench.estimators`."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
    unique_labels,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from pdmbench.kernels import margins
from pdmbench.patterns import Patterns
from pdmbench.problem import MarginProblem, default_delta
from pdmbench.solvers.base import Monitor, Settings, Solution, Solver, Start, Status

POSITIVE = Interval(Real, 0, None, closed="neither")


@dataclass(frozen=True)
class _Machine:
    """One class against the rest.

    Attributes
    ----------
    weights : ndarray of shape (n_features + 1,)
        ā, the bias component last, as the solver scales it.
    dual : ndarray of shape (n_samples,)
        I_k of the patterns of the last call.
    extension : float
        Norm of the part of a in the extra dimensions, of all patterns seen.
    total : float
        Σ I_k over all patterns seen.
    """

    weights: np.ndarray
    dual: np.ndarray
    extension: float
    total: float
    margin: float
    bound: float
    accuracy: float
    updates: int
    epochs: int

    @property
    def squared(self) -> float:
        """‖a‖²."""
        return float(self.weights @ self.weights) + self.extension**2

    @property
    def scale(self) -> float:
        """Σ I_k/‖a‖² makes the smallest product 1 at the optimum; 0 where nothing was learned."""
        return self.total / self.squared if self.squared > 0.0 else 0.0


class MarginClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A solver behind scikit-learn's interface."""

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "delta": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "rho": [POSITIVE],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, delta="auto", rho=1.0, tol=0.01, max_iter=1000, warm_start=False, random_state=None
    ):
        self.delta, self.rho, self.tol, self.max_iter = delta, rho, tol, max_iter
        self.warm_start, self.random_state = warm_start, random_state

    @abstractmethod
    def _solver(self) -> Solver:
        """The solver of one binary problem."""

    def _settings(self, problem: MarginProblem, seed: int) -> Settings:
        return Settings(eps=self.tol, seed=seed)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Train.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        classes = unique_labels(y)
        if len(classes) < 2:
            raise ValueError(f"{type(self).__name__} needs 2 classes or more; y holds 1 class")
        before = self._machines if self.warm_start and hasattr(self, "_machines") else None
        if before is not None and not (
            np.array_equal(classes, self.classes_) and len(before[0].dual) == len(y)
        ):
            raise ValueError(
                f"warm_start goes on from {len(before[0].dual)} patterns of the classes {self.classes_}; "
                f"these are {len(y)} of {classes}: set warm_start=False"
            )
        self.classes_ = classes
        patterns, seed = _patterns(X), self._seed()
        self.delta_ = self._delta(patterns, y)
        machines = []
        for row, labels in enumerate(self._labels(y)):
            problem = MarginProblem(patterns, labels, self.delta_, self.rho)
            settings = self._settings(problem, seed)
            if before is not None:
                settings = replace(settings, start=_start(problem, before[row].dual))
            solution = self._solver().solve(problem, settings, Monitor(max_epochs=self.max_iter))
            self._warn(solution)
            machines.append(self._machine(problem, solution))
        return self._publish(machines, y)

    @staticmethod
    def _machine(problem: MarginProblem, solution: Solution) -> _Machine:
        certificate = solution.certify(problem)
        return _Machine(
            solution.weights, solution.dual, _norm(problem.delta * solution.dual), float(solution.dual.sum()),
            certificate.margin, certificate.bound, certificate.accuracy,
            solution.updates, solution.full_epochs,
        )  # fmt: skip

    def decision_function(self, X):
        """w·x + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            Positive for ``classes_[1]``, where there are two.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if len(self.intercept_) == 1 else scores

    def predict(self, X):
        """The class of each pattern.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _delta(self, patterns: Patterns, y: np.ndarray) -> float:
        if self.delta != "auto":
            return float(self.delta)
        return default_delta(MarginProblem(patterns, np.ones(len(y), np.int8), 0.0, self.rho).R)

    def _labels(self, y: np.ndarray) -> list[np.ndarray]:
        """±1 for each machine."""
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [np.where(y == one, 1, -1).astype(np.int8) for one in positive]

    def _warn(self, solution: Solution) -> None:
        if solution.status is not Status.CONVERGED:
            reason = solution.note or f"max_iter={self.max_iter} epochs were not enough for tol={self.tol}"
            warnings.warn(f"{type(self).__name__}: {reason}", ConvergenceWarning, stacklevel=4)

    def _publish(self, machines: list[_Machine], y: np.ndarray) -> MarginClassifier:
        self._machines = machines
        weights = np.array([machine.scale * machine.weights for machine in machines])
        self.coef_, self.intercept_ = weights[:, :-1].copy(), self.rho * weights[:, -1]
        signed = zip(machines, self._labels(y), strict=True)
        self.dual_coef_ = np.array([machine.scale * machine.dual * labels for machine, labels in signed])
        for attribute, name in _MEASURED.items():
            values = [getattr(machine, name) for machine in machines]
            setattr(self, attribute, values[0] if len(values) == 1 else np.array(values))
        return self


_MEASURED = {
    "margin_": "margin",
    "margin_bound_": "bound",
    "certified_accuracy_": "accuracy",
    "n_updates_": "updates",
    "n_iter_": "epochs",
}


def _is_online(estimator: OnlineClassifier) -> bool:
    return estimator._online()


class OnlineClassifier(MarginClassifier):
    """A solver that can go on with new patterns without the old ones."""

    def _online(self) -> bool:
        return True

    @available_if(_is_online)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Present patterns once, going on from the last call of ``partial_fit`` or ``fit``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All classes there will be; needed in the first call.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_machines")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=first)
        check_classification_targets(y)
        _check_partial_fit_first_call(self, classes)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs 2 classes or more; classes holds 1 class")
        strangers = np.setdiff1d(y, self.classes_)
        if len(strangers):
            raise ValueError(f"y holds {strangers}, classes does not")
        # What a has in the extra dimensions of former patterns is orthogonal to all of the new ones: the
        # weight of one feature that no pattern has.
        patterns, seed = _patterns(X, spare=1), self._seed()
        if first:
            self.delta_ = self._delta(patterns, y)
        machines = []
        for row, labels in enumerate(self._labels(y)):
            problem = MarginProblem(patterns, labels, self.delta_, self.rho)
            settings = self._settings(problem, seed)
            before = None if first else self._machines[row]
            if before is not None and before.total > 0.0:
                weights = np.insert(before.weights, -1, before.extension)
                settings = replace(settings, start=Start(weights, np.zeros(len(y)), before.total))
            solution = self._solver().solve(problem, settings, Monitor(max_epochs=1))
            if solution.status is Status.FAILED:
                self._warn(solution)
            machines.append(self._presented(problem, solution, before))
        return self._publish(machines, y)

    def _presented(self, problem: MarginProblem, solution: Solution, before: _Machine | None) -> _Machine:
        here = _norm(problem.delta * solution.dual)
        squared = _norm(solution.weights) ** 2 + here**2
        total = self._total(solution, squared, before.total if before else 0.0)
        return _Machine(
            np.delete(solution.weights, -2), solution.dual, math.hypot(solution.weights[-2], here), total,
            problem.certify(solution.weights, solution.dual).margin,
            math.sqrt(squared) / total if total > 0.0 else math.inf, math.nan,
            solution.updates + (before.updates if before else 0),
            solution.full_epochs + (before.epochs if before else 0),
        )  # fmt: skip

    def _total(self, solution: Solution, squared: float, before: float) -> float:
        """Σ I_k over all patterns seen: these solvers only ever add patterns."""
        return before + float(solution.dual.sum())


def _patterns(X: Any, spare: int = 0) -> Patterns:
    """X as the kernels take it, with ``spare`` more features that no pattern has."""
    matrix = scipy.sparse.csr_array(X, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    m, n = matrix.shape
    return Patterns.from_csr(
        scipy.sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(m, n + spare))
    )


def _start(problem: MarginProblem, dual: np.ndarray) -> Start | None:
    """Σ I_k y_k, None where all I_k are 0."""
    if not dual.any():
        return None
    weights = problem.zero_weights()
    margins.combine(problem.y, dual, weights)
    return Start(problem.augmented(weights), dual, float(dual.sum()))


def _norm(vector: np.ndarray) -> float:
    return float(np.linalg.norm(vector))
