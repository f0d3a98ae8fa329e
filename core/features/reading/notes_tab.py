"""Data, tab Runs and notes: people's notes on runs, rows and figures of the dataset."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from core.base.texts import count_text
from core.plots.printed import file_name
from core.runs import actions as run_actions
from core.ui import links, results, widgets
from core.ui.links import confirm
from core.ui.loaders.records import dataset_notes
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import show_empty


def show(context: PageContext) -> None:
    """Show the notes of the dataset, newest first, with downloads, and a form that deletes the
    user's own."""
    if context.dataset is None:
        show_empty("There is no dataset yet.")
        return
    notes = dataset_notes(context.dataset.id)
    if notes.empty:
        show_empty(
            "There are no notes yet. Write them below a row of Rows, or with the pencil below a"
            " figure."
        )
        return
    st.caption(f"{count_text(len(notes), 'note')}; the table’s own search finds authors and words.")
    columns = {"about": st.column_config.LinkColumn("about", display_text=r"#(.*)")}
    about = [
        _about(context.dataset.id, note)
        for note in notes.astype(object).where(notes.notna(), None).to_dict("records")
    ]
    table = pd.DataFrame(
        {
            "when": notes["written_at"].dt.strftime("%Y-%m-%d %H:%M").to_numpy(),
            "by": notes["author"].to_numpy(),
            "run": notes["run"].to_numpy(),
            "about": about,
            "note": notes["text"].to_numpy(),
        }
    )
    results.show_table(table, None, columns)
    plain = notes.drop(columns=["id", "run_id", "address"])
    widgets.show_table_buttons(plain, "notes", file_name(context.dataset.name, "notes"))
    _show_deletion(context, notes)


def _about(dataset: str, note: Mapping[Hashable, Any]) -> str:
    """Return the address of a note's subject, and its name behind a #."""
    if note["figure"]:
        return f"{note['address']}#{note['figure']}"
    row = {} if note["pair_id"] is None else {"row": str(note["pair_id"])}
    name = row["row"].replace("_", " ⟶ ") if row else "the run"
    return f"{links.page_address('rows', dataset=dataset, run=note['run_id'], **row)}#{name}"


def _show_deletion(context: PageContext, notes: pd.DataFrame) -> None:
    """Show the form that deletes notes of this author."""
    settings = context.workspace.settings
    own = notes[notes["author"] == settings.author]
    if settings.read_only or own.empty:
        return
    titles = dict(zip(own["id"], own["text"].str.slice(0, 80), strict=True))
    which, go = st.columns([0.7, 0.3], vertical_alignment="bottom")
    chosen = which.selectbox(
        "Delete a note of yours",
        list(titles),
        format_func=titles.__getitem__,
        index=None,
        key="note_gone",
    )
    if go.button("Delete the note", disabled=chosen is None) and chosen:
        with explain_errors():
            run_actions.delete_note(context.workspace, chosen)
            confirm("Deleted the note; the audit log still has it.", links.to_changes)
