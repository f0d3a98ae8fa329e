"""The dossier of a row: the evidence shown to the agents, one card per answer of a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.base.texts import count_text, quantity_text
from core.evidence import render
from core.features.reading.rows.marked_text import Marks, to_lines
from core.plots import theme
from core.scoring.row_trace import NO_DOSSIER, Event, why_no_dossier
from core.ui import tables
from core.ui.linked import choose_one
from core.ui.widgets import as_text


def show(
    items: Sequence[dict[str, Any]], events: Sequence[Event], marks: Marks, parameter: str
) -> None:
    """Show the evidence shown to the agents, folded unless it contains the searched words.

    The first answer with these words is chosen. parameter: the query parameter of the chosen
    answer.
    """
    if not items:
        if why_no_dossier(events) == NO_DOSSIER:  # tools' answers among the steps stand above
            st.caption(NO_DOSSIER)
        return
    hits = [marks.count_hits(json.dumps(item["body"], ensure_ascii=False)) for item in items]
    # The names of answers in a link: their tools', numbered from a tool's second answer on; the
    # next row shows the same card
    tools = [str(item["tool"]) for item in items]
    earlier = [tools[:i].count(tool) for i, tool in enumerate(tools)]
    cards = [f"{tool} {n + 1}" if n else tool for tool, n in zip(tools, earlier, strict=True)]
    found = [f" · {count_text(n, 'hit')}" if n else "" for n in hits]
    titles = {
        card: as_text(f"{render.card_title(item)}{words}")
        for card, item, words in zip(cards, items, found, strict=True)
    }
    first = cards[next((i for i, n in enumerate(hits) if n), 0)]
    with st.expander(f"Dossier: {count_text(len(items), 'answer')}", expanded=any(hits)):
        chosen = choose_one(
            st.pills, parameter, "Answer", titles, first, wrap=True, label_visibility="collapsed"
        )
        _show_item(items[cards.index(chosen or first)], marks)


def _show_item(item: Mapping[str, Any], marks: Marks) -> None:
    if item["status"] != "ok":
        st.caption(f":orange[⚠ {item['status']}]: the agents got no answer from this tool")
    lines, lists = render.split_body(item["body"])
    for entries in lists:
        _show_table(entries, marks)
    if lines:
        st.markdown(to_lines("\n".join(lines), marks))
    st.caption(as_text(render.source_line(item)))


def _show_table(entries: Sequence[Mapping[str, Any]], marks: Marks) -> None:
    """Show entries of short values as a table, and mark the cells with the searched words."""
    table = pd.DataFrame(entries)
    floats = table.select_dtypes("float").columns
    table[floats] = table[floats].map(quantity_text)
    columns = {
        str(name): st.column_config.Column(
            str(name).replace("_", " "), alignment="right" if name in floats else None
        )
        for name in table
    }
    hit = f"background-color: {theme.WARNING}55"
    has_hit = any(marks.count_hits(str(value)) for entry in entries for value in entry.values())
    shown = (
        table.style.map(lambda value: hit if marks.count_hits(str(value)) else "")
        if has_hit
        else table
    )
    tables.show_table(shown, None, columns)
