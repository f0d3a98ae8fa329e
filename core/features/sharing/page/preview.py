"""The preview of a report beside its form."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import plotly.graph_objects as go
import streamlit as st

from core.base.records import from_json, to_json
from core.features import hooks
from core.features.sharing.page.stop_buttons import links_of_stops
from core.features.sharing.report.build import load_parts
from core.features.sharing.report.byline import Byline
from core.features.sharing.report.page import DRAFT
from core.features.sharing.report.parts import Parts
from core.features.sharing.report.question import answer_sentences, find_abstract, question_text
from core.features.sharing.report.selection import ReportSelection
from core.plots import theme
from core.plots.captioned import CaptionedFigure
from core.runs.workspace import Workspace
from core.ui import score_box
from core.ui.loaders.cache import cache_by, run_version
from core.ui.server_workspace import read_workspace
from core.ui.widgets import as_text

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
    return replace(parts, name=name, selection=selection, byline=byline, links=links_of_stops())


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
        score_box.show_marks(material.dataset.marks)
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
            if found.chart is not None:
                _draw(key, found)
        for key, shown in parts.stops.items():
            st.markdown(f"**{as_text(shown.stop.sentence or shown.stop.title)}**")
            if shown.figure is not None:
                _draw(key, shown.figure)


def _draw(key: str, found: CaptionedFigure) -> None:
    assert found.chart is not None
    surface = "dark" if st.context.theme.type == "dark" else "light"
    # the cached one stays
    drawn = go.Figure(found.chart).update_layout(template=theme.template(surface))
    st.plotly_chart(
        drawn,
        theme=None,
        key=f"preview-{key}",
        config={"displaylogo": False, "displayModeBar": False},
    )
    st.caption(as_text(found.caption))
