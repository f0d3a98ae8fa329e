"""Scores that the store keeps: those that are computed, and computed again when anything behind them changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from core.features.importing.actions import import_upload
from core.runs import actions, component_loader, launch
from core.runs.workspace import Workspace
from core.scoring import kept_scores
from core.scoring.kept_scores import KeptScore, compute_score, find_kept
from core.store import datasets, kept_results, runs
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests import cases


def kept(workspace: Workspace) -> dict[str, KeptScore]:
    with workspace.store.read() as db:
        [dataset] = datasets.list_all(db)
        return find_kept(db, dataset.id)


def predicting(workspace: Workspace) -> list[str]:
    with workspace.store.read() as db:
        return [run.id for run in runs.list_predicting(db)]


def plain(value: Any) -> Any:
    """A record with its types, at any depth; NaN as a text, since it is not equal to itself."""
    if is_dataclass(value):
        return type(value), {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value), [plain(each) for each in value]
    return repr(value) if isinstance(value, float) else value


def test_an_import_keeps_what_computing_gives(screen: Workspace) -> None:
    found = kept(screen)
    assert sorted(found) == sorted(predicting(screen))
    for run, score in found.items():
        assert plain(score) == plain(compute_score(screen.store, run))


def test_a_run_made_here_keeps_its_score_when_it_ends(screen: Workspace) -> None:
    with screen.store.read() as db:
        [dataset] = datasets.list_all(db)
    settings = KnnSettings(("near",), EvaluationProtocol("folds"))
    run = launch.start(screen, component_loader.knn_request(dataset, settings, "neighbours"))
    score = kept(screen)[run.id]
    assert plain(score) == plain(compute_score(screen.store, run.id))
    assert len(score.standing.score.cuts) == 10


def test_other_labels_another_run_and_other_code_are_another_basis(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    [run] = kept(small_workspace)
    with small_workspace.store.write() as db:
        db.execute("UPDATE pair SET label = 'none' WHERE pair_id = 'Pa_Ga'")
    assert kept(small_workspace) == {}
    actions.keep_results(small_workspace)
    assert list(kept(small_workspace)) == [run]

    import_upload(small_workspace, cases.submission([("Pa_Ga", 0.1, 0.1, "none")]), "second.csv")
    assert len(kept(small_workspace)) == 2
    actions.delete(small_workspace, "second")
    assert list(kept(small_workspace)) == [run]
    with small_workspace.store.read() as db:
        assert db.execute("SELECT count(*) FROM kept_result").fetchall() == [(1,)]

    monkeypatch.setattr(kept_scores, "_code_hash", lambda: "other code")
    assert kept(small_workspace) == {}


def test_what_is_kept_is_found_on_its_basis_alone(workspace: Workspace) -> None:
    with workspace.store.write() as db:
        kept_results.put(db, "score", [("a", "1", "old"), ("b", "1", "of b")])
        kept_results.put(db, "score", [("a", "2", "new")])
        kept_results.put(db, "other", [("a", "2", "another result")])
        assert kept_results.find(db, "score", {"a": "2", "b": "2", "c": "1"}) == {"a": "new"}
        assert kept_results.find(db, "score", {"a": "1", "b": "1"}) == {"b": "of b"}
