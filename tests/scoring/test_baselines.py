"""Baselines of a split, against scikit-learn on hand-made rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.base.errors import InputError
from core.scoring.baselines import dataset_baselines
from core.scoring.controls import NO_SKILL

# Two genes: A changes in 2 of 3 training rows, B in 1 of 3; the test rows of either hold both classes.
ROWS = pd.DataFrame(
    [
        *[
            ("train", f"T{i}", gene, label)
            for gene, labels in (("A", "ddn"), ("B", "dnn"))
            for i, label in enumerate(labels)
        ],
        *[
            ("test", f"U{i}", gene, label)
            for gene, labels in (("A", "ddn"), ("B", "dnn"))
            for i, label in enumerate(labels)
        ],
    ],
    columns=["split", "pert", "gene", "label"],
)
ROWS["label"] = ROWS["label"].map({"d": "de", "n": "none"})
ROWS["pair_id"] = ROWS["pert"] + "_" + ROWS["gene"]


def test_a_mean_by_gene_scores_a_half_in_every_gene_and_more_when_pooled() -> None:
    found = {each.name: each for each in dataset_baselines(ROWS, "test")}
    test = ROWS[ROWS["split"] == "test"]
    pooled = roc_auc_score(test["label"] == "de", np.where(test["gene"] == "A", 2 / 3, 1 / 3))
    of_gene = found["gene's training mean"]
    assert (of_gene.de.macro.value, of_gene.de.genes) == (0.5, 2)
    assert of_gene.de.micro.value == pytest.approx(pooled, abs=1e-15)
    assert pooled > 0.5
    assert of_gene.note == NO_SKILL
    for name in ("constant", "perturbation's training mean"):
        score = found[name].de
        assert (score.macro.value, score.micro.value) == (0.5, 0.5)
    assert all(each.dir is None for each in found.values())


def test_a_split_without_labels_is_named_with_those_that_have_some() -> None:
    with pytest.raises(
        InputError, match="split 'final': got no labelled row in it; expected one of test, train"
    ):
        dataset_baselines(ROWS, "final")
