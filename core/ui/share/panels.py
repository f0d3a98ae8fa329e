"""The parts of the page Share's tab Report: its name, saving it by name, and the files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from core.actions import machine_names, reports
from core.actions.workspace import Workspace
from core.plots import printed
from core.report.build import build_file
from core.report.parts import Parts
from core.report.printing import as_pdf
from core.report.selection import ReportSelection
from core.ui.share.choices import apply_saved
from core.ui.shared import links, loaders
from core.ui.shared.confirmation import confirm
from core.ui.shared.linked import bind
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text

# A file's title on its button, and the end of its name.
_FORMS = {
    "html": ("The report", "html"),
    "slides": ("The slides", "html"),
    "pdf": ("The report as PDF", "pdf"),
    "slides-pdf": ("The slides as PDF", "pdf"),
}


def show_name(context: PageContext) -> str:
    """Show the field for the report's name, and the saved reports; return the name."""
    left, right = st.columns([0.55, 0.45], vertical_alignment="bottom")
    usual = f"Report on {context.dataset.name}" if context.dataset else "Report"
    name = left.text_input("Name", placeholder=usual, max_chars=60, **bind("title")) or usual
    saved = loaders.all_presets(reports.PAGE)
    with right.popover("Saved", width="stretch", help="Saved reports", icon=":material/bookmark:", disabled=not saved):
        _show_saved(context.workspace, saved)
    return name.strip()


def _show_saved(workspace: Workspace, saved: Mapping[str, Mapping[str, Any]]) -> None:
    for name, selection in saved.items():
        st.button(as_text(name), key=f"saved-{name}", on_click=apply_saved, args=(selection, name), width="stretch")
    if workspace.settings.read_only:
        return
    gone = st.selectbox("Delete a report", list(saved), index=None, key="preset_gone", placeholder="choose")
    if gone is not None and st.button("Delete report", key="delete-report"):
        reports.delete_report(workspace, gone)
        confirm(f"Deleted the report {gone}.", _link_to_changes)
        st.rerun()


def show_save(workspace: Workspace, name: str, selection: ReportSelection) -> None:
    """Show the button that saves the choices under the name, unless the workspace is read-only."""
    if workspace.settings.read_only:
        return
    known = loaders.all_presets(reports.PAGE).get(name)
    is_saved = known == selection.as_json()
    label = "Saved" if is_saved else "Replace the saved report" if known else "Save report"
    if st.button(label, key="save-report", disabled=is_saved, icon=":material/save:"):
        reports.save_report(workspace, name, selection.as_json(), replace=True)
        confirm(f"Saved the report {name}.", _link_to_changes)
        st.rerun()
    if is_saved:
        st.caption(f"The same file by a command: perturbdesk report build {as_text(repr(name))} --out report.html")


def _link_to_changes() -> None:
    links.to_data("Changes", tab="History")


def show_downloads(workspace: Workspace, parts: Parts) -> None:
    """Show the files; each is made when its button is pressed."""
    reason = printed.why_no_images()
    with st.container(horizontal=True):
        for form, (label, end) in _FORMS.items():
            if end == "pdf" and reason:
                continue
            st.download_button(
                label,
                partial(make_file, workspace, parts, form),
                f"{printed.file_name(parts.name, 'slides' if form.startswith('slides') else '')}.{end}",
                key=f"make-{form}",
                on_click="ignore",
                icon=":material/download:",
                type="primary" if form == "html" else "secondary",
            )
    st.caption("One file each, with its figures inside. It opens offline and contacts no server.")
    if reason:
        st.caption("PDF needs Chromium, which is not installed here. Open the report in a browser and print it.")


def make_file(workspace: Workspace, parts: Parts, form: str) -> bytes:
    """Return the bytes of a file of `_FORMS`."""
    content = build_file(parts, slides=form.startswith("slides")).content
    machine_names.refuse_secrets(workspace.settings, f"report {parts.name}", [content])
    return as_pdf(content) if _FORMS[form][1] == "pdf" else content
