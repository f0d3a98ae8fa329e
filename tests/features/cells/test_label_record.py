"""The folder of a screen: whole only with its record, which is written last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.base.errors import StoreDamaged
from core.features.cells.label_record import ScreenFolder, describe, summarize_labels
from core.features.cells.screen import LabelSettings, describe_cells, label_screen
from tests.features.cells.cases import write_case
from tests.features.cells.conftest import WriteCells


@pytest.mark.soak
def test_a_folder_is_whole_with_its_record(tmp_path: Path) -> None:
    write_case(tmp_path / "screen.h5ad")
    labels = label_screen(tmp_path / "screen.h5ad", LabelSettings(), lambda _: None)
    folder = ScreenFolder(tmp_path / "made")
    assert not folder.is_whole
    folder.write(labels, {"rows": 3})
    assert folder.is_whole
    assert folder.record() == {"rows": 3}
    effects = folder.table("effects", labels.groups.targets[2])
    assert effects["gene"].astype(object).tolist() == list(labels.genes)
    assert folder.table("guides").equals(labels.knockdown)
    genes = folder.genes()
    assert genes["gene"].tolist() == list(labels.genes)
    assert ((genes["detected"] > 0) == (genes["mean"] > 0)).all()
    (folder.path / "guides.parquet").unlink()
    assert not folder.is_whole


def test_damage_is_named(tmp_path: Path) -> None:
    folder = ScreenFolder(tmp_path)
    with pytest.raises(StoreDamaged, match=r"record\.json: cannot be read"):
        folder.record()
    (tmp_path / "record.json").write_text("[1]")
    with pytest.raises(StoreDamaged, match="list, expected an object"):
        folder.record()
    (tmp_path / "effects.parquet").write_bytes(b"nothing")
    with pytest.raises(StoreDamaged, match=r"effects\.parquet: cannot be read"):
        folder.table("effects")


RECORD = {
    "rows": 12,
    "labels": {"up": 2, "down": 4, "none": 6},
    "cells": 1_500,
    "control_cells": 150,
    "columns": {"perturbation": "gene", "control": "NT", "batch": None, "guide": "guide"},
    "perturbations": 10,
    "left_out": {
        "unassigned cells": 3,
        "cells without counts": 0,
        "perturbations of several genes": ["A+B"],
        "perturbations with few cells": [],
        "perturbations with few effects": ["A", "B"],
        "confounded perturbations": ["C"],
        "pairs without a label": 1_234,
    },
    "targets_not_among_the_genes": [],
    "perturbations_in_batches_without_controls": [],
    "failed_guides": [f"g{i}" for i in range(10)],
    "settings": {"most_remaining": 0.7, "design": {"cells_alone": True}},
    "whole_numbers": False,
    "confounders": [],
    "gene_names": "",
    "within": [],
    "by_depth": False,
    "strata": 1,
    "replicates": None,
    "calibration": None,
}


def test_a_dataset_is_described_with_what_was_left_out() -> None:
    found = summarize_labels("lab", RECORD)
    assert found.sentence == "lab: 12 pairs: 2 up, 4 down, 6 none"
    assert found.caveats == (
        "Fold changes are not shrunk; those of the BioReasoning challenge are.",
    )
    assert list(found.lines) == [
        "1,500 cells, 150 of them controls (NT); columns: perturbation = gene, guide = guide",
        "7 of 10 perturbations have enough effects",
        "pairs that are neither changed nor unchanged, left out: 1,234",
        "replicates not tested, as asked; labels rest on cells alone",
        "false effects: not known, too few controls for mock perturbations",
        "perturbations of several genes, left out: 1 (A+B)",
        "confounded: perturbations that share too few cells of their batches with controls, and get no labels: 1 (C)",
        "failed guides, which leave more than 70% of their target's expression: 10 (g0, g1, g2, g3, g4, g5, g6, g7 and 2 more)",
        "unassigned cells, left out: 3",
        "not all values are whole numbers: are these counts?",
    ]


def test_what_was_chosen_is_described(cells_file: WriteCells) -> None:
    path = cells_file(
        np.ones((6, 1), dtype=np.float32), {"gene": ["NT", "NT", "A", "A", "", "Z"]}, ["A"]
    )
    found = describe(describe_cells(path))
    assert found.sentence == "6 cells × 1 genes"
    assert list(found.lines) == [
        "perturbation  gene (found by name)",
        "control       NT (found by name), 2 cells",
        "batch         none",
        "guide         none",
        "gene names    index of var",
        "controls: 2 cells: NT (2)",
        "missing, left out: 1 cells: '' (1)",
        "perturbations of one gene: 1, with 2 to 2 cells",
        "perturbations with fewer than 30 cells: 1",
    ]
