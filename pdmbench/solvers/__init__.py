"""The solvers by name. Nothing is imported before a solver is asked for."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from importlib.metadata import entry_points

from pdmbench.errors import UsageError
from pdmbench.solvers.base import Solver

BUILT_IN = {
    "pdm": "pdmbench.solvers.pdm:PDM",
    "pfm": "pdmbench.solvers.pfm:PFM",
    "pdm-succ": "pdmbench.solvers.pdm:SuccessivePDM",
    "pfm-succ": "pdmbench.solvers.pfm:PFMSuccessive",
    "romma": "pdmbench.solvers.romma:ROMMA",
    "naromma": "pdmbench.solvers.romma:NAROMMA",
    "svm-light": "pdmbench.solvers.decomposition:SVMLight",
    "svm": "pdmbench.solvers.decomposition:LIBSVM",
    "dcd-l1": "pdmbench.solvers.dcd:DCDL1",
    "dcd-l2": "pdmbench.solvers.dcd:DCDL2",
    "mpu": "pdmbench.solvers.mpu:MPU",
    "perceptron": "pdmbench.solvers.perceptrons:Perceptron",
    "perceptron-dual": "pdmbench.solvers.perceptrons:DualPerceptron",
    "perceptron-margin": "pdmbench.solvers.perceptrons:MarginPerceptron",
    "margitron": "pdmbench.solvers.perceptrons:Margitron",
    "alma2": "pdmbench.solvers.perceptrons:ALMA2",
    "cd": "pdmbench.solvers.cd:CertifiedDescent",
}

GROUPS = {
    "table1": ("pdm", "pfm", "pdm-succ", "pfm-succ"),
    "table2": ("romma", "svm-light", "svm", "dcd-l1", "dcd-l2", "mpu"),
    "perceptrons": ("perceptron", "perceptron-dual", "perceptron-margin", "margitron", "alma2"),
}
GROUPS["all"] = GROUPS["table1"] + GROUPS["table2"]

# The solver whose margin γ'_d is the target β of another (algorithms of Table 1).
TARGET_FROM = {"pfm": "pdm", "pfm-succ": "pdm-succ"}

ENTRY_POINTS = "pdmbench.solvers"


def names() -> list[str]:
    """Every name :func:`get` knows: the built-in solvers, then the plug-ins in alphabetical order."""
    return [*BUILT_IN, *sorted({point.name for point in _plug_ins()} - set(BUILT_IN))]


def get(name: str) -> Solver:
    """The solver of that name.

    Parameters
    ----------
    name : str
        A built-in name, an entry point of the group ``pdmbench.solvers``, or ``module:Class`` for a module on
        the import path or in the working directory.

    Returns
    -------
    Solver

    Raises
    ------
    UsageError
        When there is no such solver, or a plug-in cannot be loaded; the message names it.
    """
    if name in BUILT_IN:
        return _load(BUILT_IN[name])()
    plug_in = next((point for point in _plug_ins() if point.name == name), None)
    if plug_in is None and ":" not in name:
        raise unknown(name)
    reference = plug_in.value if plug_in else name
    if plug_in is None and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        solver = _load(reference)()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"the solver plug-in cannot be loaded: {type(error).__name__}: {error}", name, f"mend {reference}"
        ) from error
    if not isinstance(solver, Solver):
        raise UsageError(
            "the solver plug-in is not a Solver",
            name,
            f"derive {reference} from pdmbench.solvers.base.Solver",
        )
    return solver


def expand(requested: tuple[str, ...] | list[str]) -> list[str]:
    """Replace groups by their members and drop repetitions, keeping the order.

    Raises
    ------
    UsageError
        For a name that is neither a solver nor a group; the message suggests the nearest.
    """
    known = set(names())
    members: list[str] = []
    for name in requested:
        if name not in GROUPS and name not in known and ":" not in name:
            raise unknown(name)
        members.extend(GROUPS.get(name, (name,)))
    return list(dict.fromkeys(members))


def unknown(name: str) -> UsageError:
    """The error for a name nobody knows."""
    choices = [*names(), *GROUPS]
    nearest = difflib.get_close_matches(name, choices)
    nearest.sort(key=lambda choice: sorted(choice) != sorted(name))  # exchanged letters are a common slip
    hint = f"did you mean {nearest[0]}?" if nearest else "choose from " + ", ".join(choices)
    return UsageError(f"unknown algorithm {name!r}", "--algorithm", hint)


def _load(reference: str) -> type[Solver]:
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _plug_ins() -> list:
    return list(entry_points(group=ENTRY_POINTS))
