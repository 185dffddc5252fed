"""The tables measured last, in the README."""

from __future__ import annotations

from pathlib import Path

from pdmbench.errors import UsageError

TABLES = ("kernels", "anatomy", "certified", "scaling")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def fill(readme: Path, folder: Path) -> None:
    """Replace what stands between the two marks by the tables in ``folder``, then those in its subfolders.

    Raises
    ------
    UsageError
        No table, or no marks.
    """
    found = [path for name in TABLES for path in sorted(folder.rglob(f"{name}.txt"), key=_place)]
    texts = [path.read_text(encoding="utf-8") for path in found]
    if not texts:
        raise UsageError("no tables", str(folder), "measure first")
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UsageError("the marks between which tables go are missing", str(readme))
    body = "".join(f"```text\n{text}```\n\n" for text in texts)
    readme.write_text(f"{before}{BEGIN}\n\n{body}{END}{after}", encoding="utf-8")


def _place(path: Path) -> tuple[int, Path]:
    return len(path.parts), path
