"""The report as one Markdown document."""

from __future__ import annotations

from collections.abc import Sequence

from pdmbench.bench.record import Record
from pdmbench.report import bounds, claims, content, grid, tables
from pdmbench.report.published import Published


def render(
    records: Sequence[Record],
    environments: content.Environments,
    published: Published | None = None,
    command: str | None = None,
) -> str:
    """Tables, claims, bounds, certificates, environment and the commands behind them; charts are HTML's.

    Parameters
    ----------
    records : sequence of Record
    environments : mapping
        Environment by id.
    published : Published, optional
        Numbers of the printed paper.
    command : str, optional
        The command that makes this report.

    Returns
    -------
    str
    """
    printed = published if published and published.values else None
    judged = claims.evaluate(records, environments)
    parts = [f"# {content.TITLE}\n", " ".join(content.summary(records, judged, environments)) + "\n"]
    parts.append("## Tables\n")
    parts += [grid.markdown(tables.as_grid(table)) for table in tables.build_all(records, printed)]
    parts += ["## Claims\n", grid.markdown(claims.as_grid(judged))]
    parts += [f"- {claim.id}: {claim.rule}." for claim in judged]
    parts += ["\n## Bounds\n", grid.markdown(bounds.as_grid(bounds.rows(records)))]
    parts += ["## Certificates\n", grid.markdown(content.problems(records))]
    parts.append(grid.markdown(content.certificates(records)))
    parts.append("## Environment\n")
    parts += [grid.markdown(machine) for machine in content.machines(records, environments)]
    code = "\n".join(content.commands(records, command))
    parts.append(f"## Reproduce\n\n```sh\n{code}\n```\n")
    return "\n".join(parts)
