"""Experiments, tab Ledger, without a browser: the published ladder by one click, a hypothesis from its form to its verdict."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.actions import ledger
from core.actions.workspace import Workspace
from core.experiments.ledger_words import ledger_table
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of, the_run

A, B = "simulated collapsed debate", "simulated debate"


def fill(app: AppTest, key: str, text: str) -> None:
    next(field for field in (*app.text_input, *app.text_area) if field.key == key).set_value(text)


@pytest.mark.soak
def test_the_published_ladder_by_one_click(visit: Visit, little_copy: Workspace) -> None:
    app = press(visit(little_copy, "experiments", tab="Ledger"), "Import the published ladder")
    assert not app.exception
    text = text_of(app)
    assert "of 9 results 1 survives Holm's correction: kNN fusion" in text.replace("\\", "")
    assert "Below what one leaderboard half (904 rows) shows" in text.replace("\\", "")
    table = app.dataframe[0].value
    assert table["verdict"].tolist() == ["confirmed"] + ["undecided"] * 8
    assert table["source"].unique().tolist() == ["published elsewhere"]
    assert table["p (Holm)"].iloc[0] == pytest.approx(0.0174, abs=1e-4)
    assert len(app.get("plotly_chart")) == 1


@pytest.mark.soak
def test_a_hypothesis_from_its_form_to_its_verdict(visit: Visit, little_copy: Workspace) -> None:
    a, b = (the_run(little_copy, name).id for name in (A, B))
    app = visit(little_copy, "experiments", tab="Ledger", ledger_planned_a=a, ledger_planned_b=b, ledger_level="other")
    assert app.number_input(key="ledger_effect").step == pytest.approx(0.001)  # ten steps to the usual effect, not one
    for field, words in (("name", "arguing"), ("claim", "arguing helps"), ("prediction", "the mean rises")):
        fill(app, f"note-ledger-{field}", words)
    app = press(app.run(), "Register")
    assert not app.error
    entry = ledger.list_entries(little_copy)[-1]
    assert (entry.name, entry.run_a, entry.run_b, entry.level, entry.seen_before) == ("arguing", a, b, "other", True)
    app = press(visit(little_copy, "experiments", tab="Ledger", ledger_of=entry.first), "Record result")
    assert not app.error
    result = ledger.list_entries(little_copy)[-1]
    assert (result.kind, result.first) == ("result", entry.id)
    assert "Registered after the result was seen" in text_of(app)
    table = pd.DataFrame(ledger_table(ledger.list_lines(little_copy)))
    assert "registered after its result was seen" in table.set_index("hypothesis").loc["arguing", "verdict"]


def test_a_reader_sees_the_ledger_and_no_form(visit: Visit, little_copy: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.import_published_ladder(little_copy)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(little_copy, "experiments", tab="Ledger")
    assert "kNN fusion" in app.dataframe[0].value["hypothesis"].tolist()
    labels = {button.label for button in app.button}
    assert not labels & {"Register", "Record result", "Import the published ladder", "Import file"}
    assert not app.text_area
