"""What Debates shows of one row, beside other runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from core.features.reading.rows.row import describe_label
from core.runs.workspace import Workspace
from core.store import predictions, runs
from tests.ui.conftest import OpenTab, Visit, button, settle
from tests.ui.serving import Server
from tests.ui.test_apptest import pair_of, text_of


@pytest.mark.soak
def test_runs_side_by_side_each_show_dossier_and_trace(
    glance: Visit, demo_workspace: Workspace
) -> None:
    with demo_workspace.store.read() as db:
        run = runs.find(db, "simulated debate").id
        other = runs.find(db, "simulated collapsed debate").id
        pair_id = predictions.find_pair_ids(db, run, predictions.RowFilter())[0]
    app = glance(demo_workspace, "rows", **{"run": run, "with": other, "row": pair_id})
    assert {"id-card", f"id-card-{other}"} <= {each.key for each in app.pills}
    assert len([text for text in app.markdown if "Does it change at all?" in text.value]) == 2


@pytest.mark.soak
def test_small_numbers_are_read_in_a_sentence(visit: Visit, small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        db.execute(
            "UPDATE prediction SET prediction_up = 5.49e-11, prediction_down = 0.25 WHERE pair_id = 'Pa_Ga'"
        )
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    shown = "\n".join(text.value for text in app.text)
    assert "submitted: up 5.49 × 10⁻¹¹, down 0.2500, so none 0.7500" in shown
    assert "e-11" not in text_of(app) + shown


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"label": "up", "outcome": "hit"}, "**✓ right**: … up"),
        ({"label": "none", "outcome": "miss"}, "**✗ wrong**: … none"),
        ({"label": "none", "outcome": None}, "… none"),  # a rank score makes no call
        ({"label": None, "outcome": None}, "… no label"),
    ],
)
def test_the_label_stands_with_what_became_of_the_call(row: dict[str, Any], said: str) -> None:
    assert re.sub(r":color\[.\]\{[^}]*\}", "…", describe_label(row)) == said


@pytest.mark.soak
def test_a_row_is_a_hit_where_its_list_says_so(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        listed = predictions.list_rows(
            db, run, predictions.find_pair_ids(db, run, predictions.RowFilter())
        )
        shown = [predictions.row(db, run, pair_id)["outcome"] for pair_id in listed["pair_id"]]
    assert shown == [value if isinstance(value, str) else None for value in listed["outcome"]]
    assert {"hit", "miss"} <= set(shown)


@pytest.mark.soak
def test_a_row_that_failed_has_a_header_without_numbers(
    visit: Visit, small_workspace: Workspace
) -> None:
    with small_workspace.store.write() as db:
        db.execute("UPDATE prediction SET error = 'Timeout: <b>late</b>' WHERE pair_id = 'Pa_Ga'")
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    assert pair_of(app) == "### *Pa* ⟶ *Ga*"
    assert not app.metric
    assert "Timeout" in app.error[0].value


@pytest.mark.soak
@pytest.mark.browser
def test_the_header_stays_in_sight(open_tab: OpenTab, demo_server: Server) -> None:
    page = open_tab()
    page.goto(demo_server.url("rows", run="simulated debate"))
    settle(page)
    pane, header = page.locator(".st-key-row-pane"), page.locator(".st-key-row-header")
    pane.evaluate("pane => pane.scrollTo(0, 500)")
    assert pane.evaluate("pane => pane.scrollTop") > 100
    box, around = header.bounding_box(), pane.bounding_box()
    assert abs(box["y"] - around["y"]) < 2
    pair = header.locator("h3")
    assert pair.evaluate(  # nothing lies over it, and nothing shines through
        """pair => { const box = pair.getBoundingClientRect();
             const seen = document.elementFromPoint(box.x + 5, box.y + box.height / 2);
             return pair.contains(seen) || seen.contains(pair) }"""
    )
    before = pair.inner_text()
    button(page, "go-right").click()
    page.wait_for_function(
        "before => document.querySelector('.st-key-row-header h3').innerText !== before", arg=before
    )
    page.wait_for_function(
        "() => document.querySelector('.st-key-row-pane').scrollTop === 0"
    )  # the next row begins at its top
