"""Small screens without effects but of clones, depth and batches: by cells alone labels are false, beside guides few are."""

from __future__ import annotations

from pathlib import Path

from core.features.cells.comparisons import DesignSettings
from core.features.cells.label_record import marks_of, record_of, summarize_labels
from core.features.cells.labels import SamplingSettings
from core.features.cells.screen import LabelSettings
from tests.features.cells.null_screens import NullScreen, label_null

SMALL = NullScreen(cells=60, control=240, genes=150, perturbations=8, batches=2)
EVERY_PAIR = SamplingSettings(all_pairs=True, least_effects=1)


def test_clones_are_no_effects_beside_guides(tmp_path: Path) -> None:
    screen = NullScreen(**{**vars(SMALL), "guide_sd": 0.3, "changed": 0.1, "fold": 4.0})
    alone, beside = (
        label_null(
            tmp_path,
            screen,
            0,
            LabelSettings(design=DesignSettings(4, cells_alone), sampling=EVERY_PAIR),
        )
        for cells_alone in (True, False)
    )
    assert alone.false > 0.2 * alone.effects
    assert alone.marked
    assert beside.false <= 0.1 * beside.effects
    assert beside.found > 0.4 * beside.true_effects
    record = record_of(beside.labels, LabelSettings())
    assert record["replicates"]["kind"] == "guide"
    assert record["replicates"]["agreement"] > 0.9
    effects = beside.labels.effects()
    assert set(effects["replicates"]) == {3}
    assert any(
        line.endswith("strata of batch and depth") for line in summarize_labels("d", record).lines
    )
    called = effects[effects["label"].isin(["up", "down"])]
    assert (called["replicate_fdr"] < 0.05).all()
    assert called["agree"].mean() > 2.7
    assert alone.labels.effects()["marked"].sum() == alone.effects
    record = record_of(alone.labels, LabelSettings())
    assert marks_of(record).marked
    assert marks_of(record).sentence in summarize_labels("d", record).lines


def test_one_cell_that_strays_into_the_controls_batch_makes_no_comparison(tmp_path: Path) -> None:
    screen = NullScreen(**{**vars(SMALL), "batch_sd": 0.5, "alone": True, "stray": 1})
    assert label_null(tmp_path, screen, 0, LabelSettings(sampling=EVERY_PAIR)).confounded == 8
