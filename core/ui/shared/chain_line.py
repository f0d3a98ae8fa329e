"""Whether the audit log or the ledger is as it was written: a quiet line if it is, an error at full size if not."""

from __future__ import annotations

import streamlit as st

from core.store.chain import Finding
from core.ui.shared.widgets import as_text


def show(finding: Finding) -> None:
    """Show what was found of a chain; nothing of one without entries."""
    if not finding.is_intact:
        st.error(as_text(finding.sentence), icon=":material/error:")
    elif finding.entries:
        st.caption(as_text(finding.sentence), help="Note the head elsewhere: `perturbdesk ledger verify --head` finds it again.")
