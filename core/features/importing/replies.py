"""Replies of a model in a table: read as those of a run made here (`core.llm.answers`), with the
reasoning beside them."""

from __future__ import annotations

from collections.abc import Iterator

from core.base.tables import Table
from core.base.types import Flag, Label, Prediction, Rejected, RowResult, TraceEvent
from core.features.importing.pairs import IDENTITY, name_row, unique_rows
from core.features.importing.roles import Roles
from core.features.importing.submissions import SubmissionTable, TakeRow, count_in, split_sum
from core.llm.answers import read_label
from core.llm.completion import part_thinking

_CERTAIN = {Label.UP: (1.0, 0.0), Label.DOWN: (0.0, 1.0), Label.NONE: (0.0, 0.0)}
_LOOKED_AT = 100  # replies, of which one has to be readable


def are_replies(table: Table, roles: Roles) -> bool:
    """Return whether a table has a column of replies, and an answer can be read in one of the
    first."""
    if "answer" not in roles.of or not roles.name_pairs:
        return False
    column = table.header.index(roles.of["answer"])
    return any(isinstance(read_label(row[column]), Label) for row in table.sample()[:_LOOKED_AT])


def read_replies(
    table: Table, roles: Roles, sha256: str, take: TakeRow | None = None
) -> SubmissionTable:
    """Return a row for each reply; one that cannot be read has .333/.333, which is flagged.

    take: is given the rows, instead of the table.
    """
    rows: list[RowResult] = []
    lines: list[int] = []
    models: dict[str, None] = {}
    take = take or rows.append
    table.note_unused(roles.unused)
    place = {role: table.header.index(name) for role, name in roles.of.items()}

    def read(line: int, cells: list[str]) -> tuple[str, list[str]] | Rejected:
        name = name_row(
            table, line, cells, {role: i for role, i in place.items() if role in IDENTITY}
        )
        return name if isinstance(name, Rejected) else (name[0], cells)

    for key, line, cells in unique_rows(table, roles.unused, read):
        of_role = {role: cells[i] for role, i in place.items()}
        take(_row(key, of_role))
        models[of_role.get("model", "")] = None
        lines.append(line)
    return SubmissionTable(
        *(
            "submission",
            "C",
            "unknown",
            next(iter(models), "") if len(models) == 1 else "",
            tuple(rows),
        ),
        lines=tuple(lines),
        rejected=tuple(table.rejected),
        sha256=sha256,
    )


def _row(pair_id: str, cells: dict[str, str]) -> RowResult:
    label = read_label(cells["answer"])
    up, down = _CERTAIN[label] if isinstance(label, Label) else (1 / 3, 1 / 3)
    flags = () if isinstance(label, Label) else (Flag.UNIFORM,)
    counts = [count_in(cells.get(role, "")) for role in ("tokens", "prompt_tokens", "tool_calls")]
    return RowResult(
        Prediction(pair_id, up, down, *split_sum(up, down), "file", flags, *counts),
        tuple(_events(cells)),
    )


def _events(cells: dict[str, str]) -> Iterator[TraceEvent]:
    parts = part_thinking(cells["answer"])
    for text in (cells.get("reasoning", ""), parts.thinking or ""):
        if text.strip():
            yield TraceEvent("reply", "MODEL", "thought", text)
    yield TraceEvent("reply", "MODEL", "answer", parts.text or cells["answer"])
