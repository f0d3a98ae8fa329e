"""Knowledge packs belong to the run: what is imported after it was planned does not change it, and without them it stops."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.base.errors import StateError
from core.base.fields.record import read_options
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.imported_rows import undo
from core.methods.base import methods, packs_read
from core.runs import launch, packs, run_control
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import evidence
from core.store.runs import Run
from tests.commands import core_json
from tests.fakes.scripted import MODEL
from tests.runs.cases import fast, run_here, run_named, stored_rows, workspace_with
from tests.runs.methods import Counting, here

ROWS = 6
EDGES = [["Qb0", "Hb0", 900], ["Qb1", "Pa1", 800], ["Qb2", "Pa2", 700]]
OTHER_EDGES = [["Qb0", "Hb0", 100], ["Qb1", "Pa3", 200]]
HUMAN_EDGES = [["QB0", "HB0", 900], ["QB1", "PA1", 800]]
SIGNS = {"meta": {"source": "a table"}, "pairs": {"Qb0|Hb0": 1, "Qb1|Hb1": -1}}
DESCRIBED = {"Qb0": "A kinase of the membrane.", "Hb0": "A gene it acts on."}
READ_BY_ALL = ("descriptions", "orthologs", "pathways", "edges", "signs", "responses")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Six test rows, a network and a table of factors, both of mice."""
    found = workspace_with(tmp_path / "workspace", ROWS)
    bring(found, EDGES, "edges.json")
    bring(found, SIGNS, "signs.json")
    return found


def bring(workspace: Workspace, content: Any, name: str, **options: Any) -> None:
    outcome = import_upload(workspace, json.dumps(content).encode(), name, ImportOptions(**options))
    assert (outcome.kind not in ("failed", "unknown"), outcome.new) == (True, True), outcome


def planned(
    workspace: Workspace, name: str = "rules", method: str = "evidence_rules", **more: Any
) -> Run:
    """A run that waits for a worker."""
    spec = launch.resolve(workspace, RunRequest(method, "bmdm", rows="split=test", **more))
    return run_control.start(workspace, spec, name, fast(), begin=lambda *_: None)


def carried_out(workspace: Workspace, run: Run) -> Run:
    run_control.work_on(workspace, run.id)
    return run_named(workspace, run.id)


def results(workspace: Workspace, run: Run) -> tuple[pd.DataFrame, list[Any]]:
    """Every prediction, and every answer of a tool with its source."""
    with workspace.store.read() as db:
        shown = [evidence.of_row(db, run.id, f"Qb{i % 7}_Hb{i}") for i in range(ROWS)]
    seen = [
        [(one["tool"], one["key"], one["status"], one["source"], one["body"]) for one in row]
        for row in shown
    ]
    return stored_rows(workspace, run.id).drop(columns="run"), seen


def add_newer(workspace: Workspace) -> None:
    bring(workspace, OTHER_EDGES, "newer.json")


def replace_it(workspace: Workspace) -> None:
    bring(workspace, OTHER_EDGES, "edges.json", replace=True)


def replace_and_bring_again(workspace: Workspace) -> None:
    replace_it(workspace)
    bring(workspace, EDGES, "edges.json", replace=True)


def bring_other_kinds(workspace: Workspace) -> None:
    bring(workspace, DESCRIBED, "desc.json")
    bring(workspace, {"Hb0": ["Cell Cycle"]}, "pathways.json")


CHANGES = (
    add_newer,
    replace_and_bring_again,
    bring_other_kinds,
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Run]:
    """Where nothing came or went, with the run."""
    made = workspace_with(tmp_path_factory.mktemp("undisturbed"), ROWS)
    bring(made, EDGES, "edges.json")
    bring(made, SIGNS, "signs.json")
    return made, carried_out(made, planned(made))


@pytest.mark.soak
@pytest.mark.parametrize("change", CHANGES)
def test_what_comes_or_goes_after_a_run_was_planned_changes_nothing_of_it(
    workspace: Workspace, undisturbed: tuple[Workspace, Run], change: Callable[[Workspace], None]
) -> None:
    there, expected = undisturbed
    run = planned(workspace)
    assert run.id == expected.id
    change(workspace)
    ended = carried_out(workspace, run)
    assert (ended.status, ended.done, ended.cause) == ("done", ROWS, "")
    found, known = results(workspace, run), results(there, expected)
    pd.testing.assert_frame_equal(found[0], known[0])
    assert found[1] == known[1]


@pytest.mark.soak
def test_nor_between_its_first_rows_and_a_retry_of_those_that_failed(workspace: Workspace) -> None:
    method = Counting(fails=frozenset({"Qb1_Hb1"}), reads=("edges", "signs"))
    run = run_here(workspace, method)
    assert (run.status, run.done, run.failed) == ("done", ROWS - 1, 1)
    replace_and_bring_again(workspace)
    ended = run_control.retry(workspace, run.id, begin=here(Counting(reads=("edges", "signs"))))
    assert (ended.status, ended.done, ended.failed, ended.cause) == ("done", ROWS, 0, "")


def test_a_pack_that_is_gone_stops_the_run_which_goes_on_with_the_pack(
    workspace: Workspace,
) -> None:
    run = planned(workspace)
    replace_it(workspace)
    ended = carried_out(workspace, run)
    assert ended.status == "stopped"
    assert "knowledge pack edges: the version planned for the run (hash" in ended.cause
    assert "import it again, or start a new run" in ended.cause
    new = carried_out(workspace, planned(workspace, "newer"))
    assert (new.id != run.id, new.done) == (True, ROWS)
    bring(workspace, EDGES, "again.json")
    assert carried_out(workspace, run).status == "done"
    assert results(workspace, run)[1] != results(workspace, new)[1]


def test_a_pack_that_went_between_asking_and_starting_is_refused_before_anything_is_written(
    workspace: Workspace,
) -> None:
    spec = launch.resolve(workspace, RunRequest("evidence_rules", "bmdm", rows="split=test"))
    replace_it(workspace)
    with pytest.raises(
        StateError,
        match="knowledge packs: edges were deleted or replaced since the run was requested; request it again",
    ):
        run_control.start(workspace, spec, "late", fast(), begin=lambda *_: None)
    assert not workspace.run_folder(spec.key).exists
    assert core_json(workspace, "runs")["runs"] == []


@pytest.mark.few(14)
@pytest.mark.parametrize("name", sorted(methods()))
def test_a_method_names_the_packs_of_its_tools_and_no_others(name: str) -> None:
    method = methods()[name]
    expected = {
        "evidence_rules": ("edges", "signs", "responses"),
        "coordinator": ("descriptions", "orthologs", "edges"),
        "summer": ("descriptions", "orthologs", "pathways", "edges", "signs"),
        **dict.fromkeys(("debate", "react"), READ_BY_ALL),
    }
    assert packs_read(method, read_options(method.settings, {})) == expected.get(name, ())
    if name in ("debate", "react"):
        some = read_options(method.settings, {"tools": "gene_class,pathways,gene_info"})
        assert packs_read(method, some) == ("descriptions", "orthologs", "pathways")


# Organisms


def test_a_pack_of_another_organism_never_answers(workspace: Workspace) -> None:
    mine = planned(workspace)
    bring(workspace, HUMAN_EDGES, "human.json")
    again = launch.resolve(workspace, RunRequest("evidence_rules", "bmdm", rows="split=test"))
    assert (
        again.key == mine.id
    )  # the latest network is human, which a dataset of mice does not read
    undo(workspace, "edges.json")
    without = launch.resolve(workspace, RunRequest("evidence_rules", "bmdm", rows="split=test"))
    assert list(without.packs) == ["signs"]
    run = carried_out(
        workspace,
        run_control.start(workspace, without, "no network", fast(), begin=lambda *_: None),
    )
    seen = [
        one for row in results(workspace, run)[1] for one in row if one[0] == "protein_interactions"
    ]
    assert {status for _, _, status, _, _ in seen} == {"offline"}


@pytest.mark.soak
def test_a_method_that_finds_genes_by_their_orthologs_reads_the_packs_of_another_organism_where_there_are_none(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "train.csv").write_text(
        "id,pert,gene,label\nSTAT1_IRF1,STAT1,IRF1,up\nSTAT2_IRF1,STAT2,IRF1,none\n"
    )
    core_json(workspace, "import", str(tmp_path / "train.csv"), "--dataset", "people")
    request = RunRequest("summer", "people", model=MODEL)
    mouse = {
        "edges": packs.read(workspace.settings, "edges").sha256,
        "signs": packs.read(workspace.settings, "signs").sha256,
    }
    assert launch.resolve(workspace, request).packs == mouse
    bring(workspace, HUMAN_EDGES, "human.json")
    assert launch.resolve(workspace, request).packs == {
        **mouse,
        "edges": packs.read(workspace.settings, "human").sha256,
    }
    assert (
        launch.resolve(
            workspace, RunRequest("summer", "bmdm", rows="split=test", model=MODEL)
        ).packs
        == mouse
    )


@pytest.mark.soak
def test_the_demo_whose_genes_are_of_no_organism_reads_any(workspace: Workspace) -> None:
    assert (
        set(packs.pack_hashes(workspace, "none"))
        == set(packs.pack_hashes(workspace, "mouse"))
        == {"edges", "signs"}
    )
    assert packs.pack_hashes(workspace, "human") == {}
