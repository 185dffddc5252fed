"""The tables measured last, in the README."""

from __future__ import annotations

from pathlib import Path

from pdmbench.errors import UsageError

TABLES = ("kernels", "anatomy", "certified", "scaling")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def fill(readme: Path, folder: Path) -> None:
    """Replace what stands between the two marks by the tables in ``folder``.

    Raises
    ------
    UsageError
        No table, or no marks.
    """
    texts = [path.read_text(encoding="utf-8") for name in TABLES if (path := folder / f"{name}.txt").exists()]
    if not texts:
        raise UsageError("no tables", str(folder), "measure first")
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UsageError("the marks between which tables go are missing", str(readme))
    body = "".join(f"```text\n{text}```\n\n" for text in texts)
    readme.write_text(f"{before}{BEGIN}\n\n{body}{END}{after}", encoding="utf-8")
