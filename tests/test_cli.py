"""The command line as others see it: real processes, their streams, exits and files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pdmbench.bench.record import Record
from pdmbench.bench.store import Store
from pdmbench.solvers.base import Status

MEASURED = (
    "train_seconds", "wall_seconds", "compile_seconds", "load_seconds", "peak_rss_mb", "peak_anon_mb",
    "started", "environment", "jobs",
)  # fmt: skip
BENCH = Path(__file__).parent / "bench"
ROOT = BENCH.parents[1]


def svm_lines(m: int, seed: int = 0) -> str:
    """Patterns of five features, the sign of the first their label, a few of them wrong."""
    draw = random.Random(seed)
    lines = []
    for _ in range(m):
        x = [draw.uniform(-1, 1) for _ in range(5)]
        label = 1 if (x[0] > 0) != (draw.random() < 0.05) else -1
        lines.append(f"{label} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(x, 1)))
    return "\n".join(lines) + "\n"


def results(records: list[Record]) -> set[Record]:
    """Records up to times and the machine."""
    return {replace(record, **dict.fromkeys(MEASURED)) for record in records}


class Shell:
    """A folder to work in and a way to call pdmbench there."""

    def __init__(self, folder: Path, cache: Path):
        self.folder = folder
        self.store = Store(folder / "results")
        path = os.pathsep.join([str(ROOT), str(BENCH)])
        self.environment = {**os.environ, "PDMBENCH_CACHE": str(cache), "PYTHONPATH": path}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Start a command, in a process group of its own as a terminal does."""
        return subprocess.Popen(
            [sys.executable, "-m", "pdmbench", *map(str, arguments)], cwd=self.folder, text=True,
            env={**self.environment, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def __call__(self, *arguments: str, exits: int = 0, **environment: str) -> tuple[str, str]:
        """Run a command to its end; returns stdout and stderr."""
        process = self.start(*arguments, **environment)
        out, error = process.communicate()
        assert process.returncode == exits, error
        return out, error

    def wait_for(self, what: Callable[[], bool], process: subprocess.Popen) -> None:
        """Wait until something is true, or the process has ended."""
        while not what() and process.poll() is None:
            threading.Event().wait(0.01)


@pytest.fixture
def shell(tmp_path, cache) -> Shell:
    (tmp_path / "a.svm").write_text(svm_lines(60))
    return Shell(tmp_path, cache)


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> tuple[Shell, str]:
    """A folder where table 1 was run with two seeds, and what was printed."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "a.svm").write_text(svm_lines(60))
    shell = Shell(folder, folder / "cache")
    out, _ = shell("run", "-d", "a.svm", "-a", "table1", "--delta", "1", "--repeats", "2")
    return shell, out


EXPERIMENT = """
    algorithms = ["pdm", "pfm", "mpu"]
    seeds = [0, 1]
    time_limit = 60
    [[rows]]
    dataset = "a.svm"
    delta = 1
    [[rows]]
    dataset = "b.svm"
    delta = 0.5
"""


def write_experiment(folder: Path) -> Path:
    """Two data sets of our own, two seeds, three solvers."""
    (folder / "a.svm").write_text(svm_lines(60))
    (folder / "b.svm").write_text(svm_lines(40, seed=1))
    (folder / "own.toml").write_text(EXPERIMENT)
    return folder / "own.toml"


@pytest.fixture
def experiment(shell) -> Path:
    """An experiment file where the shell is."""
    return write_experiment(shell.folder)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> set[Record]:
    """What the experiment gives, up to times."""
    shell = Shell(tmp_path_factory.mktemp("undisturbed"), tmp_path_factory.mktemp("cache"))
    write_experiment(shell.folder)
    shell("reproduce", "-c", "own.toml")
    assert len(shell.store.records()) == 12
    return results(shell.store.records())


def test_version(shell):
    assert shell("--version")[0].startswith("pdmbench ")


@pytest.mark.parametrize(
    "command", [[], ["run"], ["reproduce"], ["table"], ["report"], ["bounds"], ["datasets", "list"]]
)
def test_every_command_has_help(shell, command):
    out, error = shell(*command, "--help")
    assert "Usage: pdmbench" in out
    assert "--debug" in out
    assert error == ""


def test_help_loads_no_numeric_library(shell):
    check = (
        "import sys, pdmbench.cli; print(sorted({'numpy', 'numba', 'scipy', 'requests'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True).stdout == "[]\n"


def test_a_warm_run_loads_only_what_it_needs(shell):
    shell("run", "-d", "a.svm", "-a", "pdm")
    _, error = shell("run", "-d", "a.svm", "-a", "pdm", PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip() for line in error.splitlines()}
    assert {"numpy", "numba"} <= loaded
    assert not loaded & {
        "scipy.sparse",
        "sklearn",
        "pandas",
        "requests",
        "pooch",
        "distributed",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rn"], "no such command: rn; did you mean run?"),
        (["run"], "Missing option '--dataset'"),
        (["run", "-d", "a.svm", "--epss", "1"], "did you mean|Did you mean"),
        (["run", "-d", "a.svm", "--eps", "2"], "eps must be a number between 0 and 1, not 2.0"),
        (["run", "-d", "a.svm", "--eps", "nan"], "eps must be"),
        (["run", "-d", "a.svm", "--time-limit", "0"], "time_limit must be"),
        (["run", "-d", "a.svm", "-a", "pdn"], "did you mean pdm?"),
        (["run", "-d", "a.svm", "-a", "pdm", "--beta", "1"], "--beta is for pfm alone"),
        (["run", "-d", "adul"], "did you mean adult?"),
        (["run", "-d", "none.svm"], "none.svm: no such file"),
        (["run", "-d", "a.svm", "--trace", "no/file"], "No such file or directory"),
        (["table"], "results: no records; make some with pdmbench run"),
        (["table", "3"], "'3' is not one of '1', '2', 'all'"),
        (["report"], "no records"),
        (["reproduce", "-c", "builtn"], "no such experiment: builtn; did you mean builtin?"),
        (["reproduce", "-c", "none.toml"], "none.toml: cannot be read"),
        (["datasets", "info", "wen"], "did you mean web?"),
        (["datasets", "fetch"], "give names or --all"),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(shell, arguments, said):
    out, error = shell(*arguments, exits=2)
    assert out == ""
    assert error.startswith("pdmbench: ")
    assert error.count("\n") == 1
    assert any(part in error for part in said.split("|"))
    assert not (shell.folder / "results").exists()


def test_debug_shows_the_traceback(shell):
    for arguments in (["--debug", "run", "-d", "none.svm"], ["run", "-d", "none.svm", "--debug"]):
        _, error = shell(*arguments, exits=2)
        assert "Traceback" in error
        assert error.splitlines()[-1].startswith("pdmbench: none.svm: no such file")


def test_data_that_are_wrong_write_nothing(shell):
    (shell.folder / "bad.svm").write_text("1 1:1\n-1 1:x\n")
    _, error = shell("run", "-d", "bad.svm", exits=2)
    assert "bad.svm, line 2" in error
    assert not (shell.folder / "results").exists()


def test_three_classes_need_one_to_be_named(shell):
    (shell.folder / "three.svm").write_text("1 1:1\n2 2:1\n3 3:1\n2 2:2\n")
    _, error = shell("run", "-d", "three.svm", "-a", "pdm", exits=2)
    assert "--positive LABEL" in error
    shell("run", "-d", "three.svm", "-a", "pdm", "--positive", "2")
    (record,) = shell.store.records()
    assert (record.positive, record.m, record.status) == ("2", 4, Status.CONVERGED)


def test_run_prints_a_row_and_appends_a_record_each(ran):
    shell, out = ran
    rows = [line.split()[:4] for line in out.splitlines()]
    assert rows[0][:2] == ["data", "set"]
    names = ["pdm", "pfm", "pdm-succ", "pfm-succ"]
    assert rows[1:] == [["a.svm", name, seed, "converged"] for seed in "01" for name in names]
    records = shell.store.records()
    assert [(record.algorithm, str(record.seed)) for record in records] == [
        (row[1], row[2]) for row in rows[1:]
    ]
    for record in records:
        assert 0 <= record.certified_accuracy <= 0.02
        assert record.margin <= record.bound
        assert record.environment in shell.store.environments()
    assert records[1].beta == records[0].margin


def test_json_is_records_and_nothing_else(shell):
    out, error = shell("run", "-d", "a.svm", "-a", "pdm", "-a", "pfm", "--json", "--quiet")
    assert [Record.from_json(line) for line in out.splitlines()] == shell.store.records()
    assert error == ""


def test_a_stream_without_greek_letters_gets_question_marks(shell):
    out, error = shell("run", "-d", "a.svm", "-a", "pdm", PYTHONIOENCODING="ascii")
    assert "10?" in out.splitlines()[0]
    assert "\\u0394 = " in error  # Python's own way with stderr


def test_a_stream_that_is_closed_is_no_concern(shell):
    command = [sys.executable, "-m", "pdmbench", "run", "-d", "a.svm", "-a", "pdm"]
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&- 2>&-', "sh", *command], cwd=shell.folder, env=shell.environment
    )
    assert closed.returncode == 0
    assert len(shell.store.records()) == 1


def test_the_same_seed_gives_the_same_digits_and_another_seed_others(ran):
    shell, _ = ran
    out, _ = shell("run", "-d", "a.svm", "-a", "pdm", "--delta", "1", "--json", "--results", "again")
    again = json.loads(out)
    first, other = (json.loads(shell.store.records()[k].to_json()) for k in (0, 4))
    for key in ("margin", "bound", "updates"):
        assert again[key] == first[key]
        assert again[key] != other[key]


def test_delta_of_a_file_of_ones_own_is_chosen_and_printed(shell):
    _, error = shell("run", "-d", "a.svm", "-a", "pdm")
    (record,) = shell.store.records()
    assert record.delta == 0.2  # R without Δ lies between 1 and √6
    assert "a.svm: Δ = 0.2" in error


def test_an_inseparable_problem_without_delta_ends_by_its_limit(shell):
    (shell.folder / "not.svm").write_text("1 1:1\n-1 1:1\n1 1:-1\n-1 1:-1\n")
    out, _ = shell("run", "-d", "not.svm", "-a", "pdm", "--delta", "0", "--time-limit", "0.3")
    (record,) = shell.store.records()
    assert record.status is Status.TIME_LIMIT
    assert "time-limit" in out


def test_trace_has_one_line_per_full_epoch(shell):
    shell("run", "-d", "a.svm", "-a", "pdm", "-a", "mpu", "--trace", "trace.jsonl")
    lines = [json.loads(line) for line in (shell.folder / "trace.jsonl").read_text().splitlines()]
    for record in shell.store.records():
        own = [line for line in lines if line["algorithm"] == record.algorithm]
        assert [line["epoch"] for line in own] == list(range(1, record.full_epochs + 1))
        assert {"updates", "seconds", "margin", "bound"} <= set(own[0])


@pytest.mark.parametrize("style", ["text", "markdown", "latex", "csv", "json"])
def test_table_prints_what_was_run(ran, style):
    shell, _ = ran
    out, error = shell("table", "1", "--format", style)
    assert "a.svm" in out
    assert error == ""


def test_report_and_bounds(ran):
    shell, _ = ran
    assert shell("report")[0] == "report.html\n"
    assert (shell.folder / "report.html").read_text().startswith("<!")
    assert shell("report", "--format", "markdown")[0].startswith("# ")
    assert "Theorem 2" in shell("bounds", "--dataset", "a.svm")[0]
    assert "there are some of a.svm" in shell("bounds", "--dataset", "b.svm", exits=2)[1]


def test_reproduce_does_what_is_missing(shell, experiment):
    plan, _ = shell("reproduce", "-c", "own.toml", "--dry-run")
    assert plan.count("to run") == 12
    assert not (shell.folder / "results").exists()
    shell("run", "-d", "a.svm", "-a", "pdm", "--delta", "1")
    plan, _ = shell("reproduce", "-c", "own.toml", "--dry-run")
    assert (plan.count("to run"), plan.count("done (converged)")) == (11, 1)
    out, _ = shell("reproduce", "-c", "own.toml", "--only", "*.svm/mpu", "--only", "a.svm")
    assert len(shell.store.records()) == 8
    assert "Table 1" in out
    shell("reproduce", "-c", "own.toml")
    assert len(shell.store.records()) == 12
    shell("reproduce", "-c", "own.toml", "--force", "--only", "a.svm/mpu")
    assert len(shell.store.records()) == 14
    _, error = shell("reproduce", "-c", "own.toml", "--only", "c.svm", exits=2)
    assert "no cell is called c.svm" in error


def test_a_misspelt_key_of_an_experiment_is_named(shell, experiment):
    experiment.write_text(experiment.read_text().replace("time_limit", "timelimit"))
    _, error = shell("reproduce", "-c", "own.toml", exits=2)
    assert "unknown key timelimit; did you mean time_limit?" in error


def test_a_failed_cell_gives_exit_1_and_data_not_to_be_had_a_reason(shell, experiment):
    experiment.write_text('[[rows]]\ndataset = "web"\nalgorithms = ["pdm"]\n')
    out, _ = shell("reproduce", "-c", "own.toml", PDMBENCH_OFFLINE="1")
    assert "unavailable" in out
    assert "n/a" in out
    experiment.write_text(
        '[[rows]]\ndataset = "a.svm"\nalgorithms = ["solvers_for_workers:Crashes", "pdm"]\n'
    )
    out, error = shell("reproduce", "-c", "own.toml", exits=1)
    assert "ZeroDivisionError" in out
    assert "Traceback" not in error
    assert [record.status for record in shell.store.records()[1:]] == [Status.FAILED, Status.CONVERGED]


def test_a_half_written_last_line_is_repaired_and_said(shell):
    shell("run", "-d", "a.svm", "-a", "pdm")
    with shell.store.path.open("a") as file:
        file.write('{"dataset": "a.s')
    _, error = shell("run", "-d", "a.svm", "-a", "pdm")
    assert "cut off a half-written last line" in error
    assert len(Store(shell.store.folder).records()) == 2


def test_ctrl_c_stops_the_cell_keeps_the_rest_and_resumes(shell, experiment):
    never = "solvers_for_workers:NeverEnds"
    experiment.write_text(f'[[rows]]\ndataset = "a.svm"\nalgorithms = ["pdm", "{never}", "mpu"]\n')
    running = shell.folder / "running"
    process = shell.start("reproduce", "-c", "own.toml", RUNNING=str(running))
    shell.wait_for(running.exists, process)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted; what had finished is kept"
    assert "Traceback" not in error
    assert [record.status for record in shell.store.records()] == [Status.CONVERGED, Status.INTERRUPTED]
    assert not psutil.pid_exists(int(running.read_text()))
    plan, _ = shell("reproduce", "-c", "own.toml", "--dry-run")
    assert "to run (was interrupted" in plan


def test_killed_at_any_moment_the_records_end_up_the_same(shell, experiment, undisturbed):
    for count in range(5):
        process = shell.start("reproduce", "-c", "own.toml")
        shell.wait_for(lambda count=count: len(shell.store.records()) > 2 * count, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    shell("reproduce", "-c", "own.toml")
    assert len(shell.store.records()) == 12
    assert results(shell.store.records()) == undisturbed


def test_two_at_once_share_the_work(shell, experiment, undisturbed):
    processes = [shell.start("reproduce", "-c", "own.toml") for _ in range(2)]
    for process in processes:
        _, error = process.communicate()
        assert process.returncode == 0, error
    assert len(shell.store.records()) == 12
    assert results(shell.store.records()) == undisturbed


def test_jobs_give_the_same_records(shell, experiment, undisturbed):
    out, _ = shell("reproduce", "-c", "own.toml", "--jobs", "2")
    assert results(shell.store.records()) == undisturbed
    assert "2 cells" in out


def test_data_sets_are_listed_fetched_found_and_cleared(shell, shared):
    mirror = {"PDMBENCH_MIRROR": str(shared / "mirror"), "PDMBENCH_OFFLINE": "1"}
    assert "adult" in shell("datasets", "list", **mirror)[0]
    out, _ = shell("datasets", "fetch", "adult", **mirror)
    assert out == "adult: 32561 × 123, 451592 entries, 7841 positive\n"  # datasets.json
    assert "state        cached" in shell("datasets", "info", "adult")[0]
    assert Path(shell("datasets", "path", "adult")[0].strip()).is_file()
    shell("datasets", "clear", "adult")
    assert "state        downloaded" in shell("datasets", "info", "adult")[0]


def test_info_says_where_things_are(shell, cache):
    facts = json.loads(shell("info", "--json")[0])
    assert facts["cache"] == str(cache)
    assert facts["libraries"]["numba"]
    assert "cpu" in shell("info")[0]


def test_shell_completion_knows_solvers_and_data_sets(shell):
    def complete(*words: str) -> list[str]:
        line = {"COMP_WORDS": " ".join(["pdmbench", *words]), "COMP_CWORD": str(len(words))}
        out, _ = shell(_PDMBENCH_COMPLETE="bash_complete", **line)
        return [item.partition(",")[2] for item in out.splitlines()]

    assert complete("ru") == ["run"]
    assert complete("run", "-a", "pdm-") == ["pdm-succ"]
    assert complete("run", "-d", "adu") == ["adult"]
    assert complete("reproduce", "-c", "bui") == ["builtin"]


def test_the_first_run_on_a_machine_says_that_it_compiles(shell):
    arguments = ["run", "-d", "a.svm", "-a", "pdm"]
    fresh = {"NUMBA_CACHE_DIR": str(shell.folder / "kernels")}
    _, error = shell(*arguments, **fresh)
    assert error.count("compiling kernels") == 1
    assert "compiled in" in error
    _, error = shell(*arguments, **fresh)
    assert "compil" not in error
    first, second = shell.store.records()
    assert first.compile_seconds > 10 * first.train_seconds
    assert second.compile_seconds == 0
    assert second.margin == first.margin
