"""The parts of the page Share's tab Report: its name, saving it by name, and the files."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import product

import plotly.graph_objects as go
import streamlit as st

from core.base import environment
from core.base.records import from_json, to_json
from core.features import hooks
from core.features.sharing.page.choices import apply_saved
from core.features.sharing.page.stop_buttons import base_of_stops
from core.features.sharing.report import selection as reports
from core.features.sharing.report.build import as_pdf, build_file, load_parts
from core.features.sharing.report.material import Byline
from core.features.sharing.report.page import DRAFT
from core.features.sharing.report.question import (
    Parts,
    answer_sentences,
    find_abstract,
    question_text,
)
from core.features.sharing.report.selection import ReportSelection
from core.plots import drawing, printed
from core.plots.printed import CaptionedFigure
from core.runs.workspace import Workspace
from core.ui import links, results
from core.ui.linked import bind
from core.ui.links import confirm
from core.ui.loaders.cache import cache_by, run_version
from core.ui.loaders.records import all_presets
from core.ui.server_workspace import read_workspace
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
    ends = ("html",) if printed.why_no_images() else ("html", "pdf")
    with st.container(horizontal=True):
        for form, end in product(_TITLES, ends):
            st.download_button(
                f"{_TITLES[form]}{' as PDF' * (end == 'pdf')}",
                partial(_make_file, workspace, parts, form, end),
                f"{printed.file_name(parts.name, 'slides' * (form == 'slides'))}.{end}",
                key=f"make-{form}-{end}",
                on_click="ignore",
                icon=":material/download:",
                type="primary" if (form, end) == ("report", "html") else "secondary",
            )
    st.caption(
        "One file each, with its figures inside. It opens offline and contacts no server."
        + ("" if "pdf" in ends else " For a PDF, print it from a browser.")
    )


def _make_file(workspace: Workspace, parts: Parts, form: str, end: str) -> bytes:
    page = make_page(workspace, parts, form)
    return as_pdf(page) if end == "pdf" else page


def make_page(workspace: Workspace, parts: Parts, form: str) -> bytes:
    """Return the HTML of a form of `_TITLES`. Raise StateError if a secret stands in it."""
    content = build_file(parts, slides=form == "slides").content
    environment.refuse_secrets(workspace.settings, f"report {parts.name}", [content])
    return content


_TABLES = ("runs", "datasets", "labels", "rubrics", "ledger", "walks")  # whose rows a report shows


def load(workspace: Workspace, name: str, selection: ReportSelection) -> Parts:
    """Return the parts of a report with the reader's name and today's date; numbers are computed
    once per selection."""
    # The versions of the runs, and what parts read beside the store, which has no version
    files = [repr(part.files(workspace)) for part in hooks("report_parts") if part.files]
    shown = sorted({*selection.runs, *(run for pair in selection.compare for run in pair)})
    versions = (*(run_version(run) for run in shown), *files)
    parts = _load(
        json.dumps(to_json(replace(selection, title="", abstract="", authors="")), sort_keys=True),
        versions,
    )
    byline = Byline(workspace.settings.author, date.today())
    return replace(parts, name=name, selection=selection, byline=byline, base=base_of_stops())


@cache_by(*_TABLES, entries=3, shared=True)
def _load(selection: str, _versions: tuple[object, ...]) -> Parts:
    """Return the parts of a selection, as JSON. _versions: of its runs and of the tested
    hypotheses, only for the key."""
    return load_parts(
        read_workspace(), "", from_json(ReportSelection, json.loads(selection), "report")
    )


def show(parts: Parts) -> None:
    """Show the finding, the abstract, the answer and the main figures."""
    material, selection = parts.material, parts.selection
    text, is_draft = find_abstract(material, selection)
    with st.container(border=True, key="report-preview"):
        st.markdown(f"### {as_text(parts.title)}")
        st.caption(as_text(parts.subtitle))
        results.show_marks(material.dataset.marks)
        if is_draft:
            st.caption(f":orange[⚠ {as_text(DRAFT)}]")
        for part in text.split("\n\n"):
            st.markdown(as_text(part))
        st.markdown(f"#### {as_text(question_text(material))}")
        verdict, *rest = answer_sentences(material)
        st.markdown(f"**{as_text(verdict)}**")
        if rest:
            st.text(" ".join(rest))
        for key, found in parts.figures:
            st.markdown(f"**{as_text(found.headline)}**")
            if found.finding:
                st.text(found.sentence)
            if found.drawn is not None:
                _draw(key, found)
        for key, shown in parts.stops.items():
            st.markdown(f"**{as_text(shown.stop.sentence or shown.stop.title)}**")
            if shown.figure is not None:
                _draw(key, shown.figure)


def _draw(key: str, found: CaptionedFigure) -> None:
    assert found.chart is not None
    surface = "dark" if st.context.theme.type == "dark" else "light"
    # the cached one stays
    drawn = go.Figure(found.chart).update_layout(template=drawing.template(surface))
    st.plotly_chart(
        drawn,
        theme=None,
        key=f"preview-{key}",
        config={"displaylogo": False, "displayModeBar": False},
    )
    st.caption(as_text(found.caption))
