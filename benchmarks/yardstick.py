"""Another program's solvers to hold ours against, where the user names one.

It is called as ``PROGRAM FILE DELTA EPS ALGORITHM SEED`` with the algorithms pdm, succ, pfm:BETA, mpu and
romma, trains on a LIBSVM file and prints ``key=value`` pairs: updates, visits, margin, seconds of training.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from benchmarks.generate import write_libsvm
from pdmbench.data.formats import Block
from pdmbench.errors import UsageError
from pdmbench.problem import MarginProblem
from pdmbench.solvers.explicit import blocks

_NAMES = {"pdm": "pdm", "pdm-succ": "succ", "mpu": "mpu", "romma": "romma", "pfm": "pfm:{beta!r}"}
_SOURCES = (".cpp", ".cc", ".cxx")


class Yardstick:
    """The program.

    Parameters
    ----------
    path : Path
        The program, or its C++ source, which is compiled into ``folder``.
    folder : Path
        For what is compiled, and for the data in the form the program reads.
    """

    def __init__(self, path: Path, folder: Path):
        if not path.is_file():
            raise UsageError("no such file", str(path), "--yardstick names a program or its C++ source")
        self._program = _compile(path, folder) if path.suffix in _SOURCES else path.resolve()
        self._file, self._delta = folder / "patterns.svm", 0.0

    def knows(self, algorithm: str) -> bool:
        """Whether it has that solver."""
        return algorithm in _NAMES

    def read(self, problem: MarginProblem) -> None:
        """What the runs that follow are on."""
        export(problem, self._file)
        self._delta = problem.delta

    def run(self, algorithm: str, eps: float, beta: float | None, seed: int) -> dict[str, float]:
        """Train once.

        Parameters
        ----------
        algorithm : str
            As pdmbench calls it.
        eps : float
        beta : float, optional
            Of pfm.
        seed : int

        Returns
        -------
        dict
            What it printed.
        """
        call = [self._program, self._file, repr(self._delta), repr(eps)]
        call += [_NAMES[algorithm].format(beta=beta), str(seed + 1)]
        done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
        if done.returncode:
            raise UsageError(f"ended with status {done.returncode}: {done.stderr[:200]}", str(self._program))
        pairs = (word.partition("=") for word in done.stdout.split() if "=" in word)
        return {key: float(value) for key, _, value in pairs}


def export(problem: MarginProblem, path: Path) -> None:
    """Write patterns and ±1 labels as a LIBSVM file with exactly the same numbers."""

    def rows():
        for block in blocks(problem.patterns, 0):
            ends = block.ends - block.places.start
            yield Block(problem.labels[block.rows].astype(np.float64), ends, block.indices, block.values)

    write_libsvm(path, rows())


def _compile(source: Path, folder: Path) -> Path:
    program = folder / source.stem
    call = ["g++", "-O3", "-march=native", "-o", str(program), str(source)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"does not compile: {done.stderr[:200]}", str(source))
    return program
