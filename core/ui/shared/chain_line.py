"""Whether the audit log or the ledger is intact: a small line if it is, an error if not."""

from __future__ import annotations

import streamlit as st

from core.store.chain import Finding
from core.ui.shared.widgets import as_text


def show(finding: Finding) -> None:
    """Show the state of a chain; nothing for an empty one."""
    if not finding.is_intact:
        st.error(as_text(finding.sentence), icon=":material/error:")
    elif finding.entries:
        st.caption(as_text(finding.sentence), help="Store the head elsewhere: `perturbdesk ledger verify --head` checks it.")
