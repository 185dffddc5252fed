"""The measuring itself: statistics, order of runs, what is compared with what, what is written."""

from __future__ import annotations

import csv
import math
import os
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import anatomy, certified, kernels, publish, sources, yardstick
from benchmarks.__main__ import cli
from benchmarks.generate import Documents, write_libsvm
from benchmarks.harness import Report, alternate, pin, power_law, spread, train
from benchmarks.peers import LiblinearDual, installed
from pdmbench import data
from pdmbench.errors import PdmbenchError, UsageError
from pdmbench.patterns import Patterns
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import Settings


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 1.37])
def test_the_exponent_of_exact_power_law_data_is_recovered(exponent):
    x = [50_000, 100_000, 200_000, 400_000, 800_000]
    law = power_law(x, [3.0 * value**exponent for value in x])
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.factor == pytest.approx(3.0)
    assert law.error == pytest.approx(0.0, abs=1e-12)


def test_the_error_of_an_exponent_by_hand():
    """ln x = −1, 0, 1 and ln y = 0, 1, 0: slope 0, residuals −1/3, 2/3, −1/3, so √((6/9)/1/2) = 1/√3."""
    law = power_law(np.exp([-1.0, 0.0, 1.0]), np.exp([0.0, 1.0, 0.0]))
    assert law.exponent == pytest.approx(0.0, abs=1e-12)
    assert law.error == pytest.approx(1.0 / math.sqrt(3.0))


def test_two_points_give_an_exponent_without_an_error():
    law = power_law([1, 4], [10, 20])
    assert law.exponent == pytest.approx(0.5)
    assert math.isnan(law.error)
    assert str(law) == "0.50"


@pytest.mark.parametrize(("x", "y"), [([2, 2], [1, 3]), ([1, 2], [0, 1])])
def test_no_power_law_goes_through_one_place_or_zero(x, y):
    with pytest.raises(ValueError, match="power law"):
        power_law(x, y)


def test_a_spread_is_the_median_and_the_whole_range():
    assert spread([5.0, 1.0, 2.0, 2.5, 3.0]) == (2.5, 1.0, 5.0)
    assert str(spread([1.9, 2.0, 2.2])) == "2.00 (15 %)"


def test_contenders_take_turns():
    order = []
    contenders = {name: lambda k, name=name: order.append((name, k)) or k for name in "ab"}
    assert alternate(contenders, 3) == {"a": [0, 1, 2], "b": [0, 1, 2]}
    assert order == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_a_run_in_which_a_kernel_was_compiled_is_repeated(monkeypatch, capsys):
    from numba.core import event

    from pdmbench import solvers

    class Cold:
        runs = 0

        def solve(self, problem, settings, monitor):
            Cold.runs += 1
            if Cold.runs == 1:
                with event.trigger_event("numba:compile"):
                    pass
            return Cold.runs

    monkeypatch.setattr(solvers, "get", lambda name: Cold())
    assert train("cold", None, None) == 2
    assert "its warm-up misses a kernel" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process to a core")
def test_a_pinned_process_has_one_core():
    before = os.sched_getaffinity(0)
    try:
        core = pin(None)
        assert os.sched_getaffinity(0) == {core}
        assert core in before
    finally:
        os.sched_setaffinity(0, before)


def test_the_loosest_sufficient_tolerance_is_taken():
    tried = []

    def reaches(tolerance):
        tried.append(tolerance)
        return tolerance <= 0.02

    assert certified.find_tolerance(reaches) == pytest.approx(10**-1.75)
    assert tried == sorted(tried, reverse=True)
    assert certified.find_tolerance(lambda _: False) is None


def test_the_summary_is_a_geometric_mean_of_the_best():
    ratios = [{"cd": 0.5, "mpu": 4.0}, {"cd": 2.0, "mpu": 1.0}]
    assert certified.summary(ratios) == "best of ours 0.707, cd 1.00, mpu 2.00"


def test_a_solver_without_its_certificate_on_some_set_has_no_mean():
    assert certified.summary([{"cd": 1.0, "mpu": 2.0}, {"cd": 4.0}]) == "best of ours 2.00, cd 2.00"
    assert certified.summary([{"cd": 1.0}, {}]) == "none"


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "documents.svm"
    write_libsvm(path, Documents(100, 12.0).blocks(300))
    return path


@pytest.fixture
def problem(cache, documents) -> MarginProblem:
    return sources.parse(f"{documents}@0.5", documents.parent).problem()


def test_a_source_names_a_set_and_its_delta(cache, documents, problem):
    assert (problem.m, problem.n, problem.delta) == (300, 100, 0.5)
    source = sources.parse(str(documents), documents.parent)
    assert (source.name, source.delta) == ("documents", None)
    # ‖[x, 1]‖ = √2 for documents of unit length: Δ is about R/10, to one digit.
    assert source.problem().delta == 0.1
    with pytest.raises(UsageError, match="Δ is not a number"):
        sources.parse("adult@much", documents.parent)


@pytest.mark.parametrize("layout", ["constant", "sparse", "dense"])
def test_a_prefix_is_the_first_rows(layout):
    import scipy.sparse

    full = np.random.default_rng(1).integers(0, 3, (20, 6)).astype(float)
    full[:, 5] = 1.0
    if layout == "constant":
        full = (full > 0) * 2.0
    patterns = Patterns.from_csr(scipy.sparse.csr_array(full), layout)
    few = sources.prefix(patterns, 7)
    assert (few.m, few.n, few.nnz, few.layout) == (7, 6, np.count_nonzero(full[:7]), layout)
    assert np.array_equal(few.to_csr().toarray(), full[:7])


def test_bytes_of_a_row_product_by_hand():
    """Four float32 values with four 16-bit indices, 3 pointers of 8 bytes for 2 rows; label and I_k."""
    import scipy.sparse

    matrix = scipy.sparse.csr_array(
        np.array([[1.0, 2.0, 3.0, 4.0, *[0.0] * 8], [0.5, 2.0, 3.0, 4.0, *[0.0] * 8]])
    )
    patterns = Patterns.from_csr(matrix)
    assert patterns.layout == "sparse"
    assert sources.bytes_per_product(patterns) == 4 * (4 + 2) + 12 + 16


def test_all_peers_solve_the_same_problem(problem):
    """At a tight tolerance all margins agree, and with the bound of the tightest: it is the same optimum."""
    best = problem.certify(LiblinearDual(problem).train(1e-8)[1])
    assert best.accuracy < 1e-6
    for kind in installed():
        seconds, weights = kind(problem).train(1e-7)
        assert seconds >= 0.0
        assert problem.certify(weights).margin == pytest.approx(best.bound, rel=1e-4), kind.name


def test_an_export_has_exactly_the_same_numbers(problem, tmp_path):
    yardstick.export(problem, tmp_path / "copy.svm")
    found = data.load(tmp_path / "copy.svm")
    assert (found.patterns.to_csr() != problem.patterns.to_csr()).nnz == 0
    assert np.array_equal(found.labels, problem.labels)


def test_another_program_gets_file_delta_eps_algorithm_and_seed(problem, tmp_path):
    program = tmp_path / "other"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "rows = len(open(sys.argv[1]).readlines())\n"
        "assert sys.argv[2:] == ['0.5', '0.01', 'pfm:0.25', '4'], sys.argv\n"
        "print(f'pfm updates=7 visits={rows} seconds=0.5')\n"
    )
    program.chmod(0o755)
    other = yardstick.Yardstick(program, tmp_path)
    other.read(problem)
    assert other.run("pfm", 0.01, 0.25, 3) == {"updates": 7.0, "visits": 300.0, "seconds": 0.5}
    assert not other.knows("cd")
    with pytest.raises(UsageError, match="ended with status 1"):
        other.run("pfm", 0.02, 0.25, 3)


def test_a_report_keeps_table_runs_and_machine(tmp_path, capsys):
    Report(tmp_path, 0, 5).write(
        "t", "Title", ["a", "b"], [["x", "1"]], [{"k": 1}, {"k": 2, "l": 3}], ["remark"]
    )
    text = (tmp_path / "t.txt").read_text()
    assert "Title" in text
    assert "remark" in text
    assert "all on core 0" in text
    assert "numba" in text
    assert capsys.readouterr().out.startswith("Title")
    assert (tmp_path / "t.csv").read_text() == "a,b\nx,1\n"
    with open(tmp_path / "t-runs.csv") as file:
        assert list(csv.DictReader(file)) == [{"k": "1", "l": ""}, {"k": "2", "l": "3"}]


def test_tables_go_between_the_marks_of_the_readme(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{publish.BEGIN}\nold\n{publish.END}\nafter\n")
    with pytest.raises(UsageError, match="no tables"):
        publish.fill(readme, tmp_path)
    for name in ("b/kernels", "kernels", "anatomy", "scaling", "a/kernels", "other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text(f"{name}\n")
    for _ in range(2):
        publish.fill(readme, tmp_path)
        head, *tables, tail = readme.read_text().split("```")
        assert (head, tail) == (f"before\n{publish.BEGIN}\n\n", f"\n\n{publish.END}\nafter\n")
        published = [table.removeprefix("text").strip() for table in tables[::2]]
        assert published == ["kernels", "a/kernels", "b/kernels", "anatomy", "scaling"]


@pytest.mark.parametrize("command", ["kernels", "anatomy", "certified", "scaling"])
def test_a_command_measures_and_writes(command, cache, documents, tmp_path, monkeypatch):
    from benchmarks import scaling

    monkeypatch.setattr(scaling, "_FEATURES", ())
    monkeypatch.setattr(scaling, "_ENTRIES", (5, 10))
    monkeypatch.setattr(scaling, "_SMALL_ROWS", 200)
    monkeypatch.setattr(scaling, "_ACCURACIES", (0.5,))
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    call = [command, "-d", f"{documents}@0.5", "-a", "mpu", "-e", "0.2", "-r", "1", "-o", str(tmp_path)]
    more = ["-m", "150", "-m", "300"] if command == "scaling" else []
    try:
        done = CliRunner().invoke(cli, [*call, *more, "--folder", str(tmp_path)], catch_exceptions=False)
    finally:
        if before:
            os.sched_setaffinity(0, before)
    assert done.exit_code == 0
    with open(tmp_path / f"{command}-runs.csv") as file:
        ours = [run for run in csv.DictReader(file) if "mpu" in run.values()]
    # The curve over m has two points, that over entries a row two, that over 1/ε one.
    assert len(ours) == (2 + 2 + 1 if command == "scaling" else 1)
    assert all(float(run["seconds"]) >= 0.0 for run in ours)


@pytest.mark.parametrize("algorithm", ["pdm", "mpu", "romma"])
def test_the_parts_of_a_run_are_the_whole_run(problem, algorithm):
    clock = anatomy.Clock()
    solution = train(algorithm, problem, Settings(eps=0.1, seed=1), lambda: anatomy.watched(clock))
    exact_pass = problem.m if algorithm == "mpu" else 0  # its last one is no sweep
    assert clock.visits["full"] + clock.visits["active"] + exact_pass == solution.row_products
    assert clock.visits["full"] == solution.full_epochs * problem.m
    assert sum(clock.seconds.values()) > 0.0


@pytest.mark.parametrize("measuring", [kernels, anatomy, certified])
def test_what_is_measured_survives_an_interruption(measuring, cache, documents, tmp_path):
    good = sources.parse(f"{documents}@0.5", tmp_path)
    interrupted = sources.Source(str(tmp_path / "missing.svm"), "missing", 1.0)
    report = Report(tmp_path, None, 1)
    more = (None,) if measuring is kernels else ()
    with pytest.raises(PdmbenchError, match=r"missing\.svm"):
        measuring.measure([good, interrupted], ["mpu"], 0.2, 1, report, *more)
    name = measuring.__name__.rpartition(".")[2]
    assert "documents" in (tmp_path / f"{name}.txt").read_text()
