"""What Debates shows of one row, beside other runs."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from core.store import predictions, runs
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_runs_side_by_side_each_show_dossier_and_trace(
    glance: Visit, demo_workspace: Workspace
) -> None:
    with demo_workspace.store.read() as db:
        run = runs.find(db, "simulated debate").id
        other = runs.find(db, "simulated collapsed debate").id
        pair_id = predictions.find_pair_ids(db, run, predictions.RowFilter())[0]
    app = glance(demo_workspace, "rows", **{"run": run, "with": other, "row": pair_id})
    assert not app.exception
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
