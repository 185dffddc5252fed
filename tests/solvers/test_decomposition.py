"""Decomposition SVMs: LIBSVM, and the protocol of SVM-light's svm_learn spoken by a stand-in."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from random_problems import LAYOUTS, inseparable, sample

from pdmbench import solvers
from pdmbench.data import load
from pdmbench.errors import PdmbenchError, SolverUnavailable
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import BudgetExhausted, Monitor, Settings, Solution, Status

# Two patterns of opposite classes: the SVM's w is (x₁ − x₂) · 2/‖x₁ − x₂‖², both I_k are 2/‖x₁ − x₂‖², and
# the geometric margin is half their distance in the extended space.
X, LABELS, DELTA = np.array([[3.0, 0.5], [1.0, 0.0]]), np.array([1.0, -1.0]), 0.5
DISTANCE2 = 4.0 + 0.25 + 2 * DELTA**2

# What svm_learn does, for two patterns: reads ±1 index:value …, writes a model of version 6.02.
STAND_IN = """#!{python} -SE
import json, sys
examples, model = sys.argv[-2:]
lines = open(examples).read().splitlines()
json.dump({{"arguments": sys.argv[1:-2], "lines": lines}}, open({heard!r}, "w"))
x = [dict((int(i), float(v)) for i, v in (f.split(":") for f in line.split()[1:])) for line in lines]
l = [float(line.split()[0]) for line in lines]
apart = [x[0].get(j, 0.0) - x[1].get(j, 0.0) for j in range(1, max(x[0] | x[1]) + 1)]
alpha = 2.0 / sum(d * d for d in apart)
w = [l[0] * alpha * d for d in apart]
b = sum(w[j - 1] * v for row in x for j, v in row.items()) / 2
out = open(model, "w")
out.write(f\"\"\"SVM-light Version V6.02
0 # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
{{max(x[0] | x[1])}} # highest feature index
2 # number of training documents
3 # number of support vectors plus 1
{{b!r}} # threshold b, each following line is a SV (starting with alpha*y)
\"\"\")
for label, line in zip(l, lines):
    out.write(f"{{label * alpha!r}} {{line.split(' ', 1)[1]}} #\\n")
out.close()
print("Optimization finished.\\nRuntime in cpu-seconds: 0.00")
"""


def two_patterns(delta: float = DELTA, rho: float = 1.0) -> MarginProblem:
    return sample(X, LABELS, delta, rho=rho).problem


def train(name: str, problem: MarginProblem, monitor: Monitor | None = None, eps: float = 0.01) -> Solution:
    return solvers.get(name).solve(problem, Settings(eps=eps), monitor or Monitor())


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A path with nothing on it but this folder, and temporary files that can be seen."""
    for name, variable in (("bin", "PATH"), ("tmp", "TMPDIR")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def install(folder: Path, script: str) -> None:
    program = folder / "bin" / "svm_learn"
    program.write_text(script)
    program.chmod(0o755)


def python(body: str) -> str:
    return f"#!{sys.executable} -SE\nimport os, sys\n{body}\n"


class TestLIBSVM:
    @pytest.mark.parametrize("rho", [1.0, 3.0])
    def test_geometric_margin_of_two_patterns_is_half_their_distance(self, rho):
        problem = two_patterns(rho=rho)
        solution = train("svm", problem, eps=1e-6)
        certificate = problem.certify(solution.weights, solution.dual)
        assert certificate.geometric_margin == pytest.approx(math.sqrt(DISTANCE2) / 2, rel=1e-5)
        np.testing.assert_allclose(solution.dual, 2.0 / DISTANCE2, rtol=1e-5)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_its_bound_meets_its_geometric_margin(self, layout):
        # Σ I_k l_k = 0 takes the bias out of ‖Σ I_k y_k‖/Σ I_k, which then bounds the geometric margin.
        problem = inseparable(1, layout, 0.5).problem
        solution = train("svm", problem, eps=1e-6)
        certificate = problem.certify(solution.weights, solution.dual)
        assert np.all(solution.dual >= 0.0)
        assert certificate.geometric_margin <= certificate.bound * (1 + 1e-9)
        assert certificate.geometric_margin == pytest.approx(certificate.bound, rel=1e-4)

    def test_hard_margin_without_extension(self):
        problem = two_patterns(delta=0.0)
        solution = train("svm", problem, eps=1e-6)
        geometric = problem.certify(solution.weights, solution.dual).geometric_margin
        assert geometric == pytest.approx(math.sqrt(4.25) / 2, rel=1e-5)

    def test_certified_optima(self, optima, shared, cache):
        """The geometric margin is at least γ_d, within the tolerance; no directional margin is beyond γ_d."""
        for name in ("a1a delta=1", "heart_scale delta=0.3", "rcv1_small_train.dat delta=0.3"):
            known = optima[f"datasets/{name}"]
            path, delta = name.split(" delta=")
            data = load(str(shared / "datasets" / path))
            problem = MarginProblem(data.patterns, data.labels, float(delta))
            solution = train("svm", problem)
            certificate = problem.certify(solution.weights, solution.dual)
            assert certificate.margin <= known["gamma_upper"] * (1 + 1e-9)
            assert certificate.geometric_margin >= 0.99 * known["gamma_lower"]
            assert certificate.bound >= known["gamma_lower"]


class TestSVMLight:
    def test_protocol(self, folder):
        heard = folder / "heard.json"
        install(folder, STAND_IN.format(python=sys.executable, heard=str(heard)))
        problem = two_patterns()
        solution = train("svm-light", problem)
        said = json.loads(heard.read_text())
        assert said["arguments"] == ["-c", "1e+10", "-e", "0.01"]
        # The extension is one more feature per row, at index n + k; no bias column.
        assert said["lines"] == ["1 1:3 2:0.5 3:0.5", "-1 1:1 4:0.5"]
        certificate = problem.certify(solution.weights, solution.dual)
        assert solution.status is Status.CONVERGED
        assert certificate.geometric_margin == pytest.approx(math.sqrt(DISTANCE2) / 2, rel=1e-12)
        assert certificate.bound == pytest.approx(math.sqrt(DISTANCE2) / 2, rel=1e-12)
        assert solution.train_seconds > 0.0
        assert solution.note is None
        assert not list((folder / "tmp").iterdir())

    @pytest.mark.parametrize("rho", [0.5, 2.0])
    def test_agrees_with_libsvm(self, folder, rho):
        install(folder, STAND_IN.format(python=sys.executable, heard=str(folder / "heard.json")))
        problem = two_patterns(rho=rho)
        light, libsvm = train("svm-light", problem), train("svm", problem, eps=1e-8)
        np.testing.assert_allclose(light.weights, libsvm.weights, rtol=1e-6)
        np.testing.assert_allclose(light.dual, libsvm.dual, rtol=1e-6)

    def test_without_extension_the_weights_are_the_models(self, folder):
        install(folder, STAND_IN.format(python=sys.executable, heard=str(folder / "heard.json")))
        problem = two_patterns(delta=0.0)
        solution = train("svm-light", problem)
        geometric = problem.certify(solution.weights, solution.dual).geometric_margin
        assert geometric == pytest.approx(math.sqrt(4.25) / 2, rel=1e-12)

    def test_a_warning_becomes_the_note(self, folder):
        script = STAND_IN.format(python=sys.executable, heard=str(folder / "heard.json"))
        install(folder, script + 'print("WARNING: Relaxing KT-Conditions due to slow progress!")\n')
        note = train("svm-light", two_patterns()).note
        assert note == "svm_learn: WARNING: Relaxing KT-Conditions due to slow progress!"

    def test_missing_program(self, folder):
        with pytest.raises(SolverUnavailable, match="svm_learn is not on the path"):
            train("svm-light", two_patterns())

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ("print('no memory'); sys.exit(3)", "svm_learn ended with exit status 3, saying: no memory"),
            ("print('odd input')", "svm_learn wrote no model, saying: odd input"),
            ("os.abort()", "svm_learn ended with exit status -6"),
        ],
    )
    def test_failures_are_one_line(self, folder, body, message):
        install(folder, python(body))
        with pytest.raises(PdmbenchError) as caught:
            train("svm-light", two_patterns())
        assert not isinstance(caught.value, SolverUnavailable)
        assert str(caught.value) == f"svm-light: {message}"
        assert not list((folder / "tmp").iterdir())

    @pytest.mark.parametrize(
        ("old", "new", "line"),
        [
            ("SVM-light Version V6.02", "<html>", 1),
            ("0 # kernel type", "2 # kernel type", 2),
            ("{{b!r}} # threshold", "nan # threshold", 2),
            ("3 # number of support", "4 # number of support", 10),
            ("3 # number of support", "few # number of support", 10),
            ("2 # number of training documents\n", "", 10),
            ("{{label * alpha!r}}", "{{-label * alpha!r}}", 12),  # a negative I_k
            ("{{label * alpha!r}}", "much", 12),
            ("{{label * alpha!r}}", "nan", 12),
            ("{{line.split(' ', 1)[1]}}", "1:3", 12),  # which pattern?
            ("{{line.split(' ', 1)[1]}}", "1:3 99:0.5", 12),
            ("{{line.split(' ', 1)[1]}}", "1:3 0:0.5", 12),
            ("{{line.split(' ', 1)[1]}}", "1-3", 12),
            ("{{line.split(' ', 1)[1]}}", "", 12),
        ],
    )
    def test_garbage_models_are_refused(self, folder, old, new, line):
        assert old in STAND_IN
        script = STAND_IN.replace(old, new)
        install(folder, script.format(python=sys.executable, heard=str(folder / "heard.json")))
        with pytest.raises(PdmbenchError, match=f"a model that cannot be read: line {line}: "):
            train("svm-light", two_patterns())

    def test_a_limit_ends_the_program(self, folder):
        started = folder / "started"
        endless = f"open({str(started) + '.new'!r}, 'w').write(str(os.getpid()))\n"
        endless += f"os.rename({str(started) + '.new'!r}, {str(started)!r})\nwhile True: pass"
        install(folder, python(endless))

        class UntilStarted(Monitor):
            def check(self) -> None:
                if started.exists():
                    raise BudgetExhausted(Status.TIME_LIMIT)

        with pytest.raises(BudgetExhausted):
            train("svm-light", two_patterns(), UntilStarted())
        with pytest.raises(ProcessLookupError):
            os.kill(int(started.read_text()), 0)
        assert not list((folder / "tmp").iterdir())
