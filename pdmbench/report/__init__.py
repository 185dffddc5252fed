"""Records in, readable results out: nothing here runs a solver or loads a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdmbench.bench.store import Store
    from pdmbench.report.published import Published


def report(
    store: Store, style: str = "html", published: Published | None = None, command: str | None = None
) -> str:
    """The report on a results folder.

    Parameters
    ----------
    store : Store
    style : {"html", "markdown"}
    published : Published, optional
        Numbers of the printed paper, shown below ours where there are any.
    command : str, optional
        The command that makes this report, printed in it.

    Returns
    -------
    str
        A whole document.
    """
    from pdmbench.report import html, markdown

    records = store.records()
    ids = dict.fromkeys(record.environment for record in records if record.environment)
    environments = {key: found for key in ids if (found := store.environment(key)) is not None}
    if style == "markdown":
        return markdown.render(records, environments, published, command)
    traces = {key: store.trace(key) for key in dict.fromkeys(record.cell_key() for record in records)}
    return html.render(records, traces, environments, published, command)
