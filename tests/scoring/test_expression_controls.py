"""Controls that know a gene from control cells alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.scoring.baselines import CONTROLS, add_expression, dataset_baselines
from core.scoring.controls import control_run
from tests.scoring.test_run_scores import GENE, LABELS, PERT, rows_of

GENES = pd.DataFrame(
    {
        "gene": ["m", "n", "o", "q"],
        "mean": [4.0, 3.0, 9.0, 3.5],
        "detected": 0.5,
        "variance": [1.0, 5.0, 2.0, 3.0],
    }
)


def test_expression_detection_and_variance_are_scored_on_a_runs_rows() -> None:
    rows = rows_of()
    rows = replace(rows, frame=rows.frame.assign(count_only=0.0, rarer_gene=0.0))
    plain = control_run(rows, np.full(len(rows), "train", dtype=object))
    found = {each.name: each for each in add_expression(plain, rows, GENES).controls}
    assert list(found)[-3:] == ["expression-only", "detection-only", "variance-only"]
    assert len(found) == len(plain.controls) + 3
    assert add_expression(plain, rows, None) is plain  # another dataset
    mean = dict(zip(GENES["gene"], GENES["mean"], strict=True)) | {
        "p": 3.75
    }  # p is not among them: the median
    expected = roc_auc_score([label != "none" for label in LABELS], [mean[gene] for gene in GENE])
    expression = found["expression-only"].de
    assert expression.estimate == pytest.approx(expected)
    detection = found["detection-only"].de
    assert detection.estimate == 0.5  # all genes are seen as often


def test_a_split_has_them_among_its_baselines() -> None:
    dataset = pd.DataFrame({"pert": PERT, "gene": GENE, "label": LABELS, "split": "test"})
    dataset["pair_id"] = dataset["pert"] + "_" + dataset["gene"]
    without, beside = (dataset_baselines(dataset, "test", genes) for genes in (None, GENES))
    assert [each.name for each in beside] == [
        *(each.name for each in without),
        *(name for name, _ in CONTROLS.values()),
    ]
    mean = dict(zip(GENES["gene"], GENES["mean"], strict=True)) | {"p": 3.75}
    scored = beside[len(without)].de
    assert scored.micro.value == pytest.approx(
        roc_auc_score([label != "none" for label in LABELS], [mean[gene] for gene in GENE])
    )
