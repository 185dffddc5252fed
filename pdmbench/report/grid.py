"""A rectangle of text with headings and footnotes, in every format a table is printed in."""

from __future__ import annotations

import csv
import html as _html
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Grid:
    """What is printed, apart from how.

    Attributes
    ----------
    title : str
    head : sequence of str
        One heading a column.
    rows : sequence of sequences of str
    groups : sequence of (str, int), optional
        Headings above the headings, with the columns each spans.
    align : str, optional
        ``l`` or ``r`` a column; by default the first one left, the others right.
    notes : sequence of str
        Footnotes, numbered as the markers ¹ ² ³ in the rows are.
    remarks : sequence of str
        Lines below the table without a number.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    groups: Sequence[tuple[str, int]] = ()
    align: str = ""
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def alignment(self) -> str:
        """``l`` or ``r`` a column."""
        return self.align or "l" + "r" * (len(self.head) - 1)

    @property
    def below(self) -> list[str]:
        """All lines below the table, footnotes with their markers."""
        return [f"{marker(k)} {note}" for k, note in enumerate(self.notes, 1)] + list(self.remarks)


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent where it stays readable."""
    if not isfinite(value):
        return "∞" if value > 0 else "–"
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)  # of the rounded number: 9.996 is 10.0
    if exponent < -5 or exponent > 8:
        return f"{mantissa}e{exponent}"
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def spread(mean: float, std: float, digits: int = 3) -> str:
    """``mean ± std`` with the decimals of the mean."""
    text = number(mean, digits)
    decimals = len(text.partition(".")[2]) if "e" not in text else None
    return f"{text} ± {number(std, 2) if decimals is None else f'{std:.{decimals}f}'}"


def marker(k: int) -> str:
    """The footnote number k as superscript digits."""
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(k))


def text(grid: Grid) -> str:
    """Aligned columns for a terminal."""
    widths = [max(map(_width, column)) for column in zip(grid.head, *grid.rows, strict=True)]
    starts, spans = 0, []
    for label, count in grid.groups:  # a group's heading may be wider than its columns
        inner = sum(widths[starts : starts + count]) + 2 * (count - 1)
        widths[starts + count - 1] += max(0, _width(label) - inner)
        spans.append((label, sum(widths[starts : starts + count]) + 2 * (count - 1)))
        starts += count
    lines = [grid.title] if grid.title else []
    if spans:
        lines.append("  ".join(_pad(label, width, "c") for label, width in spans))
    lines.append("  ".join(map(_pad, grid.head, widths, grid.alignment)))
    lines.append("─" * (sum(widths) + 2 * (len(widths) - 1)))
    lines += ["  ".join(map(_pad, row, widths, grid.alignment)) for row in grid.rows]
    if not grid.rows:
        lines.append("(no records)")
    return "\n".join(line.rstrip() for line in [*lines, *grid.below]) + "\n"


def markdown(grid: Grid) -> str:
    """A pipe table; the headings of groups are joined to those below them."""
    head = [f"{group} {label}".strip() for group, label in zip(_spread_groups(grid), grid.head, strict=True)]
    lines = [f"**{grid.title}**", ""] if grid.title else []
    lines.append("| " + " | ".join(map(_markdown_cell, head)) + " |")
    lines.append("|" + "|".join(":--" if a == "l" else "--:" for a in grid.alignment) + "|")
    lines += ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in grid.rows]
    for line in grid.below:
        lines += ["", _markdown_cell(line)]
    return "\n".join(lines) + "\n"


def latex(grids: Sequence[Grid]) -> str:
    """Tables for ``\\input`` into a document that also compile as they are; they need no package."""
    return _LATEX_HEAD + "\n".join(map(_latex_table, grids)) + _LATEX_FOOT


def html(grid: Grid) -> str:
    """A table with a caption and scoped headings, in a box that scrolls where it is too wide."""
    lines = ['<div class="scroll">', "<table>"]
    if grid.title:
        lines[0] = f'<div class="scroll" tabindex="0" role="region" aria-label="{_html.escape(grid.title)}">'
        lines.append(f"<caption><span>{html_text(grid.title)}</span></caption>")
    lines.append("<thead>")
    if grid.groups:
        cells = "".join(
            f'<th colspan="{count}" scope="colgroup">{html_text(label)}</th>'
            if label
            else f'<td colspan="{count}"></td>'
            for label, count in grid.groups
        )
        lines.append(f'<tr class="groups">{cells}</tr>')
    kinds = ["" if a == "l" else ' class="n"' for a in grid.alignment]
    heads = "".join(
        f'<th scope="col"{kind}>{html_text(h)}</th>' for h, kind in zip(grid.head, kinds, strict=True)
    )
    lines += [f"<tr>{heads}</tr>", "</thead>", "<tbody>"]
    above = None
    for row in grid.rows:
        repeated = ' class="same"' if row[0] == above else ""
        first, above = f'<th scope="row"{repeated}>{html_text(row[0])}</th>', row[0]
        rest = "".join(f"<td{kind}>{html_text(c)}</td>" for c, kind in zip(row[1:], kinds[1:], strict=True))
        lines.append(f"<tr>{first}{rest}</tr>")
    lines += ["</tbody>", "</table>", "</div>"]
    if grid.below:
        lines.append('<div class="notes">' + "".join(f"<p>{html_text(n)}</p>" for n in grid.below) + "</div>")
    return "\n".join(lines)


def html_text(value: str) -> str:
    """Escaped text in which γ'_d has its prime and its subscript, and a spread stands back."""
    value = _html.escape(value).replace("γ&#x27;", "γ′").replace("&#x27;", "’")
    return _SPREAD.sub(r"<small>\1</small>", _SUBSCRIPT.sub("<sub>d</sub>", value))


def csv_text(rows: Sequence[Sequence[object]]) -> str:
    """Comma-separated values, quoted where needed."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _spread_groups(grid: Grid) -> list[str]:
    if not grid.groups:
        return [""] * len(grid.head)
    return [label for label, count in grid.groups for _ in range(count)]


def _width(value: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in value
    )


def _pad(value: str, width: int, align: str) -> str:
    space = width - _width(value)
    if align == "c":
        return " " * (space // 2) + value + " " * (space - space // 2)
    return value + " " * space if align == "l" else " " * space + value


def _markdown_cell(value: str) -> str:
    return re.sub(r"([\\|*<`_])", r"\\\1", value)


_SPREAD = re.compile(r"( ± [\d.e-]+)")
_SUBSCRIPT = re.compile(r"(?<=[γ'′])_d")

# \@nodocument is \relax once a document has begun; only then are the tables an \input of somebody's.
_LATEX_HEAD = r"""\expandafter\ifx\csname @nodocument\endcsname\relax\else
\documentclass{article}
\setlength{\textwidth}{7.3in}\setlength{\oddsidemargin}{-0.4in}\pagestyle{empty}
\begin{document}
\def\pdmbenchend{\end{document}}
\fi
"""
_LATEX_FOOT = r"""\expandafter\ifx\csname pdmbenchend\endcsname\relax\else\expandafter\pdmbenchend\fi
"""

_LATEX_CHARACTERS = {
    "\\": r"\textbackslash{}",
    **{c: "\\" + c for c in "{}$&#_%"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "±": r"\ensuremath{\pm}",
    " ± ": r"\ensuremath{\,{\pm}\,}",  # narrow: the tables are wide
    "×": r"\ensuremath{\times}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "∞": r"\ensuremath{\infty}",
    "ε": r"\ensuremath{\varepsilon}",
    "Δ": r"\ensuremath{\Delta}",
    "ρ": r"\ensuremath{\rho}",
    "η": r"\ensuremath{\eta}",
    "β": r"\ensuremath{\beta}",
    "–": "--",
    "—": "---",
    "−": r"\ensuremath{-}",
    "′": r"\ensuremath{'}",
    "…": r"\ldots{}",
    "₀": r"\ensuremath{_0}",
}


_SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT_DIGITS = str.maketrans(_SUPERSCRIPTS, "-0123456789")
_LATEX_PIECES = re.compile(rf"γ['′]?(?:_d)?|[{_SUPERSCRIPTS}]+| ± |.", re.DOTALL)


def _latex_text(value: str) -> str:
    """Text any pdflatex can set: symbols as mathematics, what it has no sign for as ``?``."""
    return _LATEX_PIECES.sub(_latex_piece, value)


def _latex_piece(match: re.Match) -> str:
    piece = match.group()
    if piece[0] == "γ":
        prime, subscript = "'" * (len(piece) > 1 and piece[1] in "'′"), "_d" * piece.endswith("_d")
        return rf"\ensuremath{{\gamma{prime}{subscript}}}"
    if piece[0] in _SUPERSCRIPTS:
        return rf"\ensuremath{{^{{{piece.translate(_SUPERSCRIPT_DIGITS)}}}}}"
    if piece in _LATEX_CHARACTERS:
        return _LATEX_CHARACTERS[piece]
    return (
        piece
        if piece.isascii()
        else unicodedata.normalize("NFKD", piece).encode("ascii", "ignore").decode() or "?"
    )


def _latex_table(grid: Grid) -> str:
    columns = zip(grid.head, *grid.rows, strict=True)
    characters = sum(max(map(_width, column)) for column in columns) + 2 * len(grid.head)
    size = r"\footnotesize" if characters <= 92 else r"\scriptsize" if characters <= 110 else r"\tiny"
    lines = [r"\begin{table}[ht]", rf"\centering{size}\setlength{{\tabcolsep}}{{2.5pt}}"]
    if grid.title:
        lines.append(rf"\caption{{{_latex_text(grid.title)}}}")
    lines += [rf"\begin{{tabular}}{{{grid.alignment}}}", r"\hline"]
    if grid.groups:
        spans = (rf"\multicolumn{{{count}}}{{c}}{{{_latex_text(label)}}}" for label, count in grid.groups)
        lines.append(" & ".join(spans) + r" \\")
    lines.append(" & ".join(map(_latex_text, grid.head)) + r" \\ \hline")
    lines += [" & ".join(map(_latex_text, row)) + r" \\" for row in grid.rows]
    lines += [r"\hline", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\scriptsize {_latex_text(line)}\par}}" for line in grid.below]
    return "\n".join([*lines, r"\end{table}", ""])
