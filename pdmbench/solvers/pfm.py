"""The perceptron with fixed margin (paper, section 2)."""

from __future__ import annotations

import math
from functools import partial

from pdmbench.errors import UsageError
from pdmbench.kernels import pfm
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import BudgetExhausted, KernelSolver, Monitor, Settings, Solution, Status
from pdmbench.solvers.perceptron_like import PerceptronRun


class PFM(KernelSolver):
    """PFM: updates while a·y_k ≤ β ‖a‖, condition (7), for a target margin β < γ_d.

    Ends at once when β exceeds the best bound ‖a‖/t ≥ γ_d seen: it then cannot converge.
    """

    name = "pfm"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        beta = settings.beta
        if beta is None or not (math.isfinite(beta) and beta > 0.0):
            raise UsageError(f"PFM needs a target margin β > 0, not {beta}", "--beta")
        run = PerceptronRun(problem, settings, monitor)
        watching = True

        def sweep(y, order, rounds, scattered, cut, state, weights, dual, kept):
            result = pfm.sweep(y, order, rounds, scattered, beta, cut, state, weights, dual, kept)
            if watching and beta > run.bound:
                raise BudgetExhausted(Status.FAILED)
            return result

        shortest = math.sqrt(float(problem.q.min()))
        if beta >= shortest:
            return run.solution(Status.FAILED, _unreachable(beta, shortest))
        solution = run.until_converged(partial(run.converge, sweep))
        if solution.status is Status.FAILED:
            proven = solution.certify(problem).bound
            if beta > proven:
                return run.solution(Status.FAILED, _unreachable(beta, proven))
            watching = False  # a false alarm: the tracked ‖a‖² had lost its digits
            solution = run.until_converged(partial(run.converge, sweep))
        return solution


class PFMSuccessive(PFM):
    """PFM for the margin that PDM-succ reached: the right half of Table 1."""

    name = "pfm-succ"


def _unreachable(beta: float, bound: float) -> str:
    return f"β = {beta:.6g} is out of reach: γ_d ≤ {bound:.6g} is proven"
