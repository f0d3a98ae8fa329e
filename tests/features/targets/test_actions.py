"""Target rankings of a workspace: trained, evaluated, their states, backed up, deleted; wrong input writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.base import file_io
from core.base.errors import InputError, NotFound, StateError
from core.features.importing import backups
from core.features.targets import actions as target_ranking
from core.features.targets.actions import RankingFolder
from core.features.targets.evaluate import EvaluationRequest
from core.features.targets.expression import CellSource, read_source
from core.runs.jobs.state import beat, record_ending
from core.runs.workspace import Workspace
from core.store import changes
from tests.features.targets import cases
from tests.worlds import workspace_in


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with cases.registered():
        yield


def train(workspace: Workspace, name: str = "small") -> RankingFolder:
    return target_ranking.train(workspace, cases.request(name), lambda _line: None)


def files_in(workspace: Workspace) -> list[Path]:
    return [path for path in (workspace.settings.data / "targets").rglob("*") if path.is_file()]


def test_a_training_ends_with_a_table(workspace: Workspace) -> None:
    said = []
    folder = target_ranking.train(workspace, cases.request(), said.append)
    assert said[0] == "  0% reading the cells"
    assert said[-1] == "100% evaluating"
    assert folder.status().state == "done"
    assert target_ranking.find(workspace) == folder
    assert [each.name for each in target_ranking.list_all(workspace)] == ["small"]
    said.clear()
    assert target_ranking.train(workspace, cases.request(), said.append) == folder
    assert said == ["small: exists already with the same options; --replace trains it again"]
    with pytest.raises(StateError, match="the name is taken by a ranking with other options"):
        target_ranking.train(workspace, replace(cases.request(), seed=8), said.append)
    assert target_ranking.resume(workspace, "small") == folder  # done already: nothing is started


def test_wrong_input_writes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    request = cases.request()
    (tmp_path / "cells.h5ad").write_bytes(b"no HDF5")
    wrong = [
        replace(request, name="../elsewhere"),
        replace(request, models={"fallen": {"quiet": 1}}),
        replace(request, source=CellSource(file=str(tmp_path / "cells.h5ad"))),
        replace(request, source=CellSource(least_cells=500)),
    ]
    for each in wrong:
        with pytest.raises(InputError):
            target_ranking.train(workspace, each, lambda _line: None)
        assert files_in(workspace) == []


@pytest.mark.soak
def test_models_are_evaluated_again_with_another_mask_unit_and_pool(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = train(workspace)
    pool = tmp_path / "pool.txt"
    pool.write_text("\n".join(read_source(folder.request().source).cells.genes[:40]), "utf-8")
    found = target_ranking.evaluate_saved(
        workspace, "small", EvaluationRequest("strongest", "cell", candidates=pool)
    )
    assert (found.settings["mask"], found.settings["unit"], found.settings["pool"]) == (
        "strongest",
        "cell",
        "pool.txt",
    )
    # within 40 genes a random ranking has half of those that are inside among the first 20
    inside = cases.by_model(found.table, "recall", 40)["random"].iloc[0]
    assert cases.by_model(found.table, "recall", 20)["random"].iloc[0] == pytest.approx(inside / 2)
    assert len(folder.evaluations()) == 2


def test_models_are_not_evaluated_on_other_cells(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = train(workspace)
    read = read_source(folder.request().source)
    other = replace(read, cells=replace(read.cells, x=read.cells.x * 2))
    monkeypatch.setattr(target_ranking, "read_source", lambda _source: other)
    with pytest.raises(InputError, match="its cells are not those"):
        target_ranking.evaluate_saved(workspace, "small", EvaluationRequest("targets"))
    assert len(folder.evaluations()) == 1


def test_what_a_killed_deletion_left_is_no_ranking(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = train(workspace)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(
            file_io.shutil,
            "rmtree",
            lambda *_, **_options: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        folder.remove()
    assert target_ranking.list_all(workspace) == []
    assert target_ranking.create(workspace, cases.request()).saved_models() == ()


def test_states(workspace: Workspace) -> None:
    folder = target_ranking.create(workspace, cases.request())
    assert folder.status().state == "crashed"  # its process never began
    folder.set_command("run")
    assert folder.status().state == "waiting"
    beat(folder, {"share": 0.4, "what": "fallen: fitting"})
    status = folder.status()
    assert (status.state, status.said["what"], status.is_live) == (
        "running",
        "fallen: fitting",
        True,
    )
    for refused in (
        target_ranking.delete,
        lambda w, n: target_ranking.evaluate_saved(w, n, EvaluationRequest()),
    ):
        with pytest.raises(StateError):
            refused(workspace, "small")
    record_ending(folder, "failed", "no memory")
    assert folder.status().cause == "no memory"
    (folder.path / "done.json").write_text("[", "utf-8")
    (folder.path / "heartbeat").unlink()  # its process was this one, which lives
    assert folder.status().state == "crashed"


def test_a_failure_is_recorded_and_the_training_goes_on_later(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        broken = replace(
            cases.MODELS["fallen"], fit=lambda *_: (_ for _ in ()).throw(InputError("no gene fell"))
        )
        patch.setitem(cases.MODELS, "fallen", broken)
        with pytest.raises(InputError, match="no gene fell"):
            train(workspace)
    folder = target_ranking.find(workspace, "small")
    status = folder.status()
    assert (status.state, status.cause) == ("failed", "no gene fell")
    said = []
    assert (
        target_ranking.train(workspace, cases.request(), said.append) == folder
    )  # the same options: it goes on
    assert said[0] == "small: continues; trained already: no model"
    assert folder.status().state == "done"


@pytest.mark.soak
def test_a_backup_holds_what_is_trained(workspace: Workspace, tmp_path: Path) -> None:
    train(workspace)
    target_ranking.create(workspace, cases.request("begun"))
    backups.back_up(workspace, tmp_path / "b.zip")
    other = workspace_in(tmp_path / "other")
    backups.restore(other, tmp_path / "b.zip")
    [folder] = target_ranking.list_all(other)
    assert folder.status().state == "done"
    before = target_ranking.find(workspace, "small")
    assert folder.evaluations()[0].table.equals(before.evaluations()[0].table)
    assert target_ranking.evaluate_saved(other, "small", EvaluationRequest()).table.equals(
        before.evaluations()[0].table
    )


@pytest.mark.soak
def test_one_is_deleted_and_what_was_done_is_in_the_audit_log(workspace: Workspace) -> None:
    folder = train(workspace)
    target_ranking.delete(workspace, "small")
    assert not folder.path.exists()
    with pytest.raises(NotFound, match="not in this workspace, which has none"):
        target_ranking.find(workspace, "small")
    with workspace.store.read() as db:
        rows = changes.latest(db, 2)
    assert rows["action"].tolist() == ["delete target ranking", "train target ranking"]
    assert json.loads(rows["detail"].iloc[1])["models"] == "fallen, fallen_trained"
