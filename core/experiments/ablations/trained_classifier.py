"""trained_classifier: a classifier on [perturbation, gene, their product], compared with the kNN of the same vectors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.ablations.arms import Arm, Trial, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, SPACES, K, Neighbours, knn_arm, make_trial, predict
from core.methods.base import Option
from core.stats.arrays import Bools, Floats
from core.stats.scores_and_labels import Scores, outcome_of, scores_from_probabilities
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.similarity import Space

KNN, LOGISTIC, NETWORK = "kNN of the same vectors", "logistic regression", "network of one hidden layer"
MOST_STEPS = 300
FEWEST = 20  # fewest labelled rows for fitting a classifier; with fewer, the base rate is used


def features_of(spaces: list[Space], material: Material, columns: int) -> Floats:
    """Return [perturbation, gene, perturbation · gene] of every labelled row, of shape (n_rows, 3 · columns); NaN if not covered.

    A space's first columns are its largest components; several spaces share the columns evenly.
    """
    each = max(1, columns // len(spaces))
    vectors = np.concatenate([_scale(space.columns[:, :each]) for space in spaces], axis=1)
    pert, gene = vectors[material.rows.pert], vectors[material.rows.gene]
    found: Floats = np.concatenate((pert, gene, pert * gene), axis=1)
    return found


def _scale(columns: Floats) -> Floats:
    """Return vectors divided by their mean length, so that spaces have equal weight; symbols without a vector stay NaN."""
    length = np.sqrt(np.square(columns).sum(axis=1))
    found: Floats = columns / np.nanmean(length)
    return found


def predict_cells(trial: Trial, features: Floats, model: Any, seed: int) -> Scores:
    """Return each row's scores from a model fitted on rows outside both of its parts.

    model: returns an unfitted classifier of scikit-learn. Rows without features, and cells with too few rows, get base rates.
    """
    outcome, rows = outcome_of(trial.labels), trial.rows
    parts = parts_of(EvaluationProtocol("folds", K, seed), rows, rows)
    assert parts is not None
    pert, gene = parts.pert[rows.pert], parts.gene[rows.gene]
    covered: Bools = np.asarray(np.isfinite(features).all(axis=1))
    de, up = np.full((2, len(rows)), 0.5)
    for i in range(K):
        for j in range(K):
            inside, seen = (pert == i) & (gene == j), (pert != i) & (gene != j)
            if inside.any():
                de[inside] = _fit_and_predict(model, features, covered, (inside, seen), outcome.effect)
                up[inside] = _fit_and_predict(model, features, covered, (inside, seen & outcome.directed), outcome.up)
    return scores_from_probabilities(de, up)


def _fit_and_predict(model: Any, features: Floats, covered: Bools, rows: tuple[Bools, Bools], positive: Bools) -> Floats:
    """Return the probabilities of the rows inside a cell, learned from the visible rows; base rates if there are too few."""
    inside, seen = rows
    base = positive[seen].mean() if seen.any() else 0.5
    found: Floats = np.full(int(inside.sum()), base)
    known, wanted = seen & covered, inside & covered
    if known.sum() < FEWEST or positive[known].all() or not positive[known].any() or not wanted.any():
        return found
    mean, spread = features[known].mean(axis=0), features[known].std(axis=0) + 1e-9
    fitted = model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that stops early warns; the number of steps is a setting
        fitted.fit((features[known] - mean) / spread, positive[known])
        found[covered[inside]] = fitted.predict_proba((features[wanted] - mean) / spread)[:, 1]
    return found


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    spaces, n_cuts = material.spaces(options["spaces"]), options["cuts"]
    trial, features = make_trial(material, n_cuts), features_of(spaces, material, options["columns"])

    def logistic() -> Any:
        return LogisticRegression(C=options["c"], max_iter=MOST_STEPS)

    def network() -> Any:
        return MLPClassifier((options["hidden"],), alpha=1.0, max_iter=options["epochs"], batch_size=256, random_state=0)

    arms = [knn_arm(KNN, predict(material, Neighbours(tuple(spaces), centre=options["centre"]), n_cuts))]
    for name, model in ((LOGISTIC, logistic), (NETWORK, network)):
        scores = tuple(predict_cells(trial, features, model, seed) for seed in range(n_cuts))
        arms.append(Arm(name, scores, f"{features.shape[1]} features, fitted for each cell"))
    table = score_arms(trial, arms, KNN)
    remark = f"{np.isfinite(features).all(axis=1).mean():.0%} of rows have vectors on both axes; the others get base rates."
    return Outcome(table, describe_changes(table, KNN), (remark,))


ABLATION = Ablation(
    name="trained_classifier",
    title="Trained classifier",
    question="Does a classifier on the vectors of perturbation, gene and their product beat a kNN of the same vectors?",
    needs=("labels", "space"),
    options=(
        SPACES,
        Option(
            "columns", "int", 32, "Number of columns of each vector; there are three times as many features.", least=1, most=256
        ),
        Option("c", "float", 0.01, "Inverse strength of the logistic regression's penalty.", least=0.000001),
        Option("hidden", "int", 32, "Number of units in the hidden layer.", least=1, most=256),
        Option("epochs", "int", 10, "Number of epochs.", least=1, most=200),
        CENTRE,
        Option("cuts", "int", 1, "Number of averaged cuts of perturbations and genes into 5 × 5 cells.", least=1, most=10),
    ),
    make=_make,
)
