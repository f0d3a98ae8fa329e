"""The order of the list of rows, and the filters that are shown as buttons."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from core.store import predictions, runs
from core.store.predictions import (
    ADVOCATES_DISAGREE,
    CONFIDENTLY_WRONG,
    MOST_ARGUED,
    MOST_ERRORS,
    Order,
)
from core.ui.filters import COUNTED
from tests import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import drawn, listed, text_of

RUN = "simulated debate"


@pytest.mark.soak
def test_an_order_is_offered_where_it_means_something(
    visit: Visit, little_demo: Workspace, small_workspace: Workspace
) -> None:
    orders = visit(little_demo, "rows", run=RUN).selectbox(key="order").options
    assert {CONFIDENTLY_WRONG, MOST_ARGUED, ADVOCATES_DISAGREE} <= set(orders)
    app = visit(small_workspace, "rows", run="debate", order=CONFIDENTLY_WRONG)
    assert listed(app) == ["Pb_Ga", "Pa_Ga", "Pa_Gb", "Pc_Gc"]
    assert (drawn(app)["name"], drawn(app)["meaning"]) == (
        "wrong by",
        COUNTED[CONFIDENTLY_WRONG].meaning,
    )
    assert drawn(app)["values"][:3] == [0.8, 0.7, 0.4]  # of the label it says .2, .3 and .6
    app.button(key="go-right").click().run()
    assert app.query_params["row"] == "Pa_Ga"  # next and previous follow the order


@pytest.mark.soak
def test_active_filters_are_buttons_that_take_them_off(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "rows", run="debate", call="miss", label="up", p_de=["0.2", "0.8"])
    labels = {
        button.key: button.label for button in app.button if str(button.key).startswith("off-")
    }
    assert {key: label.replace("\\", "") for key, label in labels.items()} == {
        "off-label": "label: up ✕",
        "off-call": "call: miss ✕",
        "off-p_de": "P(DE): 0.2–0.8 ✕",
    }
    app.button(key="off-label").click().run()
    app.button(key="off-p_de").click().run()
    assert {button.key for button in app.button if str(button.key).startswith("off-")} == {
        "off-call"
    }
    assert listed(app) == ["Pa_Ga", "Pb_Ga"]
    app.button(key="off-call").click().run()
    assert len(listed(app)) == 4
    assert "call:" not in text_of(app)


@pytest.mark.soak
def test_a_run_that_says_0_or_1_is_sorted_by_what_tells_its_rows_apart(
    visit: Visit, small_workspace: Workspace
) -> None:
    def trace(n, answer="found"):
        steps = [
            {
                f"thought_{i}": "hm",
                f"tool_name_{i}": f"tool {i}",
                f"tool_args_{i}": {},
                f"observation_{i}": answer,
            }
            for i in range(n)
        ]
        return json.dumps({key: value for step in steps for key, value in step.items()})

    rows = [
        ("Pa_Ga", 0, 0, trace(1)),
        ("Pa_Gb", 1, 0, trace(3)),
        ("Pb_Ga", 0, 0, trace(2, "Error querying STRING DB: HTTP Error 404")),
    ]
    assert import_upload(small_workspace, cases.submission(rows), "agent.csv").kind != "failed"
    app = visit(small_workspace, "rows", run="agent")
    assert (listed(app), drawn(app)["name"], drawn(app)["values"]) == (
        ["Pa_Gb", "Pb_Ga", "Pa_Ga"],
        "steps",
        [3, 2, 1],
    )
    app = visit(small_workspace, "rows", run="agent", order=MOST_ERRORS)
    assert (listed(app)[0], drawn(app)["name"], drawn(app)["values"]) == (
        "Pb_Ga",
        "errors",
        [2, 0, 0],
    )
    assert (
        MOST_ERRORS
        not in visit(small_workspace, "rows", run="debate").selectbox(key="order").options
    )
    assert (
        import_upload(
            small_workspace, cases.submission([*rows[1:], ("Pb_Gb", 1, 0, trace(1))]), "quiet.csv"
        ).kind
        != "failed"
    )
    with small_workspace.store.write() as db:  # as a log in which no agent called a tool
        db.execute(
            "UPDATE trace_event SET kind = 'text' WHERE kind = 'tool_call' AND run = ?",
            [runs.find(db, "quiet").id],
        )
    app = visit(small_workspace, "rows", run="quiet")
    assert (drawn(app)["name"], listed(app)[0]) == (
        "length",
        "Pb_Ga",
    )  # where all have 0 steps, these tell nothing
    assert MOST_ERRORS not in app.selectbox(key="order").options


def test_every_order_but_those_by_probability_says_what_it_counts() -> None:
    """One that was forgotten would be shown as P(DE)."""
    counted = {order for order in get_args(Order) if not order.startswith(("file order", "P("))}
    assert counted <= COUNTED.keys()
    assert counted <= predictions._QUANTITIES.keys()
