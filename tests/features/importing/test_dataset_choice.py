"""A dataset has an identity: a name that a person gives or the file has, and an organism."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from core.features.importing import dataset_choice
from core.features.importing.actions import import_upload
from core.features.importing.import_target import Imported, ImportOptions
from core.features.importing.imported_rows import undo
from core.runs.component_loader import default_dataset
from core.runs.workspace import Workspace
from core.store import datasets, pairs
from tests import cases
from tests.commands import core

HUMAN = [("STAT1", "IRF1", "up"), ("STAT2", "MYD88", "none"), ("JAK1", "SOCS3", "down")]
MOUSE = [(pert.title(), gene.title(), label) for pert, gene, label in HUMAN]


def labels(rows: Sequence[tuple[str, str, str]], *more: str) -> bytes:
    return cases.as_csv(
        ["id", "pert", "gene", "label"],
        [[f"{p}_{g}", p, g, label] for p, g, label in (*rows, *more)],
    )


def bring(workspace: Workspace, content: bytes, file: str, **options: str) -> Imported:
    return import_upload(workspace, content, file, ImportOptions(**options))  # type: ignore[arg-type]


def contents(workspace: Workspace) -> dict[str, tuple[str, str, int]]:
    """Name → organism, context and number of rows."""
    with workspace.store.read() as db:
        return {
            d.name: (d.organism, d.context, len(pairs.labels(db, d.id)))
            for d in datasets.list_all(db)
        }


@pytest.mark.parametrize("beside", [True, False], ids=["beside bmdm", "alone"])
@pytest.mark.parametrize(("rows", "organism"), [(HUMAN, "human"), (MOUSE, "mouse")])
def test_own_labels_are_a_dataset_named_after_their_file(
    workspace: Workspace, rows: Sequence[tuple[str, str, str]], organism: str, beside: bool
) -> None:
    if beside:
        bring(workspace, cases.TRAIN, "train.csv")
    outcome = bring(workspace, labels(rows), "my_labels.csv")
    assert (outcome.kind, outcome.name, outcome.rows) == ("challenge_train", "my_labels", 3)
    assert f"new dataset my_labels, {organism}: named after the file" in outcome.message
    assert contents(workspace)["my_labels"] == (organism, "", 3)
    assert contents(workspace).get("bmdm", ("mouse", dataset_choice.CONTEXT, 4)) == (
        "mouse",
        dataset_choice.CONTEXT,
        4,
    )


def test_a_human_file_called_train_is_not_the_challenge(workspace: Workspace) -> None:
    assert bring(workspace, labels(HUMAN), "train.csv").name == "train"
    assert bring(workspace, cases.TRAIN, "train (1).csv").name == "bmdm"
    assert {name: organism for name, (organism, *_) in contents(workspace).items()} == {
        "train": "human",
        "bmdm": "mouse",
    }


def test_a_file_that_is_only_called_train_does_not_join_the_challenge_itself(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"{pert}_{gene}" for pert, gene, _ in MOUSE]
    monkeypatch.setattr(
        dataset_choice,
        "IDS",
        {
            dataset_choice.digest_of(ids),
            dataset_choice.digest_of(ids[:2]),
            dataset_choice.digest_of(ids[2:]),
        },
    )
    assert bring(workspace, labels(MOUSE[:2]), "any name.csv").name == "bmdm"
    assert bring(workspace, cases.TRAIN, "train.csv").name == "train"
    assert bring(workspace, labels(MOUSE[2:]), "the rest.csv").name == "bmdm"
    assert contents(workspace)["bmdm"] == ("mouse", dataset_choice.CONTEXT, 3)


@pytest.mark.parametrize("how", ["name", "dataset"])
def test_rows_of_another_organism_are_never_merged(workspace: Workspace, how: str) -> None:
    bring(workspace, cases.TRAIN, "train.csv")
    refused = bring(workspace, labels(HUMAN), "x.csv", **{how: "bmdm"})
    assert refused.kind == "failed"
    assert "human genes ('STAT1', 'IRF1', …), but dataset bmdm is mouse" in refused.message
    assert "--name OTHER" in refused.message
    assert bring(workspace, labels(HUMAN), "x.csv", name="other").name == "other"


def test_more_rows_join_the_dataset_that_has_most_of_their_ids(workspace: Workspace) -> None:
    bring(workspace, labels(HUMAN), "mine.csv")
    more = [("TP53", "CDKN1A", "down")]
    assert bring(workspace, labels([*HUMAN, *more]), "corrected.csv").name == "mine"  # type: ignore[list-item]
    grown = [(f"KO{i}", f"TG{i}", "none") for i in range(9)]
    assert bring(workspace, labels([*HUMAN[:1], *grown]), "mine.csv").name == "mine"
    assert contents(workspace) == {"mine": ("human", "", 13)}


def test_a_name_that_is_taken_is_refused_with_advice_that_works(workspace: Workspace) -> None:
    bring(workspace, labels(HUMAN), "mine.csv")
    content = labels([("TP53", "CDKN1A", "down")])
    refused = bring(workspace, content, "mine.csv")
    assert (
        refused.kind,
        "--dataset mine" in refused.message,
        "--name OTHER" in refused.message,
    ) == ("failed", True, True)
    assert bring(workspace, content, "mine.csv", dataset="mine").rows == 1
    undo(workspace, "mine.csv")
    assert bring(workspace, content, "mine.csv", name="other").name == "other"
    assert "--dataset" not in bring(workspace, labels(MOUSE), "other.csv").message


def test_a_second_name_for_the_same_file_says_how_it_comes_about(workspace: Workspace) -> None:
    bring(workspace, labels(HUMAN), "mine.csv")
    again = bring(workspace, labels(HUMAN), "mine.csv", name="better")
    assert not again.new
    command, _, key = again.message.partition("`")[2].partition("`")[0].partition(" ")
    assert command == "undo"
    undo(workspace, key)
    assert bring(workspace, labels(HUMAN), "mine.csv", name="better").name == "better"


def test_the_default_is_what_was_made_or_used_last_and_is_said(workspace: Workspace) -> None:
    remarks = []
    heard = Workspace(workspace.settings, remark=remarks.append)
    bring(workspace, labels(HUMAN), "human.csv")
    assert (default_dataset(heard, None).name, remarks) == ("human", [])
    bring(workspace, labels(MOUSE), "mouse.csv")
    assert default_dataset(heard, None).name == "mouse"
    bring(workspace, cases.submission([("STAT1_IRF1", 0.5, 0.1, "none")]), "run.csv")
    assert default_dataset(heard, None).name == "human"
    assert [remark.split(":")[0] for remark in remarks] == ["dataset mouse", "dataset human"]
    assert default_dataset(heard, "mouse").name == "mouse"
    assert len(remarks) == 2


def test_a_command_says_once_which_dataset_it_took(workspace: Workspace) -> None:
    for rows, file in ((HUMAN, "human.csv"), (MOUSE, "mouse.csv")):
        bring(workspace, labels(rows), file)
    done = core(workspace, "audit", "leakage")
    assert (
        done.err.count("dataset mouse: of 2 the one made or used last; --dataset chooses another")
        == 1
    )
    assert "used last" not in core(workspace, "audit leakage --dataset human").err
