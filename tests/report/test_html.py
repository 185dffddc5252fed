"""The page: self-contained, the same numbers as the tables, text for every chart, nothing of a name runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from pdmbench.report import html, markdown, tables
from pdmbench.solvers.base import TracePoint

ENVIRONMENT = {
    "e0": {
        "time": "2024-05-01T09:59:00+00:00",
        "cpu": "A <fine> processor",
        "logical_cores": 2,
        "memory_gib": 8.0,
        "os": "Linux",
        "python": "CPython 3.12.0",
        "libraries": {"numpy": "2.0.0", "scipy": None},
        "load": 1.9,
        "jobs": 2,
    }
}


@pytest.fixture(scope="module")
def page(make, unfinished):
    """Three rows, seeds, every kind of cell, traces, and a data set with a hostile name."""
    records = [
        make("adult", "pdm", updates=27_000_000, train_seconds=1.5),
        make("adult", "pfm", beta=0.0099, beta_from="pdm", train_seconds=2.3, updates=11_000_000),
        make("adult", "dcd-l2", updates=None, train_seconds=0.1, note="liblinear <switched>"),
        unfinished("adult", "svm", "time-limit", time_limit=300.0),
        unfinished("adult", "svm-light", "unavailable", error="no svm_learn on the path"),
        *(make("web", "pdm", seed=s, nnz=9000, train_seconds=0.2 + s) for s in range(3)),
        make("</script><img src=x onerror=alert(1)>", "pdm", nnz=300, train_seconds=0.01),
        make("web", 'plug<in>"', updates=None),
    ]
    points = [
        TracePoint(0, 0, 0.001, 0.0, float("inf")),
        TracePoint(1, 1000, 0.01, -0.5, 4.0),
        TracePoint(2, 20_000, 0.2, None, None),
        TracePoint(3, 1_000_000, 1.0, 0.005, 0.02),
    ]
    traces = {records[0].cell_key(): points}
    return records, html.render(records, traces, ENVIRONMENT, command="pdmbench report -o page.html")


class Outline(HTMLParser):
    """Tags with their attributes, and the text of every table cell."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells, self._open = [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")
        self._open = tag in ("td", "th", "sub", "small") or self._open

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data):
        if self._open and self.cells:
            self.cells[-1] += data


@pytest.fixture(scope="module")
def outline(page):
    parser = Outline()
    parser.feed(page[1])
    return parser


def test_it_is_small_and_needs_nothing_beside_itself(page, outline):
    text = page[1]
    assert len(text.encode()) < 200_000
    assert "default-src 'none'" in text  # the page forbids itself every request
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    for tag, attributes in outline.tags:
        assert "src" not in attributes, tag
        if "href" in attributes:
            assert attributes["href"].startswith(("#", "data:,"))


def test_ids_are_unique_and_links_lead_somewhere(outline):
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for tag, a in outline.tags if tag == "a"]
    assert set(targets) <= set(ids)


def test_every_chart_has_a_title_and_a_description(page, outline):
    charts = [a for tag, a in outline.tags if tag == "svg" and a.get("role") == "img"]
    assert len(charts) >= 3 * 4  # convergence four a row, bars two a row, scaling
    for chart in charts:
        for label in chart["aria-labelledby"].split():
            assert re.search(rf'id="{label}">[^<]+<', page[1])
    hidden = [a for tag, a in outline.tags if tag == "svg" and a.get("role") != "img"]
    assert all(a.get("aria-hidden") == "true" for a in hidden)


def test_the_tables_are_those_of_the_command_line(page, outline):
    records, _ = page
    for table in tables.build_all(records):
        for row in json.loads(tables.render(table, "json"))["rows"]:
            for cell in row["cells"]:
                assert any(text.startswith(cell["text"]) for text in outline.cells), cell


def test_names_and_notes_are_text_and_never_markup(page, outline):
    assert not any(tag == "img" for tag, _ in outline.tags)
    assert sum(tag == "script" for tag, _ in outline.tags) == page[1].count("</script>")
    assert "&lt;switched&gt;" in page[1]
    assert "A &lt;fine&gt; processor" in page[1]


def test_all_sections_are_there(outline):
    sections = [a["id"] for tag, a in outline.tags if tag == "section"]
    assert sections == [
        "tables",
        "claims",
        "convergence",
        "updates-and-time",
        "scaling",
        "bounds",
        "certificates",
        "environment",
        "reproduce",
    ]


def test_claims_carry_their_numbers(page):
    assert "PFM / PDM = 1.53" in page[1]
    assert page[1].count('class="id">P') == 13


def test_a_busy_machine_and_the_jobs_at_once_are_told(page):
    assert "the machine was busy at the start of 1 of 1 run" in page[1]


def test_it_says_how_to_make_itself(page):
    assert "pdmbench run --dataset adult" in page[1]
    assert "pdmbench run --dataset web --eps 0.01 --delta 1 --rho 1 -a pdm --seed 0 --repeats 3" in page[1]
    assert "pdmbench report -o page.html" in page[1]
    assert "a" * 64 in page[1]  # the digest of the data


def test_the_same_records_give_the_same_page(page):
    records, _ = page
    assert html.render(records, {}, ENVIRONMENT) == html.render(list(records), {}, ENVIRONMENT)


def test_without_records_there_is_a_page_that_says_so():
    assert "There are no records yet." in html.render([], {}, {})
    assert "There are no records yet." in markdown.render([], {})


def test_without_traces_it_says_that_ends_alone_are_shown(page):
    assert "No run was traced" in html.render(page[0], {}, {})
    assert "No run was traced" not in page[1]


def test_the_points_that_are_read_out_are_plain_json(page):
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', page[1])
    pdm = json.loads(blocks[0], parse_constant=pytest.fail)[0]
    assert pdm["bound"] == [None, 40000.0, 200.0, 100.0]  # 10⁴ times the trace's, then the record's
    assert pdm["seconds"] == [0.001, 0.01, 1.0, 1.5]


def test_a_long_trace_is_thinned(make):
    record = make("adult", "romma")
    points = [TracePoint(k, 10 * k, k / 10_000, 0.0099 - 1 / k**2, 0.01 + 1 / k) for k in range(1, 9_999)]
    assert len(html.render([record], {record.cell_key(): points}, {})) < 150_000


def test_markdown_has_the_same_tables_and_verdicts(page):
    records, _ = page
    text = markdown.render(records, ENVIRONMENT, command="pdmbench report --format markdown")
    assert tables.render(tables.build(1, records), "markdown") in text
    assert "| P1 | PDM is considerably faster" in text
    assert "pdmbench report --format markdown" in text


PROBE = """<script>
addEventListener("load", () => {
  const said = [performance.getEntriesByType("resource").map((entry) => entry.name)];
  const chart = document.querySelector(".chart"), figure = chart.querySelector("figure");
  const output = chart.querySelector("output");
  const press = (key) => figure.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("End");
  said.push(output.textContent);
  const svg = figure.querySelector("svg"), box = svg.getBoundingClientRect();
  const at = { clientX: box.left + box.width * 0.3, clientY: box.top + 50, bubbles: true };
  svg.dispatchEvent(new PointerEvent("pointermove", at));
  said.push(output.textContent, String(figure.querySelectorAll(".cursor").length));
  chart.querySelector("input[type=checkbox]").click();
  said.push(String(figure.querySelectorAll(".series.off").length));
  chart.querySelector("input[value=updates]").click();
  said.push(figure.querySelector(".panel:not([hidden])").dataset.x);
  said.push(String(document.documentElement.scrollWidth <= innerWidth));
  const answer = document.createElement("pre");
  answer.id = "probe";
  answer.textContent = JSON.stringify(said);
  document.body.append(answer);
});
</script>"""


@pytest.fixture
def browser(tmp_path):
    """Load a file in a fresh headless browser without a network: (DOM afterwards, log)."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium on the path")

    def load(path, width=1280):
        done = subprocess.run(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"--window-size={width},900",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--enable-logging=stderr",
                "--virtual-time-budget=3000",
                "--dump-dom",
                path.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout, done.stderr

    return load


@pytest.mark.parametrize("width", [1280, 500])
def test_in_a_browser(page, browser, tmp_path, width):
    """No request, no console message; keys, pointer, boxes and buttons do what they say."""
    path = tmp_path / "page.html"
    path.write_text(page[1].replace("</body>", PROBE + "</body>"), encoding="utf-8")
    dom, log = browser(path, width)
    assert "CONSOLE" not in log
    said = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', dom).group(1))
    asked, end, hovered, cursors, off, x, fits = said
    assert asked == []
    assert end.startswith("2.3 s, 10⁴γ between PDM 99 and 100 (1 %)")
    assert "10⁴γ between" in hovered
    assert (cursors, off, x, fits) == ("2", "4", "updates", "true")
