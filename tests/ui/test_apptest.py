"""Every page on every kind of workspace, without a browser."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from core.base.config import REPOSITORY
from core.runs import actions
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from core.ui import linked, row_list
from tests.features.fuse import explorer_view
from tests.ui import views
from tests.ui.conftest import APP, Visit, components, forget
from tests.ui.serving import WAIT_S

PAGES = sorted(path.stem for path in (REPOSITORY / "pages").glob("*.py"))
TABS = {
    page: (parameter, titles[1:]) for page, (parameter, titles) in views.TABS.items()
}  # below the first one
NO_TABS = ("tab", ())
VIEWS = [(page, tab) for page in PAGES for tab in ("", *TABS.get(page, NO_TABS)[1])]
REAL_RUNS = ("track_b_sharp", "track_a_logprobs_train2499")  # without labels, and with
WORKSPACES = [
    ("workspace", ""),
    ("demo_workspace", ""),
    *(("real_workspace", run) for run in REAL_RUNS),
]
# Traces of other shapes, on the pages where a trace's shape shows.
OTHER_SHAPES = [
    ("real_workspace", run, page, tab)
    for run in ("track_b_react", "track_c_qwen3_4b")
    for page, tab in (("rows", ""), ("scores", ""), ("share", "Package a run"))
]
MOST = [(*where, *view) for where in WORKSPACES[:-1] for view in VIEWS] + OTHER_SHAPES
LAST = [(*WORKSPACES[-1], *view) for view in VIEWS]
EVERYWHERE = [
    *MOST,
    *(each if not each[-1] else pytest.param(*each, marks=pytest.mark.soak) for each in LAST),
]
# Anything by which a person could change something; a filter is none.
CONTROLS = ("button", "text_input", "text_area", "file_uploader", "toggle", "selectbox")


def tab_of(page: str, tab: str) -> dict[str, str]:
    """The query parameter that opens a tab; none for the first."""
    return {TABS[page][0]: tab} if tab else {}


def text_of(app: AppTest) -> str:
    """All text in the main part of a page, pieces of HTML and labels of links included, one element a line."""
    return "\n".join(filter(None, map(_text, app.main)))


def _text(element: Any) -> str:
    if element.type == "html":
        return str(element.proto.body)
    value = getattr(element, "value", None)
    label = element.proto.label if element.type == "page_link" else getattr(element, "label", None)
    return f"{label or ''} {value if isinstance(value, str) else ''}".strip()


def the_run(workspace: Workspace, name: str = "debate") -> Run:
    with workspace.store.read() as db:
        return runs.find(db, name)


def drawn(app: AppTest) -> dict[str, Any]:
    """What the list of rows in Debates draws; empty without a list."""
    found = components(app, "row_list")
    return json.loads(found[0].bytes[row_list.HASH_BYTES :]) if found else {}


def listed(app: AppTest) -> list[str]:
    """The list of rows in Debates, as ids."""
    return drawn(app).get("ids", [])


def pair_of(app: AppTest) -> str:
    """The heading of the row in Debates, without the addresses of its links."""
    return next(
        re.sub(r"\[(.+?)\]\(.+?\)", r"\1", str(text.value))
        for text in app.markdown
        if str(text.value).startswith("### [")
    )


def numbers(app: AppTest) -> dict[str, str]:
    """The numbers that a page shows to be read first, by their names."""
    found = [
        re.match(r"(.+)  \n\*\*(.+)\*\*", re.sub(r"\\(.)", r"\1", str(each.value)))
        for each in app.main.markdown
    ]
    return {match[1]: match[2] for match in found if match}


def press(app: AppTest, label: str) -> AppTest:
    [button] = [button for button in app.button if button.label == label]
    return button.click().run()


@pytest.mark.few(13)
@pytest.mark.parametrize(("fixture", "run", "page", "tab"), EVERYWHERE)
def test_every_page_runs(
    glance: Visit, request: pytest.FixtureRequest, fixture: str, run: str, page: str, tab: str
) -> None:
    app = glance(
        request.getfixturevalue(fixture), page, **({"run": run} if run else {}), **tab_of(page, tab)
    )
    assert not app.error
    assert text_of(app)
    if fixture == "demo_workspace":  # no tab is left out above
        assert tuple(tab.label for tab in app.tabs)[1:] == TABS.get(page, NO_TABS)[1]


def test_every_page_is_in_the_sidebar(visit: Visit, workspace: Workspace) -> None:
    """But for those of one symbol, to which links lead."""
    linked_to = [each.proto.page for each in visit(workspace, "data").sidebar.get("page_link")]
    assert sorted(linked_to, key=str) == sorted(
        "" if page == "overview" else page for page in views.PAGES
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(("page", "symbol"), [("perturbation", "Pa"), ("gene", "Ga")])
def test_a_symbol_has_a_page_with_its_rows(
    visit: Visit, small_workspace: Workspace, page: str, symbol: str
) -> None:
    app = visit(small_workspace, page, name=symbol)
    assert f"## *{symbol}*" in text_of(app)
    others = {"perturbation": ["Ga", "Gb"], "gene": ["Pa", "Pb"]}  # tests/cases.py
    assert (
        app.dataframe[0].value["gene" if page == "perturbation" else "pert"].tolist()
        == others[page]
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_alone_shows_nothing_and_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    for (
        thread
    ) in threading.enumerate():  # what an earlier test left to compute would open this workspace
        if thread.name in ("background", "settle runs"):
            thread.join(WAIT_S)
    forget()
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(tmp_path / "untouched"))
    sent_to = []
    monkeypatch.setattr(st, "switch_page", lambda where, **_: (sent_to.append(where), st.stop()))
    app = AppTest.from_file(APP).switch_page(f"pages/{page}.py").run()
    assert sent_to == ["app.py"]
    assert not app.main.children
    assert not app.sidebar.children
    assert not (tmp_path / "untouched").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("page", PAGES)
def test_an_empty_workspace_says_what_to_do(visit: Visit, workspace: Workspace, page: str) -> None:
    text = text_of(visit(workspace, page))
    assert re.search("Fetch and import" if page == "data" else "Data|Import one", text)


@pytest.mark.soak
def test_what_a_published_run_lacks_is_said_in_words(
    glance: Visit, real_workspace: Workspace
) -> None:
    app = glance(real_workspace, "rows", run="track_b_sharp")
    text = text_of(app)
    assert "This file has no dossier" in text
    assert any(each.value.endswith(" no label") for each in app.markdown)
    assert {"Label", "Call"}.isdisjoint(
        widget.label for widget in (*app.multiselect, *app.selectbox)
    )
    rows = drawn(app)
    assert {rows["kinds"][label]["name"] for label in rows["labels"]} == {"no label"}
    assert {"hit", "miss"}.isdisjoint(", ".join(rows["says"]).split(", "))


def test_methods_without_briefs_have_no_debate_to_audit(
    glance: Visit, real_workspace: Workspace
) -> None:
    for run, method in (("track_b_react", "react"), ("track_c_qwen3_4b", "local model")):
        text = text_of(glance(real_workspace, "rows", run=run, tab="Audit"))
        assert f"method is {method}, which writes no briefs" in text


def test_the_audit_tells_what_the_published_briefs_are(
    glance: Visit, real_workspace: Workspace
) -> None:
    app = glance(real_workspace, "rows", run="track_b_sharp", tab="Audit")
    text = text_of(app)
    assert (
        "6,556 of 7,252 briefs answer the multiple-choice question instead of arguing, 2,557 of them against"
        in text
    )
    labels = [button.label for button in app.button]
    for number in (
        "1,555 (86%)",
        "1,452 (80%)",
        "2,061 (28%)",
        "4,187 (58%)",
        "794 (44%)",
        "710 (39%)",
        "289 (16%)",
        "1 (0%)",
    ):
        assert number in labels
    assert "the advocates argued" not in text.lower()


@pytest.mark.soak
def test_a_number_of_the_audit_opens_its_rows_and_takes_off_other_filters(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "rows", run="debate", label="up")
    app.session_state["tab"] = "Audit"
    app.run()
    app.button(key="rows-any: answers A, B or C").click().run()
    assert listed(app) == ["Pa_Gb"]
    assert app.query_params["brief"] == "any: answers A, B or C"


# Of the four rows of "debate" (tests/cases.py) all say up .3 and down .1, or .2 and .2, so the most probable is none,
# but for Pc_Gc with .333, .333 and so none .334: hit is Pa_Gb, whose label is none; miss are the other labelled ones.
# P(DE) is .4 three times, .666 for Pc_Gc. Pa_Gb's UP brief is an option; Pb_Ga's trace says other numbers.
FILTERS = [
    ({"label": ["up", "down"]}, ["Pa_Ga", "Pb_Ga"]),
    ({"label": "no label"}, ["Pc_Gc"]),
    ({"call": "miss"}, ["Pa_Ga", "Pb_Ga"]),
    ({"flags": ["did not argue its side", "no answer (.333/.333)"]}, ["Pa_Gb", "Pc_Gc"]),
    ({"q": "DOES NOT affect"}, ["Pa_Gb"]),
    ({"gene": "Ga", "label": "down"}, ["Pb_Ga"]),
    ({"p_de": ["0.5", "1.0"]}, ["Pc_Gc"]),
    ({"order": "P(DE), high first"}, ["Pc_Gc", "Pa_Ga", "Pa_Gb", "Pb_Ga"]),
    ({"brief": "UP: opens with A), B) or C) against its own side"}, ["Pa_Gb"]),
    ({"arguing": "3"}, ["Pa_Gb"]),
    ({"pert": "Pc", "label": "up"}, []),
]


@pytest.mark.soak
@pytest.mark.parametrize(("parameters", "expected"), FILTERS, ids=str)
def test_a_link_with_filters_leaves_the_right_rows(
    visit: Visit,
    small_workspace: Workspace,
    parameters: dict[str, str | Sequence[str]],
    expected: list[str],
) -> None:
    app = visit(small_workspace, "rows", run="debate", **parameters)
    assert listed(app) == expected
    assert {name: app.query_params.get(name) for name in parameters} == parameters
    if not expected:
        assert "None of the 4 rows matches" in text_of(app)


@pytest.mark.soak
def test_rows_with_notes(visit: Visit, small_workspace: Workspace) -> None:
    actions.add_note(small_workspace, "debate", "Pb_Ga", "odd")
    app = visit(small_workspace, "rows", run="debate", noted="true")
    assert listed(app) == ["Pb_Ga"]
    assert "✎" in drawn(app)["marks"][0]


@pytest.mark.soak
def test_next_and_previous_move_within_the_filter(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga", call="miss")
    assert app.button(key="go-left").disabled
    app.button(key="go-right").click().run()
    assert app.query_params["row"] == "Pb_Ga"
    assert pair_of(app) == "### *Pb* ⟶ *Ga*"
    assert app.button(key="go-right").disabled
    app.button(key="go-left").click().run()
    assert pair_of(app) == "### *Pa* ⟶ *Ga*"


@pytest.mark.soak
def test_a_link_to_an_unknown_run_says_so_and_shows_another(
    visit: Visit, small_workspace: Workspace
) -> None:
    for page in ("overview", "rows", "data"):
        app = visit(small_workspace, page, run="nobody")
        assert "not in this workspace" in app.warning[0].value
        assert app.query_params["run"] == the_run(small_workspace).id


@pytest.mark.soak
def test_a_link_to_an_unknown_row_says_so_and_shows_another(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pz_Gz")
    assert "not among these" in text_of(app)
    assert pair_of(app) == "### *Pa* ⟶ *Ga*"
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    assert "not among these" not in text_of(app)


@pytest.mark.soak
@pytest.mark.parametrize(("page", "tab"), [view for view in VIEWS if view[0] == "data"])
def test_a_reader_of_data_finds_nothing_to_change(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, page: str, tab: str
) -> None:
    def controls():
        app = visit(small_workspace, page, **tab_of(page, tab))
        return {kind: len(app.main.get(kind)) for kind in CONTROLS if app.main.get(kind)}

    if tab in ("", "Spaces and leaks", "History", "Runs and notes"):
        assert "button" in controls()
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    assert controls() == (
        {"button": 2} if tab == "Runs and notes" else {}
    )  # a run may be packed and sent in two ways: that changes nothing


@pytest.mark.soak
@pytest.mark.parametrize(
    ("page", "view", "labels"),
    [
        ("rows", {}, {"Add note"}),
        ("run", {"method": "evidence_rules"}, {"Start run"}),
        ("fuse", {}, {"Save", "Save preset", "Apply and save"}),
        ("arguments", {}, {"Add rubric", "Start reading", "Show the cost"}),
    ],
)
def test_a_reader_is_offered_no_action(
    visit: Visit,
    little_demo: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    view: dict[str, str],
    labels: set[str],
) -> None:
    def offered():
        app = visit(little_demo, page, run="simulated debate", **view)
        if page == "fuse":
            explorer_view.opened(app, "presets", "saving", "twin")
        return {button.label for button in app.button}

    assert labels & offered()
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    assert labels.isdisjoint(offered())


@pytest.mark.soak
def test_a_page_that_is_left_before_its_figures_are_drawn_leaves_none_to_the_next(
    visit: Visit, demo_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were drawn into places of the page before, which the browser no longer had: it showed nothing at all."""

    def leave(_):
        raise StopException

    with monkeypatch.context() as only_here:
        only_here.setattr(linked, "describe_unknown", leave)
        app = visit(demo_workspace, "overview")
    app.switch_page("pages/data.py").run()
    assert text_of(app).startswith("## Data")
    assert not app.get("plotly_chart")
