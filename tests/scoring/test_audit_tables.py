"""Findings counted by role."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from core.scoring.debate_audit import load_audit
from core.store import predictions, runs, traces
from core.store.predictions import RowFilter


@pytest.mark.soak
def test_findings_by_role_and_rows_by_arguing(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        audit, briefs = load_audit(db, run), traces.briefs(db, run)
    counts = briefs.set_index("role")
    # Three rows have a trace; in Pa_Gb, UP answers "C) Knockdown of Pa does not affect Gb."
    assert counts["n"].to_dict() == {"EFFECT": 3, "NULL": 3, "UP": 3, "DOWN": 3}
    assert counts["answers_against"].to_dict() == {"EFFECT": 0, "NULL": 0, "UP": 1, "DOWN": 0}
    assert counts["argues"].to_dict() == {"EFFECT": 3, "NULL": 3, "UP": 2, "DOWN": 3}
    assert audit.rows_by_arguing == (0, 0, 0, 1, 2)
    assert not audit.has_dossier


def test_a_run_without_briefs(workspace: Workspace) -> None:
    with workspace.store.read() as db:
        assert traces.briefs(db, "none").empty
        assert traces.rows_by_arguing(db, "none") == {}


def test_rows_by_what_their_advocates_wrote(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id

        def found(wanted):
            return predictions.find_pair_ids(db, run, wanted)

        assert found(RowFilter(finding=("any", "answers"))) == ["Pa_Gb"]
        assert found(RowFilter(finding=("EFFECT", "answers"))) == []
        assert found(RowFilter(arguing=3)) == ["Pa_Gb"]
        assert found(RowFilter(arguing=4)) == ["Pa_Ga", "Pb_Ga"]
        assert found(RowFilter(arguing=0)) == []  # Pc_Gc has no briefs at all
