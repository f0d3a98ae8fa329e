"""The path of a file or folder on the server's machine, typed on a page."""

from __future__ import annotations

import streamlit as st

from core.base.config import Settings, import_folders
from core.ui.linked import bind
from core.ui.widgets import as_text


def ask_path(settings: Settings, title: str, example: str, key: str) -> str | None:
    """Show the field of a path and the folders that may contain it; return the path, None where
    paths are off."""
    folders = import_folders(settings, st.get_option("server.address"))
    if not folders:
        st.caption(
            "From this machine: off, since other machines can reach this app. Upload the file, or"
            " use a command."
        )
        return None
    path: str = st.text_input(title, placeholder=str(folders[0] / example), **bind(key))
    st.caption(f"Inside {' or '.join(as_text(folder) for folder in folders)}.")
    return path
