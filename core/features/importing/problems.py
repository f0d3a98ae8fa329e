"""Problems of a file that leaves the workspace: a submission, a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from core.base.texts import list_names

Severity = Literal["error", "warning"]
Row = str | int  # an id, or a line number (from 1)


class Problem(NamedTuple):
    """One error or warning.

    rows: the affected rows, by id, or by line number if a row has no id; empty for the whole file.
    """

    rule: str
    severity: Severity
    rows: tuple[Row, ...]
    message: str


def problem_records(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON."""
    return [{**problem._asdict(), "rows": list(problem.rows)} for problem in problems]


def problem_lines(problems: Sequence[Problem]) -> list[str]:
    """Return errors, then warnings, each with how many rows it names and the first of them."""
    lines = []
    for severity in ("error", "warning"):
        chosen = [problem for problem in problems if problem.severity == severity]
        lines += [count(len(chosen), severity)] if chosen else []
        for problem in chosen:
            lines.append(f"  {problem.rule}: {problem.message}")
            if problem.rows:
                lines.append(f"    {count(len(problem.rows), 'row')}: {list_names(problem.rows)}")
    return lines


def count(n: int, what: str) -> str:
    """Return "1 row", "2 rows"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
