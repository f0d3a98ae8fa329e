"""Uploads before they are imported: what each column is taken for, what the file becomes, and
controls to correct both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.base.archives import bare_name
from core.base.errors import DeskError
from core.features.importing.import_target import ImportOptions
from core.features.importing.preview import Preview, preview_upload
from core.features.importing.roles import ROLES
from core.runs.workspace import Workspace
from core.ui import results
from core.ui.widgets import as_text

_PREVIEWS = "_import_previews"  # session key: (file, options) → preview
_TABLES: Final = (".csv", ".tsv", ".tab", ".txt", ".xlsx", ".parquet", ".json", ".jsonl", ".ndjson")
_BOXES: Final = 4  # beside each other
_MOST_BYTES: Final = 100 << 20
# Roles that can be given to columns although none was recognised.
_USUAL: Final = (
    "id",
    "pert",
    "gene",
    "label",
    "up",
    "down",
    "p_de",
    "p_up_given_de",
    "answer",
    "reasoning",
)


def ask_options(workspace: Workspace, file: Any, options: ImportOptions) -> ImportOptions:
    """Show what an uploaded table is taken for, and return the options with a person's corrections;
    other files are not shown."""
    if Path(bare_name(file.name)).suffix.lower() not in _TABLES or file.size > _MOST_BYTES:
        return options
    guessed = _preview(workspace, file, options)
    if not guessed.columns:
        _show_summary(file.name, guessed)
        return options
    summary = st.container()
    with st.expander("Columns, and what becomes of them", expanded=bool(guessed.message)):
        read = st.container()
        corrected = _ask_corrections(guessed, file.file_id, options)
    preview = guessed if corrected == options else _preview(workspace, file, corrected)
    with summary:
        _show_summary(file.name, preview)
    with read:
        results.show_table(pd.DataFrame(preview.lines()), None, key=f"columns-{file.file_id}")
    return corrected


def forget() -> None:
    """Forget the previews, since an import changes what the next one would do."""
    st.session_state.pop(_PREVIEWS, None)


def _preview(workspace: Workspace, file: Any, options: ImportOptions) -> Preview:
    """Return the preview of a file, which is read once for each choice of options."""
    previews: dict[tuple[str, str], Preview] = st.session_state.setdefault(_PREVIEWS, {})
    key = (file.file_id, repr(options))
    if key not in previews:
        with st.spinner("Reading …"):
            try:
                previews[key] = preview_upload(workspace, file.name, file, options)
            except DeskError as error:
                return Preview(file.name, "failed", message=str(error))
    return previews[key]


def _show_summary(name: str, preview: Preview) -> None:
    st.markdown(f"**{as_text(name)}**: {as_text(preview.sentence or 'not read yet')}")
    if preview.message:
        st.warning(as_text(preview.message), icon=":material/warning:")
    rejected = [f"{preview.rejected:,} rows cannot be read"] if preview.rejected else []
    for note in (*rejected, *preview.notes):
        st.caption(as_text(note))


def _ask_corrections(preview: Preview, key: str, options: ImportOptions) -> ImportOptions:
    """Show a choice of column for each role, of rows, and of the dataset; return the options with
    what was changed."""
    column_of = {column.role: column.name for column in preview.columns if column.role in ROLES}
    places = st.columns(_BOXES)
    chosen: dict[str, str] = {}
    for i, role in enumerate(dict.fromkeys((*column_of, *_USUAL))):
        names, guessed = [c.name for c in preview.columns], column_of.get(role)
        column = places[i % _BOXES].selectbox(
            role.replace("_", " "),
            names,
            None if guessed is None else names.index(guessed),
            key=f"role-{role}-{key}",
            placeholder="none",
            help=ROLES[role].meaning,
        )
        if column is not None and column != guessed:
            chosen[role] = column
    rows, target = st.columns(2)
    where = rows.text_input("Only rows with", placeholder="COLUMN=VALUE", key=f"where-{key}")
    name, _, value = where.partition("=")
    dataset = target.text_input(
        "Dataset, here or new", placeholder=preview.name or "", key=f"dataset-{key}"
    )
    kept = (
        {role: column for role, column in _said(preview).items() if column not in chosen.values()}
        if chosen
        else {}
    )
    table = replace(
        options.table,
        columns={**options.table.columns, **kept, **chosen},
        where={name.strip(): value.strip()}
        if name.strip() and value.strip()
        else options.table.where,
    )
    return replace(options, table=table, dataset=dataset.strip() or options.dataset)


def _said(preview: Preview) -> Mapping[str, str]:
    """Return role → column as a person said it earlier."""
    return {
        column.role: column.name
        for column in preview.columns
        if column.role in ROLES and not column.guessed
    }
