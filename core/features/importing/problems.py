"""Problems of a file that leaves the workspace: a submission, a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from core.base.texts import list_names

# what the judge rejects; what the challenge's text forbids; what is worth a look
Severity = Literal["rejected", "against_rules", "look"]
SEVERITIES: dict[Severity, str] = {
    "rejected": "rejected",
    "against_rules": "against the rules",
    "look": "worth a look",
}
Row = str | int  # an id, or the number of a row (from 1)


class Problem(NamedTuple):
    """One problem; rows: the affected ones, by id, or by number if a row has none; empty for the
    whole file."""

    rule: str
    severity: Severity
    rows: tuple[Row, ...]
    message: str


def problem_records(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON."""
    return [{**problem._asdict(), "rows": list(problem.rows)} for problem in problems]


def problem_lines(problems: Sequence[Problem]) -> list[str]:
    """Return the problems by severity, each with how many rows it names and the first of them."""
    lines = []
    for severity, name in SEVERITIES.items():
        chosen = [problem for problem in problems if problem.severity == severity]
        lines += [f"{name}: {len(chosen):,}"] if chosen else []
        for problem in chosen:
            lines.append(f"  {problem.rule}: {problem.message}")
            if problem.rows:
                lines.append(f"    {count(len(problem.rows), 'row')}: {list_names(problem.rows)}")
    return lines


def count(n: int, what: str) -> str:
    """Return "1 row", "2 rows"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
