"""Compiled and interpreted kernels agree to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from random_problems import LAYOUTS, inseparable, optimum

from pdmbench import solvers
from pdmbench.solvers.base import Monitor, Settings

NAMES = ("pdm", "pdm-succ", "pfm", "romma", "naromma", "mpu", *solvers.GROUPS["perceptrons"])


def results() -> dict[str, list]:
    """All numbers of every solver on a small problem in each layout, floats as hexadecimal text."""
    found = {}
    for layout in LAYOUTS:
        drawn = inseparable(11, layout, 0.7, m=25, n=11, rho=1.3)
        problem = drawn.problem
        beta = 0.8 * optimum(drawn.extended)[0]
        for name in (*NAMES, "cd"):
            eps = 0.6 if name == "alma2" else 0.2  # it takes about 8/(εγ̂)² updates
            settings = Settings(eps=eps, beta=beta if name == "pfm" else None)
            solution = solvers.get(name).solve(problem, settings, Monitor(max_epochs=1000))
            certificate = solution.certify(problem)
            dual = solution.dual if solution.dual is not None else problem.polish(solution.weights)[1]
            polished = problem.certify(solution.weights)
            numbers = [
                certificate.margin, certificate.bound, certificate.geometric_margin, polished.margin,
                polished.bound, problem.R, *solution.weights, *dual,
            ]  # fmt: skip
            counts = [solution.updates, solution.row_products, solution.full_epochs]
            found[f"{name} {layout}"] = [
                solution.status.value,
                *counts,
                *(float(number).hex() for number in numbers),
            ]
    return found


@pytest.fixture(scope="module")
def compiled():
    return results()


@pytest.fixture(scope="module")
def interpreted():
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    process = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", __file__],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_without_the_jit_not_a_bit_differs(compiled, interpreted, name, layout):
    status, updates, *_ = ours = compiled[f"{name} {layout}"]
    assert status == "converged"
    assert updates > 20
    assert interpreted[f"{name} {layout}"] == ours


@pytest.mark.parametrize("layout", LAYOUTS)
def test_newtons_steps_do_not_differ_either(compiled, interpreted, layout):
    status, steps, *_ = ours = compiled[f"cd {layout}"]
    assert status == "converged"
    assert steps >= 1
    assert interpreted[f"cd {layout}"] == ours


if __name__ == "__main__":
    import numba

    assert numba.config.DISABLE_JIT
    print(json.dumps(results()))
