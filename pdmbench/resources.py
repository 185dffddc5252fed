"""Where the files that come with the package lie, installed or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Folder of packaged files.

    Parameters
    ----------
    name : {"configs", "datasets"}
        The folder's name at the top level of the source tree.

    Returns
    -------
    pathlib.Path
        In a wheel ``pdmbench/_share/<name>``, in a checkout ``<root>/<name>``.
    """
    installed = _PACKAGE / "_share" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
