"""cell-eval's tables in the store: one a run, the newest, gone with the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.actions.workspace import Workspace
from core.store import cell_evaluations, runs
from core.store.cell_evaluations import StoredEvaluation


@pytest.mark.soak
def test_a_run_has_one_table_which_goes_with_it(small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        assert cell_evaluations.find(db, run) is None
        first = StoredEvaluation(run, "a", "real.h5ad", "b", {"metrics": [{"mean": None}]}, "tester")
        cell_evaluations.put(db, first)
        cell_evaluations.put(db, replace(first, real_file="other.h5ad"))
        found = cell_evaluations.find(db, run)
        assert found is not None
        assert found.measured_at is not None
        assert replace(found, measured_at=None) == replace(first, real_file="other.h5ad")
        runs.delete(db, run)
        assert cell_evaluations.find(db, run) is None
