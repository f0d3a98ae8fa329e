"""Scores, standard errors and controls on the published files, against figures measured with independent code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.stats.bootstrap import ResamplingPlan, bootstrap_score, combine_axes
from core.stats.count_controls import score_count_controls
from core.stats.official_score import official_score, score_with_intervals
from core.stats.scores_and_labels import (
    scored_rows,
    scores_from_probabilities,
    scores_from_submission,
)
from core.stats.within_axis import score_within

pytestmark = pytest.mark.real

STANDARD_ERRORS = {"row": 0.0111, "pert": 0.0129, "gene": 0.0123}
PRODUCT, TWO_WAY = 0.0208, 0.0139


@dataclass(frozen=True)
class Pool:
    """The labelled pool, joined on id."""

    rows: pd.DataFrame

    def column(self, name: str) -> np.ndarray:
        return self.rows[name].to_numpy()

    @property
    def arguments(self) -> tuple[object, ...]:
        """Labels and the scores of the file."""
        return self.column("label"), scores_from_submission(
            self.column("prediction_up"), self.column("prediction_down")
        )

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.column("pert"), self.column("gene")


@pytest.fixture(scope="module")
def train(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "challenge" / "train.csv", keep_default_na=False)


@pytest.fixture(scope="module")
def pool(shared_data: Path, train: pd.DataFrame) -> Pool:
    columns = ["id", "prediction_up", "prediction_down"]
    path = shared_data / "perturbagent" / "track_a_logprobs_train2499.zip"
    return Pool(
        pd.read_csv(path, keep_default_na=False, usecols=columns).merge(
            train, on="id", validate="1:1"
        )
    )


def test_official_score_of_the_pool(pool: Pool) -> None:
    score = official_score(
        pool.column("label"), pool.column("prediction_up"), pool.column("prediction_down")
    )
    assert (score.n, score.n_labelled, score.n_de) == (2499, 2499, 1117)
    assert score.de == pytest.approx(0.5788, abs=0.0005)
    assert score.dir == pytest.approx(0.5797, abs=0.0005)


def test_analytic_standard_errors_of_the_mean(pool: Pool) -> None:
    mean = score_with_intervals(*pool.arguments, *pool.axes).mean
    for unit, expected in STANDARD_ERRORS.items():
        assert getattr(mean, unit).se == pytest.approx(expected, rel=0.1)
    assert mean.two_way.se == pytest.approx(TWO_WAY, rel=0.1)


@pytest.mark.soak
def test_bootstrap_standard_errors_of_the_mean(pool: Pool) -> None:
    units = (*STANDARD_ERRORS, "two-way")
    means = [
        bootstrap_score(*pool.arguments, ResamplingPlan(unit, seed=1), *pool.axes).mean
        for unit in units
    ]
    for mean in means[:3]:
        assert mean.se == pytest.approx(STANDARD_ERRORS[mean.unit], rel=0.1)
    assert means[3].se == pytest.approx(PRODUCT, rel=0.1)
    assert combine_axes(*means[:3]).se == pytest.approx(TWO_WAY, rel=0.1)


def test_the_model_does_not_rank_within_a_gene(pool: Pool) -> None:
    rows = scored_rows(*pool.arguments, *pool.axes)
    gene, pert = score_within(rows, "gene").de, score_within(rows, "pert").de
    assert gene.by_pairs.value == pytest.approx(0.500, abs=0.0015)
    assert pert.by_pairs.value == pytest.approx(0.569, abs=0.0015)
    assert gene.macro.value == pytest.approx(
        0.556, abs=0.0015
    )  # genes with few pairs count as much as others


def test_row_counts_leak_into_the_labels(train: pd.DataFrame) -> None:
    found = score_count_controls(*(train[name].to_numpy() for name in ("label", "pert", "gene")))
    assert found.count_only_de.value == pytest.approx(0.6726, abs=0.0005)
    assert found.count_only_de_without_singletons.value == pytest.approx(0.6155, abs=0.0005)
    assert found.rarer_up_dir.value == pytest.approx(0.5694, abs=0.0005)
    assert (found.singletons, found.singletons_none) == (632, 632)


@pytest.mark.soak
def test_the_gene_mean_of_perturbqa_has_exactly_a_half_per_gene(shared_data: Path) -> None:
    table = pd.read_csv(shared_data / "perturbqa" / "k562-de.csv", keep_default_na=False)
    known, test = table[table["split"] == "train"], table[table["split"] == "test"]
    means = (
        test["gene"]
        .map(known.groupby("gene")["label"].mean())
        .fillna(known["label"].mean())
        .to_numpy()
    )
    labels = np.where(test["label"] == 1, "de", "none")
    rows = scored_rows(
        labels,
        scores_from_probabilities(means, means),
        test["pert"].to_numpy(),
        test["gene"].to_numpy(),
    )
    within = score_within(rows, "gene").de
    assert within.macro.value == within.by_pairs.value == 0.5
    assert within.groups == sum(0 < label.mean() < 1 for _, label in test.groupby("gene")["label"])
    assert (
        score_with_intervals(labels, rows.scores, rows.pert, rows.gene).de.value > 0.6
    )  # pooled it looks like knowledge
