"""Solvers of one's own: a package really installed, a module named on the command line, broken ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from pdmbench import solvers
from pdmbench.errors import UsageError
from pdmbench.solvers.pdm import PDM

PLUG_INS = {
    "mine": "mine:Mine",
    "module-raises": "raises_when_imported:Mine",
    "module-exits": "exits_when_imported:Mine",
    "module-missing": "no_such_module:Mine",
    "class-missing": "mine:Yours",
    "no-solver": "mine:NoSolver",
    "wants-arguments": "mine:WantsArguments",
    "crashes": "mine:Crashes",
    "pdm": "mine:Crashes",  # built-in names are taken
}
REASONS = {
    "module-raises": "ZeroDivisionError: division by zero; mend raises_when_imported:Mine",
    "module-exits": "SystemExit: 3; mend exits_when_imported:Mine",
    "module-missing": "ModuleNotFoundError: No module named 'no_such_module'; mend no_such_module:Mine",
    "class-missing": "AttributeError: module 'mine' has no attribute 'Yours'; mend mine:Yours",
    "no-solver": "the solver plug-in is not a Solver; derive mine:NoSolver from",
    "wants-arguments": "TypeError: WantsArguments.__init__() missing 1 required positional argument",
}
MODULES = {
    "mine.py": """
        import numpy as np
        from pdmbench.solvers.base import KernelSolver, Solution, Solver, Status

        class Mine(Solver):
            '''The difference of the class means, as one sum of all patterns.'''

            name = "mine"

            def solve(self, problem, settings, monitor):
                monitor.start()
                count = np.where(problem.labels > 0, np.sum(problem.labels > 0), np.sum(problem.labels < 0))
                dual = 1.0 / count
                x = problem.patterns.to_csr()
                signed = dual * problem.labels
                weights = np.append(signed @ x, problem.rho * signed.sum())
                return Solution(
                    Status.CONVERGED, weights, dual, 0, 0, 1, monitor.seconds(), note="means, no more"
                )

        class NoSolver:
            pass

        class WantsArguments(Mine):
            def __init__(self, depth):
                pass

        class Crashes(KernelSolver):
            name = "crashes"

            def solve(self, problem, settings, monitor):
                return 1 / 0
        """,
    "raises_when_imported.py": "1 / 0",
    "exits_when_imported.py": "raise SystemExit(3)",
}


def wheel(folder: Path) -> Path:
    """A package of plug-ins, as any build tool would pack it."""
    entries = "\n".join(f"{name} = {reference}" for name, reference in PLUG_INS.items())
    info = "throw_away-1.0.dist-info"
    files = {
        **{name: textwrap.dedent(text) for name, text in MODULES.items()},
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: throw-away\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{solvers.ENTRY_POINTS}]\n{entries}\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    path = folder / "throw_away-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder into which pip installed the package."""
    folder = tmp_path_factory.mktemp("plug-ins")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if subprocess.run([*pip, "--version"], capture_output=True).returncode:
        pytest.skip("pip is not installed")
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(folder / "site")]
    subprocess.run([*pip, "install", *options, str(wheel(folder))], check=True)
    return folder / "site"


@pytest.fixture
def here(installed, monkeypatch) -> None:
    """The package on this process's import path."""
    monkeypatch.syspath_prepend(str(installed))


@pytest.fixture
def pdmbench(installed, tmp_path):
    """Runs the command line where the package is installed; results and cache are its own."""
    environment = {
        **os.environ, "PYTHONPATH": str(installed), "PDMBENCH_CACHE": str(tmp_path / "cache"),
        "PYTHONSAFEPATH": "1",
    }  # fmt: skip

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", "from pdmbench.cli import main; main()", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)

    return run


class TestNames:
    def test_plug_ins_stand_behind_the_built_in_ones(self, here):
        others = sorted(set(PLUG_INS) - {"pdm"})
        assert [name for name in solvers.names() if name in PLUG_INS] == ["pdm", *others]
        assert solvers.names()[: len(solvers.BUILT_IN)] == list(solvers.BUILT_IN)

    def test_naming_imports_no_plug_in(self, installed):
        code = "import sys; from pdmbench import solvers; print(solvers.names()); solvers.expand(['mine']); "
        code += "sys.exit(any(name in sys.modules for name in ('mine', 'raises_when_imported', 'numba')))"
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        process = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert process.returncode == 0, process.stderr
        assert "'module-raises'" in process.stdout

    def test_a_built_in_name_is_not_taken_over(self, here):
        assert type(solvers.get("pdm")) is PDM

    def test_a_mistyped_one_is_suggested(self, here):
        with pytest.raises(UsageError, match="did you mean wants-arguments"):
            solvers.expand(["want-arguments"])


class TestBroken:
    @pytest.mark.parametrize("name", REASONS)
    def test_one_line_names_it(self, name, here):
        with pytest.raises(UsageError) as caught:
            solvers.get(name)
        line = str(caught.value)
        assert line.startswith(f"{name}: the solver plug-in ")
        assert REASONS[name] in line
        assert "\n" not in line

    @pytest.mark.parametrize("reference", ["no_such_module:Mine", "mine:Yours", "mine:", ":Mine"])
    def test_on_the_command_line(self, reference, here):
        with pytest.raises(UsageError, match=f"^{reference}: the solver plug-in cannot be loaded"):
            solvers.get(reference)


class TestRun:
    def test_a_plug_in_beside_a_built_in_solver(self, pdmbench):
        """In the rows of a run, in its record, and in the tables."""
        process = pdmbench("run", "-d", "breast-cancer", "-a", "mine", "-a", "pdm", "--eps", "0.5")
        assert process.returncode == 0, process.stderr
        rows = process.stdout.splitlines()
        assert [row.split()[1] for row in rows[1:]] == ["mine", "pdm"]
        assert "means, no more" in rows[1]
        tables = pdmbench("table", "all").stdout
        assert "mine" in tables.split("Other solvers")[1]

    def test_broken_ones_do_not_take_the_rest_down(self, pdmbench):
        broken = [*REASONS, "crashes"]
        names = [*broken, "pdm"]
        process = pdmbench(
            "run", "-d", "breast-cancer", "--json", "--eps", "0.5", *(f"-a{name}" for name in names)
        )
        records = [json.loads(line) for line in process.stdout.splitlines()]
        assert process.returncode == 1
        assert "Traceback" not in process.stderr
        assert [record["algorithm"] for record in records] == names
        assert [record["status"] for record in records] == ["failed"] * len(broken) + ["converged"]
        for record in records[: len(REASONS)]:
            assert record["error"].startswith(f"{record['algorithm']}: the solver plug-in ")
        assert records[-2]["error"] == "ZeroDivisionError: division by zero"

    def test_a_module_in_the_working_directory(self, pdmbench, tmp_path):
        (tmp_path / "beside.py").write_text("from mine import Mine\n")
        process = pdmbench("run", "-d", "breast-cancer", "-a", "beside:Mine", "--json")
        assert process.returncode == 0, process.stderr
        (record,) = map(json.loads, process.stdout.splitlines())
        assert (record["algorithm"], record["status"]) == ("beside:Mine", "converged")
        assert "beside:Mine" in pdmbench("table", "all").stdout

    def test_a_module_named_as_a_solver(self, pdmbench, tmp_path):
        """--solver stands beside -a; alone, nothing else runs."""
        (tmp_path / "beside.py").write_text("from mine import Mine\n")
        alone = pdmbench("run", "-d", "breast-cancer", "--solver", "beside:Mine", "--json")
        assert alone.returncode == 0, alone.stderr
        assert [json.loads(line)["algorithm"] for line in alone.stdout.splitlines()] == ["beside:Mine"]
        both = pdmbench("run", "-d", "breast-cancer", "-a", "cd", "--solver", "beside:Mine", "--json")
        assert [json.loads(line)["algorithm"] for line in both.stdout.splitlines()] == ["cd", "beside:Mine"]

    @pytest.mark.parametrize("reference", ["mine", "mine:", ":Mine"])
    def test_solver_takes_a_module_and_a_class(self, pdmbench, reference):
        process = pdmbench("run", "-d", "breast-cancer", "--solver", reference)
        assert process.returncode == 2
        assert f"'--solver': '{reference}' is not of the form module:Class" in process.stderr
