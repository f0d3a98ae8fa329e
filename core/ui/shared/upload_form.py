"""The upload of one's own files: tables, packs and embeddings, recognised by their content."""

from __future__ import annotations

import streamlit as st

from core.actions import imports
from core.actions.imports import ImportOptions, OnFile
from core.actions.workspace import Workspace
from core.ui.shared import after_import
from core.ui.shared.shell import explain_errors
from core.ui.shared.widgets import as_text


def show(workspace: Workspace, key: str, options: ImportOptions) -> None:
    """Show the upload and its button; afterwards what came is chosen on the page."""
    label = "Tables, knowledge packs, embeddings: recognised by content"
    files = st.file_uploader(label, accept_multiple_files=True, key=f"upload{key}")
    if st.button("Import uploaded files", disabled=not files, type="primary"):
        with explain_errors():
            uploads = [(f.name, f) for f in files]
            show_step = show_progress()
            after_import.take(imports.import_uploads(workspace, uploads, options, show_step), show_step)


def show_progress() -> OnFile:
    """Show a bar, and return what moves it and names what begins."""
    bar = st.progress(0.0, "Reading …")
    return lambda share, what: bar.progress(share, as_text(f"{what} …"))
