"""Findings made anew: in a store of an older schema, and counted by role."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.store import findings, migrations, predictions, runs, traces
from core.store.predictions import RowFilter
from tests.bundled import stored


def as_of_0_1_0(workspace: Workspace, run: str) -> None:
    """Leave what version 0.1.0 found: letters with a bracket, short briefs, and no more rows collapsed than these.

    Of other runs leave one row.
    """
    with workspace.store.write() as db:
        key = runs.find(db, run).id
        db.execute(
            """UPDATE trace_event SET findings = list_filter(findings, lambda f: f IN ('short', 'option', 'against', 'cites'))
               WHERE run = ?""",
            [key],
        )
        db.execute(
            """UPDATE prediction SET flags = list_filter(flags, lambda f: f <> 'role_collapse') WHERE run = ? AND pair_id NOT IN (
                 SELECT pair_id FROM trace_event WHERE list_contains(findings, 'option'))""",
            [key],
        )
        db.execute("UPDATE run SET collapsed = 0 WHERE id = ?", [key])
        db.execute("DELETE FROM trace_event WHERE run <> ? AND pair_id <> (SELECT min(pair_id) FROM trace_event)", [key])


def test_an_older_store_is_searched_anew(little_demo: Workspace, tmp_path: Path) -> None:
    run = "simulated collapsed debate"
    shutil.copytree(little_demo.settings.workspace, tmp_path / "old")
    old = open_workspace(Settings(workspace=tmp_path / "old"))
    as_of_0_1_0(old, run)
    assert stored(old, run) != stored(little_demo, run)
    with old.store.write() as db:
        migrations.wider_findings(db)
    assert stored(old, run) == stored(little_demo, run)


@pytest.mark.soak
def test_findings_by_role_and_rows_by_arguing(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        facts = findings.debate_facts(db, run)
    counts = facts.briefs.set_index("role")
    # Three rows have a trace; in Pa_Gb, UP answers "C) Knockdown of Pa does not affect Gb."
    assert counts["n"].to_dict() == {"EFFECT": 3, "NULL": 3, "UP": 3, "DOWN": 3}
    assert counts["answers_against"].to_dict() == {"EFFECT": 0, "NULL": 0, "UP": 1, "DOWN": 0}
    assert counts["argues"].to_dict() == {"EFFECT": 3, "NULL": 3, "UP": 2, "DOWN": 3}
    assert facts.rows_by_arguing == {3: 1, 4: 2}
    assert not facts.has_dossier


def test_a_run_without_briefs(workspace: Workspace) -> None:
    with workspace.store.read() as db:
        assert traces.briefs(db, "none").empty
        assert traces.rows_by_arguing(db, "none") == {}


def test_rows_by_what_their_advocates_wrote(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id

        def found(wanted: RowFilter) -> list[str]:
            return predictions.find_pair_ids(db, run, wanted)

        assert found(RowFilter(finding=("any", "answers"))) == ["Pa_Gb"]
        assert found(RowFilter(finding=("EFFECT", "answers"))) == []
        assert found(RowFilter(arguing=3)) == ["Pa_Gb"]
        assert found(RowFilter(arguing=4)) == ["Pa_Ga", "Pb_Ga"]
        assert found(RowFilter(arguing=0)) == []  # Pc_Gc has no briefs at all
