"""The parts of the page Share's tab Report: its name, saving it by name, and the files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.base import environment
from core.features.sharing import actions as reports
from core.features.sharing.page.choices import apply_saved
from core.features.sharing.report.build import build_file
from core.features.sharing.report.parts import Parts
from core.features.sharing.report.printing import as_pdf
from core.features.sharing.report.selection import ReportSelection
from core.plots import printed
from core.runs.workspace import Workspace
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.linked import bind
from core.ui.loaders.records import all_presets
from core.ui.shell import PageContext
from core.ui.widgets import as_text

_TITLES = {"report": "The report", "slides": "The slides"}  # of the forms of a report


def show_name(context: PageContext) -> str:
    """Show the field for the report's name, and the saved reports; return the name."""
    left, right = st.columns([0.55, 0.45], vertical_alignment="bottom")
    usual = f"Report on {context.dataset.name}" if context.dataset else "Report"
    name = left.text_input("Name", placeholder=usual, max_chars=60, **bind("title")) or usual
    saved = all_presets(reports.PAGE)
    with right.popover(
        "Saved",
        width="stretch",
        help="Saved reports",
        icon=":material/bookmark:",
        disabled=not saved,
    ):
        for title, selection in saved.items():
            st.button(
                as_text(title),
                key=f"saved-{title}",
                on_click=apply_saved,
                args=(selection, title),
                width="stretch",
            )
        if not context.read_only:
            gone = st.selectbox(
                "Delete a report", list(saved), index=None, key="preset_gone", placeholder="choose"
            )
            if gone is not None and st.button("Delete report", key="delete-report"):
                reports.delete_report(context.workspace, gone)
                confirm(f"Deleted the report {gone}.", links.to_changes)
    return name.strip()


def show_save(workspace: Workspace, name: str, selection: ReportSelection) -> None:
    """Show the button that saves the choices under the name, unless the workspace is read-only."""
    if workspace.settings.read_only:
        return
    known = all_presets(reports.PAGE).get(name)
    is_saved = known == selection.as_json()
    label = "Saved" if is_saved else "Replace the saved report" if known else "Save report"
    if st.button(label, key="save-report", disabled=is_saved, icon=":material/save:"):
        reports.save_report(workspace, name, selection.as_json(), replace=True)
        confirm(f"Saved the report {name}.", links.to_changes)
    if is_saved:
        st.caption(
            f"The same file by a command: perturbdesk report build {as_text(repr(name))} --out"
            " report.html"
        )


def show_downloads(workspace: Workspace, parts: Parts) -> None:
    """Show the files, each made when its button is pressed: HTML in less than a second, a PDF in up
    to half a minute."""
    reason = printed.why_no_images()
    with st.container(horizontal=True):
        for form in _TITLES:
            _show_download(parts, form, "html", partial(make_page, workspace, parts, form))
        for form in () if reason else _TITLES:
            _show_download(parts, form, "pdf", partial(_make_pdf, workspace, parts, form))
    st.caption("One file each, with its figures inside. It opens offline and contacts no server.")
    if reason:
        st.caption(
            "PDF needs Chromium, which is not installed here. Open the report in a browser and"
            " print it."
        )


def _show_download(parts: Parts, form: str, end: str, make: Callable[[], bytes]) -> None:
    st.download_button(
        f"{_TITLES[form]}{' as PDF' * (end == 'pdf')}",
        make,
        f"{printed.file_name(parts.name, 'slides' * (form == 'slides'))}.{end}",
        key=f"make-{form}-{end}",
        on_click="ignore",
        icon=":material/download:",
        type="primary" if (form, end) == ("report", "html") else "secondary",
    )


def make_page(workspace: Workspace, parts: Parts, form: str) -> bytes:
    """Return the HTML of a form of `_TITLES`. Raise StateError if a secret stands in it."""
    content = build_file(parts, slides=form == "slides").content
    environment.refuse_secrets(workspace.settings, f"report {parts.name}", [content])
    return content


def _make_pdf(workspace: Workspace, parts: Parts, form: str) -> bytes:
    return as_pdf(make_page(workspace, parts, form))
