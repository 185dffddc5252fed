"""What a user can mend, said in one line: what is wrong, where, what to do."""

from __future__ import annotations


class PdmbenchError(Exception):
    """Base of every error whose cause is outside the program. The command line exits with status 2.

    Parameters
    ----------
    what : str
        What is wrong.
    where : str, optional
        The file, line, key or URL it is about; printed first.
    fix : str, optional
        What the user can do; printed last.
    """

    def __init__(self, what: str, where: str | None = None, fix: str | None = None):
        self.what, self.where, self.fix = what, where, fix
        super().__init__(what, where, fix)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        line = f"{line}; {self.fix}" if self.fix else line
        return " ".join(line.split())


class UsageError(PdmbenchError):
    """An option, a name or a configuration key that cannot be used."""


class DataError(PdmbenchError):
    """A data file that does not say what it should."""


class DownloadError(PdmbenchError):
    """Data that could not be had from anywhere."""


class SolverUnavailable(PdmbenchError):
    """A solver that needs something this machine does not have; its cell gets status ``unavailable``."""
