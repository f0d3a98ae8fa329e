"""The picture groups runs on the same rows that are scored alike; beside it stands what is known of public scores."""

from __future__ import annotations

import pytest

from core.base.texts import NO_BIOLOGY
from core.runs import actions
from core.runs.workspace import Workspace
from tests.ui.conftest import FUSED, KNN, LABELLED, Visit
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_runs_are_grouped_by_rows_and_by_how_they_are_scored(
    visit: Visit, fused_copy: Workspace
) -> None:
    actions.set_values(fused_copy, "simulated debate test", {"public_score": "0.61"})
    app = visit(fused_copy, "overview")
    text = text_of(app).replace("\\", "")
    picture = next(each.value for each in app.dataframe if "group" in each.value)
    groups = {group: set(part["run"]) - {NO_BIOLOGY} for group, part in picture.groupby("group")}
    together = next(
        runs
        for group, runs in groups.items()
        if "labelled rows · all rows" in group and LABELLED in runs
    )
    assert together == {LABELLED, "simulated collapsed debate"}  # the same rows, over all of them
    assert {KNN} in groups.values()
    assert {FUSED} in groups.values()
    assert any("labelled rows · inside 5×5 cells, cut 2" in group for group in groups)
    assert not picture[picture["run"] == NO_BIOLOGY]["group"].duplicated().any()
    # the noise of a public score is computed, and the page says how
    assert "Public scores" in text
    assert "half of those without a label" in text
    assert "904" not in text


@pytest.mark.soak
def test_a_public_score_is_shown_where_no_run_says_how_noisy_it_is(
    visit: Visit, small_workspace: Workspace
) -> None:
    actions.set_values(
        small_workspace, "debate", {"public_score": "0.61"}
    )  # of four rows, which have no interval
    app = visit(small_workspace, "overview")
    assert [each.value for each in app.error] == []
    assert "### Public scores" in text_of(app)
