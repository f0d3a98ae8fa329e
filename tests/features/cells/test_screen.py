"""A file of cells described, and labelled in one call: the calls against the truth, and the record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.features.cells.label_record import record_of
from core.features.cells.labels import LEFT_OUT, UP
from core.features.cells.screen import NOT_SHRUNK, LabelSettings, describe_cells, label_screen
from core.features.cells.simulator import ScreenSettings, simulate_screen
from tests.features.cells.cases import LABELLED, write_case, write_screen
from tests.features.cells.truth import calls_of, measure_calls

pytestmark = pytest.mark.soak


def test_labels_agree_with_the_truth(tmp_path: Path) -> None:
    """One screen; soak/test_cells.py measures twenty larger ones."""
    found = measure_calls(
        tmp_path, ScreenSettings(n_cells=2_500, n_genes=200, n_perturbations=20), 0
    )
    assert found.false_significant / found.significant < 0.12
    assert found.found / found.large > 0.5
    assert found.reversed <= 0.01 * found.called


def test_the_record_says_how_labels_were_made(tmp_path: Path) -> None:
    screen = write_case(tmp_path / "screen.h5ad")
    settings = LabelSettings()
    said = []
    labels = label_screen(tmp_path / "screen.h5ad", settings, said.append)
    record = record_of(labels, settings)
    assert record["note"] == NOT_SHRUNK
    assert record["settings"]["thresholds"] == {
        "fdr": 0.05,
        "log2_fc": np.log2(1.5),
        "none_fdr": 0.05,
        "none_log2_fc": 0.25,
    }
    assert record["packages"]["pdex"] == "0.1.28"
    assert record["rows"] == len(labels.pairs) == sum(record["labels"].values())
    assert len(record["left_out"]["perturbations of several genes"]) == 1
    assert said[0] == "reading 2,000 cells × 160 genes"
    assert said[-1] == "100% of the genes compared"
    working = {
        guide
        for guide in screen.obs["guide"].unique()
        if guide.rpartition("_")[0] in labels.groups.targets
    }
    assert set(record["failed_guides"]) == set(screen.failed_guides) & working
    assert calls_of(screen, labels).called == int((np.abs(labels.codes) == UP).sum())


def test_tables_hold_every_pair_and_perturbation(tmp_path: Path) -> None:
    write_case(tmp_path / "screen.h5ad")
    labels = label_screen(tmp_path / "screen.h5ad", LabelSettings(), lambda _: None)
    effects, perturbations = labels.effects(), labels.perturbations()
    assert len(effects) == 20 * 160
    row = effects.iloc[3 * 160 + 7]
    assert (row["pert"], row["gene"]) == (labels.groups.targets[3], labels.genes[7])
    assert row["fdr"] == labels.changes.fdr[3, 7]
    counted = effects.groupby(["pert", "label"], observed=False).size().unstack()
    for name, column in (
        ("up", "up"),
        ("down", "down"),
        ("none", "none"),
        ("left out", "left_out"),
    ):
        assert (
            perturbations[column].tolist() == counted[name].reindex(perturbations["pert"]).tolist()
        )
    assert perturbations["rows"].sum() == len(labels.pairs)
    assert perturbations.loc[perturbations["split"].isna(), "rows"].sum() == 0
    merged = labels.pairs.merge(
        effects.astype({"pert": object, "gene": object}),
        on=["pert", "gene"],
        suffixes=("", "_effect"),
    )
    assert (merged["label"] == merged["label_effect"]).all()
    assert (labels.pairs["pert"] != labels.pairs["gene"]).all()


def test_a_perturbation_that_shares_no_batch_with_controls_has_no_labels(tmp_path: Path) -> None:
    screen = simulate_screen(LABELLED, 0)
    obs = screen.obs.astype(object)
    alone = obs["perturbation"].value_counts().index[1]  # the first are the controls
    obs.loc[obs["perturbation"] == alone, "batch"] = "batch3"
    write_screen(replace(screen, obs=obs.astype("category")), tmp_path / "screen.h5ad")
    assert describe_cells(tmp_path / "screen.h5ad").groups.confounded == (alone,)
    labels = label_screen(tmp_path / "screen.h5ad", LabelSettings(), lambda _: None)
    position = labels.groups.targets.index(alone)
    assert (labels.codes[position] == LEFT_OUT).all()
    assert np.isnan(
        labels.changes.fdr[position]
    ).all()  # inside of batches there is nothing that it can be compared with
    assert alone not in set(labels.pairs["pert"])
    left_out = record_of(labels, LabelSettings())["left_out"]
    assert left_out["confounded perturbations"] == [alone]
    assert alone not in left_out["perturbations with few effects"]
