"""Training needs the mapped data plus O(m + n) numbers: memory of its own does not grow with the entries."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from pdmbench import data
from pdmbench.bench import memory

M, N = 20_000, 5_000
DISTINCT = 400
MEBIBYTE = 2**20

TRAIN = """
import sys
from pdmbench import data, solvers
from pdmbench.problem import MarginProblem
from pdmbench.solvers import active_sets
from pdmbench.solvers.base import Monitor, Settings

active_sets.COPY_LIMIT = 2**20  # bytes: what may be copied, whatever the entries
solver = solvers.get(sys.argv[2])
found = data.load(sys.argv[1])
problem = MarginProblem(found.patterns, found.labels, 0.5)
solver.warm_up(problem)
print("ready", flush=True)
sys.stdin.readline()
solution = solver.solve(problem, Settings(eps=0.1, beta=1e-3), Monitor(max_epochs=6))
accuracy = solution.certify(problem).accuracy
print("done", accuracy, flush=True)
sys.stdin.readline()
"""


def write(path, entries_a_row: int) -> None:
    """A file of M patterns, N features and real values; some hundred patterns over and over."""
    random = np.random.default_rng(entries_a_row)
    lines = []
    for _ in range(DISTINCT):
        indices = np.sort(random.choice(N, entries_a_row, replace=False)) + 1
        values = random.integers(1, 1000, entries_a_row) / 8.0 / entries_a_row
        label = "+1" if random.random() < 0.5 else "-1"
        lines.append(label + "".join(f" {j}:{v:.6g}" for j, v in zip(indices, values, strict=True)) + "\n")
    path.write_text("".join(lines) * (M // DISTINCT))


def most_memory(path, algorithm: str) -> float:
    """The largest RssAnon while training, in MiB beyond that before, all code being loaded and compiled."""
    with subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(path), algorithm],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while (line := process.stdout.readline()) and not line.startswith("ready"):
            pass
        before = most = memory.own(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        os.set_blocking(process.stdout.fileno(), False)
        while not (line := process.stdout.readline()) and process.poll() is None:
            most = max(most, memory.own(process.pid) or 0.0)
            time.sleep(0.001)
        most = max(most, memory.own(process.pid) or 0.0)
        process.stdin.write("\n")
        process.stdin.flush()
    assert line.startswith("done")
    return most - before


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("entries")
    found = {}
    for entries in (8, 256):
        found[entries] = folder / f"{entries}.svm"
        write(found[entries], entries)
    stored = [sum(a.nbytes for a in data.load(str(path)).patterns.rows) for path in found.values()]
    assert stored[1] - stored[0] > 25 * MEBIBYTE
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells own memory from mapped files")
@pytest.mark.parametrize("algorithm", ["pdm", "pdm-succ", "pfm", "mpu", "romma", "cd"])
def test_own_memory_does_not_grow_with_the_entries(files, algorithm):
    few, many = (most_memory(path, algorithm) for path in files.values())
    assert few < 8  # m + n numbers are 0.2 MiB, and a solver keeps a dozen such arrays
    assert many - few < 4
