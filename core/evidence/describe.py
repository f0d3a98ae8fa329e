"""What a tool answered as people read it: its title, its values as lines, its lists of short values
as tables, its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.base.texts import quantity_text

LONGEST_CELL = 60  # characters: longer texts are read as lines, not in a table
Entries = Sequence[Mapping[str, Any]]


def card_title(item: Mapping[str, Any]) -> str:
    """Return the tool and its query. item: the fields of `Evidence`."""
    return f"{item['tool'].replace('_', ' ')} · {item['key'].replace('|', ' ⟶ ')}"


def split_body(body: Mapping[str, Any]) -> tuple[list[str], list[Entries]]:
    """Return the lines of an answer, and the lists of its entries that fit a table."""
    lines: list[str] = []
    lists: list[Entries] = []
    for name, value in body.items():
        if not (
            isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value)
        ):
            lines.append(f"{name.replace('_', ' ')}: {value_text(value)}")
        elif _is_prose(value):
            lines += ["", *("\n".join((*_describe_entry(entry), "")) for entry in value)]
        else:
            lists.append(value)
    return lines, lists


def source_line(item: Mapping[str, Any]) -> str:
    """Return an answer's source, its date, and the labels that the tool saw. item: the fields of
    `Evidence`."""
    date = f", {item['retrieved_at']:%Y-%m-%d}" if item["retrieved_at"] else ""
    labels = f", labels seen: {item['view']}" if item["view"] else ""
    return f"Source: {item['source']}{date}{labels}"


def value_text(value: object) -> str:
    """Return one value of typed evidence as text; an en dash if there is none."""
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return quantity_text(value)
    return "–" if value in (None, "") else str(value)


def _is_prose(entries: Entries) -> bool:
    """Return whether entries hold texts to read, such as passages of articles."""
    return any(
        isinstance(value, str) and len(value) > LONGEST_CELL
        for entry in entries
        for value in entry.values()
    )


def _describe_entry(entry: Mapping[str, Any]) -> list[str]:
    """Return an entry's short values in one line, and each of its long texts on a separate line."""
    short = {
        name: value
        for name, value in entry.items()
        if not (isinstance(value, str) and len(value) > LONGEST_CELL)
    }
    words = [
        f"PMID {value}" if name == "pmid" else f"{name.replace('_', ' ')}: {value_text(value)}"
        for name, value in short.items()
    ]
    return [" · ".join(words), *(str(value) for name, value in entry.items() if name not in short)]
