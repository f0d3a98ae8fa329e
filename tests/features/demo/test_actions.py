"""The simulated workspace, stored."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.demo.actions import make_demo
from core.features.importing.actions import import_upload
from core.features.importing.imported_rows import undo
from core.features.neighbours.spaces import coverage_of, load
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows, score_run
from core.store import datasets, evidence, runs, spaces, traces
from tests import cases


def test_the_demo_is_made_once_and_can_be_taken_away(demo_copy: Workspace) -> None:
    workspace = demo_copy
    made = make_demo(workspace)
    assert make_demo(workspace) == made
    assert all(run.name.startswith("simulated") for run in made)
    assert {run.method: run.origin for run in made} == {
        "debate": "simulated",
        "knn": "run here",
        "fusion": "run here",
    }
    with workspace.store.read() as db:
        [space] = spaces.list_all(db)
    assert (space.name, space.kind, space.built_from) == ("simulated", "simulated", None)
    file = workspace.settings.data / "embeddings" / f"{space.id}.safetensors"
    assert file.is_file()
    undo(workspace, "simulated", with_runs=True)
    assert not file.exists()
    with workspace.store.read() as db:
        assert datasets.list_all(db) == spaces.list_all(db) == []
        assert db.execute("SELECT count(*) FROM evidence").fetchall() == [(0,)]


@pytest.mark.soak
def test_the_demos_space_covers_most_of_its_rows_on_both_axes(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        space = spaces.find(db, "simulated")
    found = coverage_of(demo_workspace, space)
    assert 0.9 < found.rows_by_gene < 1
    assert 0.9 < found.rows_by_pert < 1
    assert load(demo_workspace, space).sha256 == space.sha256


@pytest.mark.soak
def test_real_files_do_not_land_in_the_demo(workspace: Workspace) -> None:
    make_demo(workspace)
    assert import_upload(workspace, cases.TEST, "test.csv").name == "bmdm"
    with workspace.store.read() as db:
        assert datasets.default(db) == datasets.find(db, "bmdm")


def test_dossiers_and_audit_have_something_to_show(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        by_name = {run.name: run for run in runs.list_all(db)}
        good, collapsed = by_name["simulated debate"], by_name["simulated collapsed debate"]
        assert good.collapsed == 0
        assert collapsed.collapsed > 0.9 * collapsed.done
        assert collapsed.fallbacks > 0
        [(first, *_)] = db.execute(
            "SELECT pair_id FROM prediction WHERE run = ? LIMIT 1", [good.id]
        ).fetchall()
        items = evidence.of_row(db, good.id, first)
        assert {"gene_info", "base_rates"} <= {item["tool"] for item in items}
        assert all(item["source"] == "simulated" for item in items)
        roles = traces.briefs(db, good.id).set_index("role")
        assert (roles["cites"] > 0.5 * roles["n"]).all()


def test_the_runs_know_a_little_and_the_collapsed_one_less(demo_workspace: Workspace) -> None:
    def parts(name):
        with demo_workspace.store.read() as db:
            score = score_run(load_scored_rows(db, name)).whole
        return np.array([score.de.value, score.dir.value])

    argued, collapsed = parts("simulated debate"), parts("simulated collapsed debate")
    assert ((argued > 0.55) & (argued < 0.67)).all()
    assert ((collapsed > 0.5) & (collapsed < 0.64)).all()
    assert argued.mean() - collapsed.mean() > 0.02
    neighbours = parts("simulated kNN")
    assert ((neighbours > 0.5) & (neighbours < 0.7)).all()
