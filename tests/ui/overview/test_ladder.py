"""The ladder compares runs on the same rows that are scored alike, and says what it knows of public scores."""

from __future__ import annotations

from core.actions import runs as actions
from core.actions.workspace import Workspace
from tests.ui.conftest import FUSED, KNN, LABELLED, Visit
from tests.ui.test_apptest import text_of


def test_runs_are_grouped_by_rows_and_by_how_they_are_scored(visit: Visit, fused_copy: Workspace) -> None:
    actions.set_values(fused_copy, "simulated debate test", {"public_score": "0.61"})
    app = visit(fused_copy, "overview")
    assert not app.exception
    text = text_of(app).replace("\\", "")
    tables = [set(each.value["run"]) for each in app.dataframe if "chosen" in each.value]
    assert tables[0] == {LABELLED, "simulated collapsed debate"}  # the same rows, over all of them
    assert {KNN} in tables
    assert {FUSED} in tables
    assert "labelled rows · all rows" in text
    assert "labelled rows · inside 5×5 cells, cut 2" in text
    assert "runs with labels beats the no-biology baseline" in text
    # the noise of a public score is computed, and the page says how
    assert "Public scores" in text
    assert "half of those without a label" in text
    assert "904" not in text


def test_the_best_of_a_group_comes_first(visit: Visit, little_demo: Workspace) -> None:
    app = visit(little_demo, "overview")
    first = next(each.value for each in app.dataframe if "chosen" in each.value)
    assert first["score"].is_monotonic_decreasing
