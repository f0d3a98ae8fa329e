"""Controls on the published files, against figures measured with independent code; scores and their errors: test_numbers.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.stats.count_controls import score_count_controls
from core.stats.scores_and_labels import scored_rows, scores_from_submission
from core.stats.within_axis import score_within

pytestmark = pytest.mark.real

AXES = ("label", "pert", "gene")


@pytest.fixture(scope="module")
def train(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "challenge" / "train.csv", keep_default_na=False)


def test_the_model_does_not_rank_within_a_gene(shared_data: Path, train: pd.DataFrame) -> None:
    columns = ["id", "prediction_up", "prediction_down"]
    path = shared_data / "perturbagent" / "track_a_logprobs_train2499.zip"
    pool = pd.read_csv(path, keep_default_na=False, usecols=columns).merge(
        train, on="id", validate="1:1"
    )
    up, down, label, pert, gene = (pool[name].to_numpy() for name in (*columns[1:], *AXES))
    rows = scored_rows(label, scores_from_submission(up, down), pert, gene)
    of_gene, of_pert = score_within(rows, "gene").de, score_within(rows, "pert").de
    assert of_gene.by_pairs.value == pytest.approx(0.500, abs=0.0015)
    assert of_pert.by_pairs.value == pytest.approx(0.569, abs=0.0015)
    # genes with few pairs count as much as others
    assert of_gene.macro.value == pytest.approx(0.556, abs=0.0015)


def test_row_counts_leak_into_the_labels(train: pd.DataFrame) -> None:
    found = score_count_controls(*(train[name].to_numpy() for name in AXES))
    assert found.count_only_de.value == pytest.approx(0.6726, abs=0.0005)
    assert found.count_only_de_without_singletons.value == pytest.approx(0.6155, abs=0.0005)
    assert found.rarer_up_dir.value == pytest.approx(0.5694, abs=0.0005)
    assert (found.singletons, found.singletons_none) == (632, 632)
