"""The solvers as scikit-learn classifiers.

Every classifier here is trained by the solver of the same name: same seed and parameters, same margin, to the
last bit. More than two classes are trained one against the rest.

Parameters of all of them
-------------------------
delta : float or "auto", default="auto"
    Δ ≥ 0 of the extended space; the result is the 2-norm soft margin with C = 1/(2Δ²). 0: hard margin, for
    separable data alone. "auto": a tenth of R = max_k ‖[x_k, ρ]‖, to one digit.
rho : float, default=1.0
    ρ > 0, the value of the bias feature: the larger, the less the bias is penalised.
tol : float, default=0.01
    Accuracy ε: the margin reached is at least 1 − ε of the maximum.
max_iter : int, default=1000
    Full epochs at most; a `ConvergenceWarning` tells when they were not enough.
warm_start : bool, default=False
    Let `fit` begin from the dual coefficients of the last `fit`, for as many patterns and the same classes.
random_state : int, RandomState instance or None, default=None
    Seeds the order of the patterns; an int is the solver's seed itself.

Attributes of all of them
-------------------------
classes_ : ndarray of shape (n_classes,)
coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
intercept_ : ndarray of shape (1,) or (n_classes,)
    Scaled such that 1 is the margin of w·x + b at the optimum, in the extended space.
dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
    l_k I_k, for ``coef_ = dual_coef_ @ X`` and ``intercept_ = ρ² Σ dual_coef_``.
delta_ : float
    The Δ that was used.
margin_ : float or ndarray of shape (n_classes,)
    Directional margin γ'_d in the extended space, exact.
margin_bound_ : float or ndarray of shape (n_classes,)
    What the maximum margin γ_d is proven not to exceed.
certified_accuracy_ : float or ndarray of shape (n_classes,)
    1 − γ'_d/bound: at most this share of γ_d is missing.
n_updates_, n_iter_ : int or ndarray of shape (n_classes,)
    Updates, and full epochs.

``partial_fit`` presents its patterns once, in random order, and forgets them. ``margin_`` and ``dual_coef_``
are then about the patterns of the last call, ``margin_bound_`` about all patterns ever presented, and as the
first says nothing of the second, ``certified_accuracy_`` is NaN.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from pdmbench.classifier import POSITIVE, MarginClassifier, OnlineClassifier
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import Monitor, Settings, Solution, Solver
from pdmbench.solvers.mpu import MPU
from pdmbench.solvers.pdm import PDM, SuccessivePDM
from pdmbench.solvers.perceptrons import MarginPerceptron
from pdmbench.solvers.pfm import PFM
from pdmbench.solvers.romma import ROMMA

__all__ = ["MPUClassifier", "PDMClassifier", "PFMClassifier", "PerceptronMarginClassifier", "ROMMAClassifier"]


class PDMClassifier(OnlineClassifier):
    """The perceptron with dynamic margin.

    Parameters
    ----------
    schedule : {"plain", "successive"}, default="plain"
        One run, or PDM-succ: runs of decreasing ε, far fewer updates. ``partial_fit`` is there for the first.
    eta : float, default=8.0
        η > 1, the factor between the accuracies of successive runs.
    delta, rho, tol, max_iter, warm_start, random_state
        And all attributes: see :mod:`pdmbench.estimators`.

    References
    ----------
    C. Panagiotakopoulos and P. Tsampouka, The Perceptron with Dynamic Margin, ALT 2011; arXiv 1105.6041.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        **OnlineClassifier._parameter_constraints,
        "schedule": [StrOptions({"plain", "successive"})],
        "eta": [Interval(Real, 1, None, closed="neither")],
    }

    def __init__(
        self, *, schedule="plain", eta=8.0, delta="auto", rho=1.0, tol=0.01, max_iter=1000,
        warm_start=False, random_state=None,
    ):  # fmt: skip
        super().__init__(
            delta=delta, rho=rho, tol=tol, max_iter=max_iter, warm_start=warm_start, random_state=random_state
        )
        self.schedule, self.eta = schedule, eta

    def _solver(self) -> Solver:
        return PDM() if self.schedule == "plain" else SuccessivePDM()

    def _settings(self, problem: MarginProblem, seed: int) -> Settings:
        return Settings(eps=self.tol, eta=self.eta, seed=seed)

    def _online(self) -> bool:
        return self.schedule == "plain"


class PFMClassifier(OnlineClassifier):
    """The perceptron with fixed margin.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        Target margin β < γ_d in the extended space. "auto": what PDM reaches with the same parameters, which
        is run first. ``partial_fit`` is there for a number.
    delta, rho, tol, max_iter, warm_start, random_state
        And all attributes: see :mod:`pdmbench.estimators`. ``tol`` is that of PDM.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        **OnlineClassifier._parameter_constraints,
        "beta": [POSITIVE, StrOptions({"auto"})],
    }

    def __init__(
        self, *, beta="auto", delta="auto", rho=1.0, tol=0.01, max_iter=1000, warm_start=False,
        random_state=None,
    ):  # fmt: skip
        super().__init__(
            delta=delta, rho=rho, tol=tol, max_iter=max_iter, warm_start=warm_start, random_state=random_state
        )
        self.beta = beta

    def _solver(self) -> Solver:
        return PFM()

    def _settings(self, problem: MarginProblem, seed: int) -> Settings:
        if self.beta != "auto":
            return Settings(beta=float(self.beta), seed=seed)
        settings = Settings(eps=self.tol, seed=seed)
        solution = PDM().solve(problem, settings, Monitor(max_epochs=self.max_iter))
        self._warn(solution)
        margin = solution.certify(problem).margin
        if margin <= 0.0:
            raise ValueError(
                f"PDM separated nothing in {self.max_iter} epochs, so there is no margin to aim at: "
                "raise delta or max_iter, or give beta"
            )
        return replace(settings, beta=margin)

    def _online(self) -> bool:
        return self.beta != "auto"


class ROMMAClassifier(OnlineClassifier):
    """Aggressive ROMMA, the relaxed online maximum margin algorithm.

    Parameters
    ----------
    delta, rho, tol, max_iter, warm_start, random_state
        And all attributes: see :mod:`pdmbench.estimators`.

    References
    ----------
    Y. Li and P. M. Long, The Relaxed Online Maximum Margin Algorithm, Machine Learning 46 (2002).
    """

    def _solver(self) -> Solver:
        return ROMMA()

    def _total(self, solution: Solution, squared: float, before: float) -> float:
        """Σ I_k = ‖w‖², at the start and after every update."""
        return squared


class MPUClassifier(MarginClassifier):
    """The margin perceptron with unlearning. It needs its patterns again, so there is no ``partial_fit``.

    Parameters
    ----------
    delta, rho, tol, max_iter, warm_start, random_state
        And all attributes: see :mod:`pdmbench.estimators`.

    References
    ----------
    C. Panagiotakopoulos and P. Tsampouka, The Margin Perceptron with Unlearning, ICML 2010.
    """

    def _solver(self) -> Solver:
        return MPU()


class PerceptronMarginClassifier(OnlineClassifier):
    """The perceptron with margin: fast, with half of the maximum margin for sure.

    Parameters
    ----------
    b : float, optional
        Update while a·y_k ≤ b. By default R²/(2 tol), with the R of the patterns at hand: the margin is then
        at least γ_d/(2(1 + tol)).
    delta, rho, tol, max_iter, warm_start, random_state
        And all attributes: see :mod:`pdmbench.estimators`.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        **OnlineClassifier._parameter_constraints,
        "b": [POSITIVE, None],
    }

    def __init__(
        self, *, b=None, delta="auto", rho=1.0, tol=0.01, max_iter=1000, warm_start=False, random_state=None
    ):
        super().__init__(
            delta=delta, rho=rho, tol=tol, max_iter=max_iter, warm_start=warm_start, random_state=random_state
        )
        self.b = b

    def _solver(self) -> Solver:
        return MarginPerceptron(self.b)
