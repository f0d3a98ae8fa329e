"""The page Experiments, without a browser: the ledger by its forms, and experiments from the form to the verdict."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.actions.workspace import Workspace
from core.features.experiments import ledger
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of, the_run

A, B = "simulated collapsed debate", "simulated debate"


def fill(app: AppTest, key: str, text: str) -> None:
    next(field for field in (*app.text_input, *app.text_area) if field.key == key).set_value(text)


def test_the_published_ladder_by_one_click(visit: Visit, little_copy: Workspace) -> None:
    app = press(visit(little_copy, "experiments", tab="Ledger"), "Import the published ladder")
    assert not app.exception
    text = text_of(app).replace("\\", "")
    assert "of 9 results" in text
    assert "kNN fusion (p 0.00194, after Holm 0.0174)" in text
    assert "Below what a leaderboard shows" in text
    table = app.dataframe[0].value
    assert table["verdict"].tolist() == ["confirmed"] + ["undecided"] * 8
    assert table["p (Holm)"].iloc[0] == "0.0174"
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
    assert "not a test of a prediction: arguing" in text_of(app).replace("\\", "")
    app = visit(little_copy, "experiments", tab="Ledger", hypothesis=result.id)
    assert "arguing helps" in text_of(app)


def test_a_reader_sees_the_ledger_and_no_form(visit: Visit, little_copy: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.import_published_ladder(little_copy)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(little_copy, "experiments", tab="Ledger")
    assert "kNN fusion" in app.dataframe[0].value["hypothesis"].tolist()
    labels = {button.label for button in app.button}
    assert not labels & {"Register", "Record result", "Import the published ladder", "Import file"}
    assert not app.text_area
