"""A file of cells becomes a dataset: once, with its tables, until it is undone."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError, StateError
from core.base.hashes import sha256_of_file
from core.features.cells import actions as cells
from core.features.cells.actions import LabelRequest
from core.features.cells.groups import GroupSettings
from core.features.cells.label_record import marks_of
from core.features.cells.labels import SamplingSettings, Thresholds
from core.features.cells.screen import LabelSettings
from core.features.importing.actions import import_upload
from core.features.importing.imported_rows import undo
from core.runs.workspace import Workspace
from core.store import changes, datasets, imports, pairs
from core.store.datasets import Dataset
from tests import cases
from tests.commands import core, core_json
from tests.features.cells.cases import write_case


@pytest.fixture
def screen(tmp_path: Path) -> Path:
    write_case(tmp_path / "screen.h5ad")
    return tmp_path / "screen.h5ad"


def make(
    workspace: Workspace, file: Path, name: str = "screen", settings: LabelSettings | None = None
) -> cells.LabelledCells:
    return cells.label_cells(
        workspace,
        file,
        LabelRequest(name, settings or LabelSettings(), "K562 cells"),
        lambda _: None,
    )


def dataset_of(workspace: Workspace, name: str = "screen") -> Dataset:
    with workspace.store.read() as db:
        return datasets.find(db, name)


def files_of(workspace: Workspace) -> list[str]:
    folder = workspace.settings.data / "cells"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.soak
def test_a_file_becomes_a_dataset_with_its_record_and_tables(
    workspace: Workspace, screen: Path
) -> None:
    made = make(workspace, screen)
    dataset = dataset_of(workspace)
    assert (dataset.organism, dataset.context) == ("", "K562 cells")  # G001 tells no organism
    with workspace.store.read() as db:
        rows = pairs.frame(db, dataset.id)
        assert imports.of_kind(db, dataset.id, "cells")
        detail = changes.latest(db)["detail"][0]
    assert len(rows) == made.record["rows"] > 0
    for axis in ("pert", "gene"):
        assert rows.groupby(axis)["split"].nunique().max() == 1
    folder = cells.screen_folder(workspace, dataset.id)
    assert folder.is_whole
    assert folder.record() == made.record
    assert dataset.marks == marks_of(made.record)
    assert dataset.marks.nominal == 0.05
    assert made.record["sha256"] == sha256_of_file(screen)
    assert "Fold changes are not shrunk" in detail
    assert '"fdr": 0.05' in detail
    effects = folder.table("effects").astype({"pert": object, "gene": object, "label": object})
    merged = rows.merge(effects, on=["pert", "gene"], suffixes=("", "_effect"))
    assert (merged["label"] == merged["label_effect"]).all()
    one = folder.table("effects", rows["pert"][0])
    assert len(one) == 160


@pytest.mark.soak
def test_the_same_again_changes_nothing(workspace: Workspace, screen: Path) -> None:
    first = make(workspace, screen)
    before = files_of(workspace)
    again = make(workspace, screen, "other name")
    assert (again.new, again.dataset, again.record) == (False, "screen", first.record)
    assert "nothing changed" in again.message
    assert files_of(workspace) == before
    with pytest.raises(StateError, match="dataset 'screen' exists, with other content"):
        make(workspace, screen, settings=LabelSettings(thresholds=Thresholds(fdr=0.01)))
    other = make(workspace, screen, "stricter", LabelSettings(thresholds=Thresholds(fdr=0.01)))
    assert other.new
    assert other.record["labels"] != first.record["labels"]


@pytest.mark.soak
def test_lost_tables_come_back(workspace: Workspace, screen: Path) -> None:
    made = make(workspace, screen)
    folder = cells.screen_folder(workspace, dataset_of(workspace).id)
    shutil.rmtree(folder.path)
    again = make(workspace, screen)
    assert "its lost tables are restored" in again.message
    assert folder.is_whole
    assert again.record == made.record


@pytest.mark.soak
def test_undo_removes_rows_and_tables(workspace: Workspace, screen: Path) -> None:
    make(workspace, screen)
    undo(workspace, "screen.h5ad")
    assert files_of(workspace) == []
    with workspace.store.read() as db:
        assert datasets.list_all(db) == []
    assert make(workspace, screen).new


def test_rows_of_other_files_do_not_belong_to_it(workspace: Workspace, screen: Path) -> None:
    make(workspace, screen)
    imported = import_upload(workspace, cases.TRAIN, "train.csv")
    assert imported.name == "bmdm"
    refused = import_upload(workspace, cases.TEST, "test.csv", cells_options("screen"))
    assert "was made from a file of cells" in refused.message


def cells_options(dataset: str) -> object:
    from core.features.importing.import_target import ImportOptions

    return ImportOptions(dataset=dataset)


@pytest.mark.soak
def test_what_is_refused_writes_nothing(workspace: Workspace, tmp_path: Path, screen: Path) -> None:
    import anndata

    from tests.features.cells.cases import write_anndata

    def changed(name, values=None, **columns):
        data = anndata.read_h5ad(screen)
        if values is not None:
            data.X = values
        for column, value in columns.items():
            data.obs[column] = value
        return write_anndata(data, tmp_path / f"{name}.h5ad")

    counts = anndata.read_h5ad(screen).X.toarray()
    named = {"perturbation": np.array(["ctrl", "G999"], dtype=object)[np.arange(len(counts)) % 2]}
    for file, message in (
        (changed("logs", np.log1p(counts)), "looks log-transformed"),
        (changed("unknown", **named), "not among its 160 genes: G999"),
    ):
        with pytest.raises(InputError, match=message):
            make(workspace, file)
    for settings, message in (
        (LabelSettings(perturbation="nothing"), "not in obs"),
        (LabelSettings(groups=GroupSettings(min_cells=1_000)), "fewer than 1000 cells"),
        (LabelSettings(sampling=SamplingSettings(least_effects=200)), "no row is left"),
    ):
        with pytest.raises(InputError, match=message):
            make(workspace, screen, settings=settings)
    with pytest.raises(InputError, match="name of a dataset"):
        make(workspace, screen, "")
    with workspace.store.read() as db:
        assert datasets.list_all(db) == []
        assert imports.list_imports(db).empty
    assert not (workspace.settings.data / "cells").exists()


@pytest.mark.soak
def test_commands_describe_and_label(tmp_path: Path, screen: Path) -> None:
    place = tmp_path / "commands"
    found = core_json(place, "cells", "describe", str(screen))
    assert found["columns"]["perturbation"] == "perturbation"
    assert len(found["perturbations"]) == 20
    arguments = (
        "cells",
        "labels",
        str(screen),
        "--name",
        "screen",
        "--pert-shares",
        "0.5",
        "0.25",
        "0.25",
        "--least-effects",
        "5",
    )
    made = core_json(place, *arguments)
    assert set(made) >= {"dataset", "pairs", "up", "down", "none", "left_out"}
    assert made["pairs"] == made["up"] + made["down"] + made["none"]
    assert made["new"]
    assert core_json(place, *arguments)["new"] is False
    text = core(place, *arguments)
    assert "Fold changes are not shrunk" in text.out
    assert "nothing changed" in text.err
    refused = core(place, "cells", "describe", str(tmp_path / "none.h5ad"))
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "cannot be read" in refused.err


@pytest.mark.soak
def test_without_pdex_its_requirements_file_is_named(
    workspace: Workspace, screen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.base.errors import MissingPackage

    monkeypatch.setitem(__import__("sys").modules, "pdex._parallel", None)
    with pytest.raises(MissingPackage, match=r"requirements-cells\.txt"):
        make(workspace, screen)
