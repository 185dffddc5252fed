"""Tables for programs: CSV and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdmbench.report import grid

if TYPE_CHECKING:
    from pdmbench.report.tables import Table


def csv_text(table: Table) -> str:
    """Plain numbers in the units of the headings; a standard deviation has a column where there is any."""
    headings = ["data set"] + (["solver"] if table.number == "others" else []) + ["eps", "delta", "rho"]
    spreads = [
        any(line.entries[k].std is not None for line in table.lines) for k in range(len(table.columns))
    ]
    for column, spread in zip(table.columns, spreads, strict=True):
        name = (
            f"{column.algorithm} {column.quantity.heading}" if column.algorithm else column.quantity.heading
        )
        headings += [name, f"{name} std"] if spread else [name]
    headings += ["notes"] if table.notes else []
    body: list[list[object]] = [headings]
    for line in table.lines:
        values: list[object] = [*line.headings, line.problem.eps, line.problem.delta, line.problem.rho]
        for entry, spread in zip(line.entries, spreads, strict=True):
            values.append(entry.why if entry.mean is None else entry.mean)
            if spread:
                values.append(entry.std)
        if table.notes:
            values.append("; ".join(table.notes[k - 1] for entry in line.entries for k in entry.notes))
        body.append(values)
    return grid.csv_text(body)


def json_object(table: Table) -> dict:
    """Every entry with its mean, its spread, or the reason why there is none."""
    lines = []
    for line in table.lines:
        solver = {"solver": line.headings[1]} if table.number == "others" else {}
        problem = line.problem
        values = [
            {
                "algorithm": column.algorithm,
                "quantity": column.quantity.name,
                "mean": entry.mean,
                "std": entry.std,
                "seeds": entry.seeds,
                "why": entry.why,
                "text": entry.text,
                "published": entry.published,
                "ratio": entry.ratio,
                "notes": list(entry.notes),
            }
            for column, entry in zip(table.columns, line.entries, strict=True)
        ]
        lines.append(
            {
                "dataset": problem.dataset,
                "title": line.headings[0],
                **solver,
                "eps": problem.eps,
                "delta": problem.delta,
                "rho": problem.rho,
                "cells": values,
            }
        )
    columns = [
        {"algorithm": c.algorithm, "quantity": c.quantity.name, "unit": c.quantity.heading}
        for c in table.columns
    ]
    below = {"notes": list(table.notes), "remarks": list(table.remarks)}
    return {"table": table.number, "title": table.title, "columns": columns, "rows": lines, **below}
