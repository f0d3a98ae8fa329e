"""What an import would do is said before anything is written, and which column is what is kept for the next such table."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from core.features.importing import preview as previews
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.preview import Preview, preview_paths, preview_upload
from core.features.importing.roles import TableOptions
from core.runs.upload_process import task_named
from core.runs.workspace import Workspace
from core.store import datasets, pairs
from tests import cases, worlds
from tests.commands import core, core_json
from tests.features.importing.test_actions import everything, unchanged

OPTIONS = ImportOptions()
GUIDES = [
    ["STAT1", "IRF1", "up", "7"],
    ["STAT2", "MYD88", "none", "9"],
    ["JAK1", "SOCS3", "down", "4"],
]
OWN = cases.as_csv(["pert", "gene", "label", "cells"], GUIDES)
ODD = cases.as_csv(["KO", "readout", "call"], [row[:3] for row in GUIDES])
SAID = {"pert": "KO", "gene": "readout", "label": "call"}


def columns(preview: Preview) -> dict[str, str]:
    return {column.name: column.role for column in preview.columns}


def said(columns: dict[str, str]) -> ImportOptions:
    return ImportOptions(table=TableOptions(columns))


def test_labels_become_a_dataset_and_nothing_is_written(small_workspace: Workspace) -> None:
    with unchanged(small_workspace):
        preview = preview_upload(small_workspace, "my_k562.csv", OWN, OPTIONS)
        assert preview.sentence == "labels of 3 pairs → new dataset my_k562, human"
        assert columns(preview) == {"pert": "pert", "gene": "gene", "label": "label", "cells": ""}
        assert [column.first for column in preview.columns][:2] == [
            ("STAT1", "STAT2", "JAK1"),
            ("IRF1", "MYD88", "SOCS3"),
        ]
        assert any("not used" in note and "cells" in note for note in preview.notes)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "test.csv",
            cases.as_csv(["id", "pert", "gene"], [["Pd_Gd", "Pd", "Gd"]]),
            "1 pair without labels → dataset bmdm",
        ),
        (
            "mine.csv",
            cases.submission([("Pa_Ga", 0.3, 0.1, "x")]),
            "predictions → run mine, for 1 pair of dataset bmdm",
        ),
        (
            "graph.csv",
            b"id,far,near\nPa_Ga,1,2\nPa_Gb,3,4\n",
            "external scores → run graph far, graph near, for 2 pairs of",
        ),
        ("again.csv", cases.DEBATES, "here already, as debate"),
        ("near.csv", worlds.table_of({"Ga": [1, 0], "Gb": [0, 1]}), "a gene space, 2 entries"),
        (
            "desc.json",
            worlds.pack("descriptions"),
            "knowledge about genes (descriptions), 3 entries",
        ),
    ],
)
def test_every_kind_of_file_is_said(
    small_workspace: Workspace, name: str, content: bytes, sentence: str
) -> None:
    with unchanged(small_workspace):
        preview = preview_upload(small_workspace, name, content, OPTIONS)
        assert sentence in preview.sentence
        assert not preview.fails
    outcome = import_upload(small_workspace, content, name)
    assert outcome.kind == preview.kind
    assert outcome.rows == preview.rows or preview.kind == "external_score"


def test_what_cannot_be_read_is_shown_with_its_columns_and_read_once_they_are_named(
    small_workspace: Workspace,
) -> None:
    preview = preview_upload(small_workspace, "odd.csv", ODD, OPTIONS)
    assert (preview.kind, preview.fails, [*columns(preview)]) == (
        "failed",
        True,
        ["KO", "readout", "call"],
    )
    corrected = preview_upload(small_workspace, "odd.csv", ODD, said(SAID))
    assert not corrected.fails
    assert columns(corrected) == {name: role for role, name in SAID.items()}
    assert not any(column.guessed for column in corrected.columns)


def test_a_preview_of_what_is_refused_says_why(small_workspace: Workspace) -> None:
    preview = preview_upload(small_workspace, "x.csv", OWN, ImportOptions(dataset="bmdm"))
    assert (preview.kind, preview.fails) == ("challenge_train", True)
    assert "but dataset bmdm is mouse" in preview.message


def test_columns_that_a_person_named_count_for_the_next_table_with_the_same_columns(
    workspace: Workspace,
) -> None:
    assert import_upload(workspace, ODD, "first.csv").kind == "failed"
    assert import_upload(workspace, ODD, "first.csv", said(SAID)).rows == 3
    turned = cases.as_csv(["Call", "ko", "Readout"], [["up", "TP53", "CDKN1A"]])
    preview = preview_upload(workspace, "second.csv", turned, OPTIONS)
    [note] = [note for note in preview.notes if "as you said" in note]
    assert "first.csv" in note
    assert "--column" in note
    outcome = import_upload(workspace, turned, "second.csv")
    assert (outcome.name, outcome.rows) == ("second", 1)
    assert note in outcome.message
    other = cases.as_csv(["KO", "readout", "call"], [["CCND1", "MYC", "up"]])
    swapped = said({"pert": "readout", "gene": "KO", "label": "call"})
    assert import_upload(workspace, other, "third.csv", swapped).rows == 1
    with workspace.store.read() as db:
        assert [*pairs.labels(db, datasets.find(db, "third").id)] == ["MYC_CCND1"]


def test_the_process_for_uploads_gives_the_same(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apart(_, task, files, options):
        return json.loads(
            json.dumps(task_named(task)(small_workspace, files, json.loads(json.dumps(options))))
        )

    monkeypatch.setattr(previews, "read_apart", apart)
    shared = replace(
        small_workspace,
        settings=replace(small_workspace.settings, base_url="https://desk.example.org"),
    )
    assert preview_upload(shared, "o.csv", OWN, said({"gene": "gene"})) == preview_upload(
        small_workspace, "o.csv", OWN, said({"gene": "gene"})
    )


def test_a_dry_run_prints_and_writes_nothing(small_workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(OWN)
    place, before = small_workspace.settings.workspace, everything(small_workspace)
    done = core(place, "import", str(tmp_path / "own.csv"), "--dry-run")
    assert done.status == 0
    assert "labels of 3 pairs → new dataset own, human" in done.out
    assert "not used" in done.out
    [preview] = core_json(place, "import", str(tmp_path / "own.csv"), "--dry-run")["preview"]
    keys = (
        "path",
        "kind",
        "sentence",
        "name",
        "new",
        "organism",
        "rows",
        "rejected",
        "columns",
        "notes",
        "message",
    )
    assert {*keys} == {*preview}
    assert preview["columns"][0] == {
        "name": "pert",
        "role": "pert",
        "guessed": True,
        "first": ["STAT1", "STAT2", "JAK1"],
    }
    [same] = preview_paths(small_workspace, [tmp_path / "own.csv"], OPTIONS)
    assert json.loads(json.dumps(asdict(same))) == preview
    assert everything(small_workspace) == before
    (tmp_path / "odd.csv").write_bytes(ODD)
    failed = core(place, "import", str(tmp_path / "odd.csv"), "--dry-run")
    assert (failed.status, "--column ROLE=NAME" in failed.err) == (1, True)
