"""Predictions that are the truth score 1.00 as a run of `cells predictions`, in every scale and subset of genes that is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.base.config import REPOSITORY
from core.features.cells.predicted_expression import CellOptions
from core.features.cells.predictions import PredictionOptions, import_predictions
from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows, score_run
from tests import cases
from tests.features.cells.conventions import COUNTS, SCREEN, VALUES
from tests.features.cells.test_scales import PERTURBED, SCALES, SINGLES, SUBSETS, truth, write

EVERY = np.arange(len(SCREEN.genes))
CASES = (  # in the others, test_scales holds the changes to be the truth
    ("counts", "40 genes"),
    ("log1p of a million", "40 genes"),
    ("log1p of the median", "all genes"),
)


def label_of(change: float) -> str | None:
    """The label of a true log2 fold change; None for a pair between changed and unchanged."""
    if abs(change) > 0.6:
        return "up" if change > 0 else "down"
    return "none" if abs(change) < 0.3 else None


def score_of_truth(
    workspace: Workspace, folder: Path, case: tuple[str, str], over: np.ndarray | None
) -> tuple[float, float]:
    """DE and DIR of the true values of a scale and subset of genes, beside labels made over some genes, None for all."""
    pairs = [(pert, gene) for pert in SINGLES for gene in SCREEN.genes]
    labels = zip(pairs, map(label_of, truth(over)), strict=True)
    rows = [(f"{pert}_{gene}", pert, gene, label) for (pert, gene), label in labels if label]
    import_upload(workspace, cases.as_csv(["id", "pert", "gene", "label"], rows), "train.csv")
    real = write(folder / "real.h5ad", COUNTS, EVERY, np.arange(len(VALUES)))
    path = write(folder / "predicted.h5ad", SCALES[case[0]], SUBSETS[case[1]], PERTURBED)
    import_predictions(
        workspace, path, PredictionOptions(name="truth", cells=CellOptions(real=real))
    )
    with workspace.store.read() as db:
        scored = load_scored_rows(db, "truth")
    assert scored.covered.sum() > len(rows) * len(SUBSETS[case[1]]) / len(EVERY) / 2
    found = score_run(scored.take(scored.covered)).whole
    return found.de.value, found.dir.value


@pytest.mark.few(1)
@pytest.mark.parametrize(("scale", "subset"), CASES)
def test_a_run_of_them_scores_one(
    tmp_path: Path, workspace: Workspace, scale: str, subset: str
) -> None:
    # of counts, only the sum over the genes that both files have is known: what is true is then what is true of these
    over = SUBSETS[subset] if scale.startswith("counts") else None
    assert score_of_truth(workspace, tmp_path, (scale, subset), over) == (1.0, 1.0)


@pytest.mark.soak
def test_counts_of_some_genes_do_not_know_the_others_sum(
    tmp_path: Path, workspace: Workspace
) -> None:
    de, direction = score_of_truth(workspace, tmp_path, ("counts", "40 genes"), None)
    assert (round(de, 3), direction) == (0.963, 1.0)
    assert (
        "score DE .963 and DIR 1.00"
        in (REPOSITORY / "docs" / "predicted_expression.md").read_text()
    )
