"""Replies of a model in a table: read as those of a run made here (`core.llm.answers`), with the reasoning beside them."""

from __future__ import annotations

from collections.abc import Iterator

from core.base.roles import Repeats, Roles
from core.base.tables import Table
from core.datasets.pairs import duplicate
from core.datasets.submissions import SubmissionTable, TakeRow, count_in, key_of, split_sum
from core.llm.answers import read_label
from core.llm.thinking import part_thinking
from core.types import Flag, Label, Prediction, Rejected, RowResult, TraceEvent

_CERTAIN = {Label.UP: (1.0, 0.0), Label.DOWN: (0.0, 1.0), Label.NONE: (0.0, 0.0)}
_LOOKED_AT = 100  # replies, of which one has to be readable


def are_replies(table: Table, roles: Roles) -> bool:
    """Return whether a table has a column of replies, and an answer can be read in one of the first."""
    if "answer" not in roles.of or not roles.name_pairs:
        return False
    column = table.header.index(roles.of["answer"])
    return any(isinstance(read_label(row[column]), Label) for row in table.sample()[:_LOOKED_AT])


def read_replies(table: Table, roles: Roles, sha256: str, take: TakeRow | None = None) -> SubmissionTable:
    """Return a row for each reply; one that cannot be read has .333/.333, which is flagged.

    take: is given the rows, instead of the table.
    """
    rows: list[RowResult] = []
    lines: dict[str, int] = {}
    models: dict[str, None] = {}
    take = take or rows.append
    repeats = Repeats(table, roles.unused)
    place = {role: table.header.index(name) for role, name in roles.of.items()}
    keys = (place["id"],) if "id" in place else (place["pert"], place["gene"])
    for line, cells in table.records():
        key = table.empty_cell(line, cells, keys) or key_of(table, line, [cells[i] for i in keys])
        if not isinstance(key, Rejected) and repeats.add(key, cells):
            key = duplicate(table, line, key, lines[key])
        if isinstance(key, Rejected):
            table.rejected.append(key)
            continue
        of_role = {role: cells[i] for role, i in place.items()}
        take(_row(key, of_role))
        models[of_role.get("model", "")] = None
        lines[key] = line
    repeats.refuse()
    table.note_unused(roles.unused)
    return SubmissionTable(
        *("submission", "C", "unknown", next(iter(models), "") if len(models) == 1 else "", tuple(rows)),
        lines=tuple(lines.values()),
        rejected=tuple(table.rejected),
        sha256=sha256,
    )  # fmt: skip


def _row(pair_id: str, cells: dict[str, str]) -> RowResult:
    label = read_label(cells["answer"])
    up, down = _CERTAIN[label] if isinstance(label, Label) else (1 / 3, 1 / 3)
    flags = () if isinstance(label, Label) else (Flag.UNIFORM,)
    counts = [count_in(cells.get(role, "")) for role in ("tokens", "prompt_tokens", "tool_calls")]
    return RowResult(Prediction(pair_id, up, down, *split_sum(up, down), "file", flags, *counts), tuple(_events(cells)))


def _events(cells: dict[str, str]) -> Iterator[TraceEvent]:
    parts = part_thinking(cells["answer"])
    for text in (cells.get("reasoning", ""), parts.thinking or ""):
        if text.strip():
            yield TraceEvent("reply", "MODEL", "thought", text)
    yield TraceEvent("reply", "MODEL", "answer", parts.text or cells["answer"])
