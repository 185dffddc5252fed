"""Decomposition SVMs on the explicit extension: LIBSVM through scikit-learn, SVM-light through its program.

Both solve min ‖w‖²/2 subject to l_k (w·x_k + b) ≥ 1 in the space of [x_k, Δ at position k], with a bias b of
their own that the norm leaves out. In our terms their hyperplane is a = Σ I_k y_k with its bias component
replaced by b/ρ: then a·y_k = l_k f(x_k), and the geometric margin is min_k l_k f(x_k)/‖w‖, the quantity they
maximise. Their I_k obey Σ I_k l_k = 0, so ‖Σ I_k y_k‖/Σ I_k bounds the geometric margin too.
"""

from __future__ import annotations

import math
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdmbench.errors import PdmbenchError, SolverUnavailable
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import Monitor, Settings, Solution, Solver, Status
from pdmbench.solvers.explicit import extended_matrix

if TYPE_CHECKING:
    import scipy.sparse

HARD = 1e10  # C of a hard margin: a choice
CACHE_MB = 2000  # of kernel rows, filled as needed; on Adult a cache of 200 MB doubles LIBSVM's time
POLL_SECONDS = 0.05


class _Decomposition(Solver):
    def warm_up(self, problem: MarginProblem) -> None:
        problem.certify(np.ones(problem.n + 1))


class LIBSVM(_Decomposition):
    """LIBSVM's SMO; ``eps`` is its tolerance on the violation of the optimality conditions."""

    name = "svm"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        from sklearn.svm import SVC

        matrix = extended_matrix(problem)
        machine = SVC(kernel="linear", C=HARD, tol=settings.eps, cache_size=CACHE_MB)
        monitor.start()
        machine.fit(matrix, problem.labels)
        seconds = monitor.seconds()
        dual = np.zeros(problem.m)
        dual[machine.support_] = np.abs(machine.dual_coef_.toarray()[0])
        weights = _weights(problem, matrix, dual, float(machine.intercept_[0]))
        return Solution(Status.CONVERGED, weights, dual, 0, 0, 0, seconds)


class SVMLight(_Decomposition):
    """SVM-light through the user's own ``svm_learn``; its licence forbids to redistribute it.

    The training time is the CPU time of that program, the reading of its input included.
    """

    name = "svm-light"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        from sklearn.datasets import dump_svmlight_file

        program = shutil.which("svm_learn")
        if program is None:
            raise SolverUnavailable(
                "the program svm_learn is not on the path", self.name, "install SVM-light 6.02"
            )
        matrix = extended_matrix(problem)
        with tempfile.TemporaryDirectory(prefix="pdmbench-svm-light-") as name:
            examples, path, log = (Path(name, file) for file in ("examples", "model", "log"))
            dump_svmlight_file(matrix, problem.labels.astype(np.int64), str(examples), zero_based=False)
            monitor.start()
            command = [program, "-c", f"{HARD:g}", "-e", repr(settings.eps), str(examples), str(path)]
            code, seconds = _run(command, log, monitor)
            said = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
            if code != 0 or not path.is_file():
                last = f", saying: {said[-1].strip()}" if said else ""
                why = f"ended with exit status {code}" if code else "wrote no model"
                raise PdmbenchError(f"svm_learn {why}{last}", self.name)
            model = _read(path, problem)
        warning = next((line.strip() for line in said if "WARNING" in line), None)
        note = None if warning is None else f"svm_learn: {warning}"
        if model.dual is None:
            weights = np.append(model.weights, -model.threshold / problem.rho)
        else:
            weights = _weights(problem, matrix, model.dual, -model.threshold)
        return Solution(Status.CONVERGED, weights, model.dual, 0, 0, 0, seconds, note)


class Model(NamedTuple):
    """What a model file says.

    With Δ > 0 each support vector names its pattern by its extra dimension; without, only w can be had.
    """

    threshold: float  # f(x) = w·x − threshold
    dual: np.ndarray | None  # float64[m], I_k
    weights: np.ndarray  # float64[n], w


def _weights(
    problem: MarginProblem, matrix: scipy.sparse.csr_matrix, dual: np.ndarray, bias: float
) -> np.ndarray:
    """ā = Σ I_k ȳ_k with the bias b of f(x) = w·x + b in place of its bias component."""
    return np.append((matrix.T @ (dual * problem.labels))[: problem.n], bias / problem.rho)


def _run(command: list[str], log: Path, monitor: Monitor) -> tuple[int, float]:
    """Run a program within the monitor's limits; returns its exit status and its CPU seconds."""
    before = _children_seconds()
    with log.open("wb") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent
        )
        try:
            while True:
                monitor.check()
                try:
                    code = child.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            child.kill()
            child.wait()
    return code, _children_seconds() - before


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _read(path: Path, problem: MarginProblem) -> Model:
    """Read a model file.

    A version line; ten lines ``value # meaning``, the ninth the number of support vectors plus 1, the tenth
    the threshold; then a line ``I_k l_k index:value … #`` for each support vector.

    Raises
    ------
    PdmbenchError
        When it is not a linear model of this problem; the message names the line.
    """
    lines = path.read_text("utf-8", "replace").splitlines()
    if not lines or not lines[0].startswith("SVM-light Version"):
        raise _garbage(1, "no SVM-light version")
    try:
        kernel, *_, count, threshold = (line.partition("#")[0].strip() for line in lines[1:11])
        vectors, threshold = int(count) - 1, float(threshold)
    except ValueError:
        raise _garbage(10, "no header of ten lines") from None
    if kernel != "0" or not math.isfinite(threshold):
        raise _garbage(2, "not a linear model with a finite threshold")
    if vectors < 1 or len(lines) != 11 + vectors:
        raise _garbage(10, f"{vectors} support vectors announced, {len(lines) - 11} there")
    weights, dual = np.zeros(problem.n + problem.m), np.zeros(problem.m)
    for number, line in enumerate(lines[11:], start=12):
        try:
            coefficient, *features = line.partition("#")[0].split()
            signed = float(coefficient)
            pairs = [feature.split(":") for feature in features]
            columns = np.array([int(index) - 1 for index, _ in pairs])
            values = np.array([float(value) for _, value in pairs])
            weights[columns] += signed * values
        except (ValueError, IndexError):
            raise _garbage(number, "not a support vector of this problem") from None
        if problem.delta > 0.0:
            pattern = int(columns[-1]) - problem.n if len(columns) else -1
            if pattern < 0 or not signed * problem.labels[pattern] > 0.0:
                raise _garbage(number, "not a support vector of this problem")
            dual[pattern] += abs(signed)
    return Model(threshold, dual if problem.delta > 0.0 else None, weights[: problem.n])


def _garbage(line: int, what: str) -> PdmbenchError:
    return PdmbenchError(f"svm_learn wrote a model that cannot be read: line {line}: {what}", "svm-light")
