"""The box in which a specification of a benchmark is written or pasted."""

from __future__ import annotations

import streamlit as st

from core.config import REPOSITORY
from core.ui.shared.widgets import as_text

EXAMPLE = REPOSITORY / "docs" / "examples" / "llm_against_llm_knn.toml"


def show_spec_box(key: str) -> str:
    """Show the box, filled with the example; return its text. key: of the widget."""
    st.caption(as_text("A TOML file: rows, folds, arms, and what decides. Every key is described in docs/benchmarks.md."))
    example = EXAMPLE.read_text("utf-8") if EXAMPLE.exists() else ""
    return st.text_area("Specification", example, height=320, key=f"spec-{key}") or ""
