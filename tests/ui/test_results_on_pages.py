"""Wherever a page shows a result, its caveats stand there: by `show_result`, or in a layout of its own.

The results are those of tests/example_results.
"""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.base.result import Result
from core.features.reading.rows import audit_tab
from core.features.scores.page import compare as panels
from core.runs.workspace import Workspace, open_workspace
from core.scoring.compare_runs import RunComparison, SeveralComparisons
from core.scoring.debate_audit import DebateAudit
from core.scoring.score_result import ScoreResult
from core.ui import filters, links, widgets
from core.ui import results as shown_results
from core.ui.results import show_result
from tests.example_results import every_example

SCRIPT = "from tests.ui.test_results_on_pages import show_example as show; show()"


def results() -> list[Result]:
    return [result for _, result in every_example()]


def show_example() -> None:
    """Show one result as its page does."""
    widgets.begin_page(open_workspace(), None, None)
    result = results()[st.session_state["example"]]
    if isinstance(result, ScoreResult):
        shown_results.show_marks(result.label_marks)
        shown_results.show_run_score(result)
    elif isinstance(result, RunComparison):
        shown_results.show_marks(result.label_marks)
        panels.show_verdict(result)
    elif isinstance(result, SeveralComparisons):
        comparisons = [each.comparison for each in result.comparisons]
        shown_results.show_marks(comparisons[0].label_marks)
        panels.show_verdict(comparisons[0])
        panels.show_several(comparisons)
    elif isinstance(result, DebateAudit):
        audit_tab.show(
            next(each.run for each in results() if isinstance(each, ScoreResult)), result
        )
    else:
        show_result(result, "a run", "result")


def words_of(result: int) -> str:
    """All text on the page, without the escapes of Markdown."""
    page = AppTest.from_string(SCRIPT, default_timeout=60)
    page.session_state["example"] = result
    page.run()
    texts = [
        each.value for kind in ("markdown", "caption", "text", "warning") for each in page.get(kind)
    ]
    return "\n".join(texts).replace("\\", "").replace("\u2060", "")


@pytest.fixture(autouse=True)
def without_other_pages(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    """This script is none of the app's pages, so it links to none."""
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(workspace.settings.workspace))
    monkeypatch.setattr(links, "to_page", lambda *_, **__: None)
    monkeypatch.setattr(filters, "show_rows_button", lambda *_, **__: None)
    monkeypatch.setattr(widgets, "_DRAWN_S", 0)


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(i, id=f"{type(each).__name__}-{i}")
        for i, each in enumerate(results())
        if each.caveats
    ],
)
def test_a_page_says_every_caveat_of_a_result(result: int) -> None:
    shown = results()[result]
    several = shown.comparisons if isinstance(shown, SeveralComparisons) else ()
    caveats = [caveat for each in several for caveat in each.comparison.caveats] or shown.caveats
    words = words_of(result)
    assert not [caveat for caveat in caveats if caveat not in words]
