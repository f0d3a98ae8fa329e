"""Controls that know a gene from control cells alone."""

from __future__ import annotations

import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.scoring.expression_controls import control_expression
from tests.scoring.test_run_scores import GENE, LABELS, rows_of

GENES = pd.DataFrame(
    {"gene": ["m", "n", "o", "q"], "mean": [4.0, 3.0, 9.0, 3.5], "detected": 0.5, "variance": [1.0, 5.0, 2.0, 3.0]}
)


def test_expression_detection_and_variance_are_scored_on_a_runs_rows() -> None:
    found = {each.name: each for each in control_expression(rows_of(), GENES)}
    assert list(found) == ["expression-only", "detection-only", "variance-only"]
    mean = dict(zip(GENES["gene"], GENES["mean"], strict=True)) | {"p": 3.75}  # p is not among them: the median
    expected = roc_auc_score([label != "none" for label in LABELS], [mean[gene] for gene in GENE])
    expression = found["expression-only"].de
    assert expression is not None
    assert expression.estimate == pytest.approx(expected)
    detection = found["detection-only"].de
    assert detection is not None
    assert detection.estimate == 0.5  # all genes are seen as often


def test_other_datasets_have_none() -> None:
    assert control_expression(rows_of(), None) == ()
