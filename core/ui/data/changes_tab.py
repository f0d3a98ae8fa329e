"""Data, tab Changes: who changed what, when."""

from __future__ import annotations

import json
import re

import pandas as pd
import streamlit as st

from core.store.chain import Finding
from core.ui.shared import chain_line
from core.ui.shared.widgets import as_text, show_empty

_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_HASH_DIGITS = 12  # of a SHA-256, which are enough to tell files apart


def show(changes: pd.DataFrame, finding: Finding) -> None:
    """Show the last lines of the audit log in full, and whether all are as they were written.

    A static table breaks its lines, so that nothing is cut.
    """
    chain_line.show(finding)
    if changes.empty:
        show_empty("Nothing has been changed yet.")
        return
    shown = pd.DataFrame(
        {
            "when": changes["changed_at"].dt.strftime("%Y-%m-%d %H:%M"),
            "by": changes["author"].map(as_text),
            "what": changes["action"].map(as_text),
            "of": changes["subject"].map(as_text),
            "detail": changes["detail"].map(detail_text).map(as_text),
        }
    )
    with st.container(key="changes"):  # the style sheet sets the widths of its columns
        st.table(shown, border="horizontal", hide_index=True, alt="The latest changes")


def detail_text(detail: str) -> str:
    """The detail of a change, recorded as JSON, as "rows: 2,499, name: debate"; of a SHA-256 its beginning.

    What is no JSON object, since somebody changed the store's file, is shown as it is.
    """
    try:
        recorded = json.loads(detail)
    except ValueError:
        return detail
    if not isinstance(recorded, dict):
        return detail
    known = {name.replace("_", " "): value for name, value in recorded.items()}
    return ", ".join(f"{name}: {_value_text(value)}" for name, value in known.items())


def _value_text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _HASH.sub(lambda found: found[0][:_HASH_DIGITS], str(value))
