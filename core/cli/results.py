"""How a command prints a result: its JSON, or sentence, tables and caveats as text."""

from __future__ import annotations

from core.base.result import Result, to_json
from core.base.texts import table_lines
from core.cli.base import show
from core.cli.lazy_group import Output


def show_result(result: Result) -> None:
    """Print a result."""
    show(to_json(result) if Output.as_json else {}, "\n".join(result_lines(result)))


def result_lines(result: Result) -> list[str]:
    """Return a result as lines: its sentence, its tables with their titles, its scope, then its
    caveats."""
    lines = [result.sentence]
    for table in (each for each in result.tables() if each.rows):
        lines += ["", f"{table.title}:", *table_lines(table.texts())]
    return [*lines, "", *filter(None, (result.scope, *result.caveats))]
