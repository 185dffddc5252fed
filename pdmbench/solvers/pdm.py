"""The perceptron with dynamic margin, plain and by successive runs (paper, sections 3 and 4)."""

from __future__ import annotations

from functools import partial

from pdmbench.kernels import pdm
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import KernelSolver, Monitor, Settings, Solution
from pdmbench.solvers.perceptron_like import PerceptronRun
from pdmbench.theory import accuracies


def rule(eps: float, multiple: bool):
    """PDM's sweep for one accuracy, as :class:`PerceptronRun` calls it."""

    def sweep(y, order, rounds, scattered, cut, state, weights, dual, kept):
        return pdm.sweep(y, order, rounds, scattered, eps, multiple, cut, state, weights, dual, kept)

    return sweep


class PDM(KernelSolver):
    """PDM: updates while a·y_k ≤ (1−ε) ‖a‖²/t, condition (8). Converges to γ'_d ≥ (1−ε) γ_d.

    Single updates in the first full epoch, multiple ones after it.
    """

    name = "pdm"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        run = PerceptronRun(problem, settings, monitor)
        # c₁ = 1.1 in the first full epoch: the numeral is damaged in the paper's text, a choice.
        single, multiple = rule(settings.eps, multiple=False), rule(settings.eps, multiple=True)
        return run.until_converged(partial(run.converge, multiple, first=single, first_cut=1.1))


class SuccessivePDM(KernelSolver):
    """PDM-succ: runs of decreasing ε, each continuing from where the one before converged."""

    name = "pdm-succ"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        run = PerceptronRun(problem, settings, monitor)

        def train() -> None:
            for eps in accuracies(settings.eps, settings.eta):
                run.converge(rule(eps, multiple=True))

        return run.until_converged(train)
