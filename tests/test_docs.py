"""Every snippet of the README and of docs/ is run, every output shown there is compared, every link followed.

What stands behind the language of a fence says what to do with it::

    ```sh             run by a shell in a folder of the page's own
    ```sh adult       the same, where Adult can be had without a network
    ```sh installed   the same, as if the package whose pyproject.toml the page shows were installed
    ```sh no-run      not run: NOT_RUN lists all of these with their reasons
    ```python         run in one namespace a page
    ```… file=NAME    saved under that name
    ```text           lines that the snippet before printed, in this order; … stands for anything
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

NOT_RUN = {
    ("README.md", "make reproduce CONFIG=builtin"): "makes a virtual environment",
    ("README.md", "pip install ."): "needs the network",
    ("get-started.md", "python3 -m venv .venv"): "needs the network",
    ("reproducing.md", "make reproduce"): "makes a virtual environment, needs the network",
    ("reproducing.md", "[table1.adult]"): "a part of a file",
    ("data.md", "pdmbench datasets fetch adult web"): "needs the network",
    ("solvers.md", "pip install ."): "needs the network",
    ("running.md", "pdmbench reproduce"): "needs the network, and hours",
    ("running.md", "pip install '.[distributed]'"): "needs a cluster",
    ("running.md", "from dask_jobqueue import SLURMCluster"): "needs a cluster",
}


class Snippet(NamedTuple):
    """A fenced block."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name to save it under."""
        return next((word[5:] for word in self.words if word.startswith("file=")), None)


def snippets(page: Path) -> list[Snippet]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S):
        language, *words = match[1].split()
        found.append(Snippet(language, tuple(words), match[2], text.count("\n", 0, match.start()) + 1))
    return found


class Reader:
    """Does what a page says, from top to bottom, in a folder of its own."""

    def __init__(self, folder: Path, mirror: Path | None):
        self.folder, self.mirror = folder, mirror
        self.namespace: dict = {"__name__": "__main__"}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "PDMBENCH_OFFLINE": "1", "PYTHONPATH": str(ROOT)}

    def read(self, page: Path) -> None:
        output = ""
        for snippet in snippets(page):
            where = f"{page.name}:{snippet.line}"
            if snippet.file:
                path = self.folder / snippet.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(snippet.text, encoding="utf-8")
            elif "no-run" in snippet.words or ("adult" in snippet.words and self.mirror is None):
                output = None
            elif snippet.language == "text":
                assert output is None or shows(output, snippet.text), f"{where} is not in:\n{output}"
            elif snippet.language == "sh":
                output = self.shell(snippet, where)
            else:
                assert snippet.language == "python", where
                output = self.python(snippet, page)

    def shell(self, snippet: Snippet, where: str) -> str:
        environment = dict(self.environment)
        if "adult" in snippet.words:
            environment["PDMBENCH_MIRROR"] = str(self.mirror)
        if "installed" in snippet.words:
            self.install()
            environment["PYTHONPATH"] += os.pathsep + str(self.folder)
        process = subprocess.run(
            ["sh", "-eu", "-c", snippet.text], cwd=self.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.returncode == 0, f"{where}:\n{process.stdout}"
        return process.stdout

    def python(self, snippet: Snippet, page: Path) -> str:
        code = compile("\n" * snippet.line + snippet.text, str(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, self.namespace)
        return output.getvalue()

    def install(self) -> None:
        """What an installer leaves of the project in the folder: its name and its entry points."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        info = self.folder / f"{project['name']}-{project['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        groups = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
            for group, points in project["entry-points"].items()
        ]
        (info / "entry_points.txt").write_text("".join(groups))


def shows(output: str, text: str) -> bool:
    """Whether the lines of ``text`` are lines of ``output``, in the same order; spaces do not matter."""
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    for wanted in (" ".join(line.split()) for line in text.splitlines()):
        pattern = re.compile(".*".join(map(re.escape, wanted.split("…"))))
        if not any(pattern.fullmatch(line) for line in lines):
            return False
    return True


@pytest.fixture
def mirror(request) -> Path | None:
    """Where Adult is; None where it is not."""
    try:
        return request.getfixturevalue("shared") / "mirror"
    except pytest.skip.Exception:
        return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets(page, tmp_path, cache, mirror, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Reader(tmp_path, mirror).read(page)
    if mirror is None and any("adult" in snippet.words for snippet in snippets(page)):
        pytest.skip("all but the snippets that need Adult were run; it is not beside this checkout")


def test_few_snippets_are_not_run():
    """Exactly those listed, each with a reason."""
    skipped = [(page.name, s.text) for page in PAGES for s in snippets(page) if "no-run" in s.words]
    assert len(skipped) == len(NOT_RUN)
    for page, text in skipped:
        assert [
            reason for (name, start), reason in NOT_RUN.items() if name == page and text.startswith(start)
        ]


def test_fences_say_what_is_known():
    for page in PAGES:
        for snippet in snippets(page):
            assert snippet.language in ("sh", "python", "text", "toml"), (page.name, snippet.line)
            assert set(snippet.words) <= {"no-run", "adult", "installed", f"file={snippet.file}"}


def anchors(page: Path) -> set[str]:
    """The fragments that lead to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        if fragment:
            assert fragment in anchors(there), target


def test_every_page_is_linked_from_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name})" not in text] == []


class TestPicture:
    """The picture of certificates.md is drawn from numbers that are what it says."""

    @pytest.fixture
    def refresh(self):
        spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_it_is_the_one_committed(self, refresh):
        assert (ROOT / "docs" / "certificate.svg").read_text(encoding="utf-8") == refresh.certificate()

    def test_the_circle_is_the_maximum_margin(self, refresh):
        """γ_d by its definition: the best of many directions."""
        angles = np.linspace(0.0, np.pi / 2, 100_001)
        directions = np.array([np.cos(angles), np.sin(angles)])
        gamma = (refresh.PATTERNS @ directions).min(axis=0).max()
        nearest = refresh._nearest(*refresh.PATTERNS[:2])
        assert np.linalg.norm(nearest) == pytest.approx(gamma, rel=1e-5)

    def test_tables_go_between_the_marks(self, refresh):
        page = "before\n<!-- table -->\nold\n<!-- /table -->\nafter\n"
        assert refresh.filled(page, "new\n") == "before\n<!-- table -->\n\nnew\n\n<!-- /table -->\nafter\n"


def test_environment_variables_are_documented():
    """All that the source asks for."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pdmbench").rglob("*.py"))
    asked = set(re.findall(r"PDMBENCH_[A-Z]+", source)) - {"PDMBENCH_COMPLETE"}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {name for name in asked if f"`{name}`" not in text} == set()


def test_keys_of_data_sets_are_documented():
    from pdmbench.data import registry

    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    keys = {*registry._DATA_SET, *registry._FILE} - {"parameters", "files"}
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_every_inferred_delta_is_documented():
    from pdmbench import data
    from pdmbench.report.cells import DATASETS

    text = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")
    said = {}
    for names, delta in re.findall(r"^\| Δ of ([^|]*) \| ([\d.]+) \|", text, re.M):
        said.update(dict.fromkeys(names.split(", "), float(delta)))
    specs = {DATASETS[name]: data.describe(name) for name in DATASETS}
    assert {title: spec.delta for title, spec in specs.items() if spec.delta_inferred}.items() <= said.items()
    assert said == {title: spec.delta for title, spec in specs.items() if spec.delta != 1.0}
