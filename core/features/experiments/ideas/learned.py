"""Ideas that learn from labels in folds: rates of a target gene's curated program, and a classifier
on [perturbation, gene, their product] beside the kNN of the same vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from core.base.fields.setting import setting
from core.evidence.tools.gene_class import program_of
from core.features.experiments.ideas.idea import (
    Cuts,
    Judged,
    Material,
    OfSpaces,
    OnLabels,
    Ranking,
    Trial,
    idea,
)
from core.features.experiments.ideas.priors import Neighbours, knn_arms, learn_in_folds, make_trial
from core.stats.arrays import Bools, Codes, Floats, count_codes
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from core.transfer.similarity import Space

NO_PROGRAM = "no program"
_SIGN = {"up": 1.0, "down": -1.0}


@dataclass(frozen=True, slots=True)
class ProgramSettings(OnLabels):
    """How far rates are shrunk, and the cuts."""

    strength: Annotated[
        float, Ge(0.0), setting("Number of pseudo-rows at the base rate added to each program.")
    ] = 20.0
    cuts: Cuts = 10


def _rates(trial: Trial, code: Codes, n_cuts: int, strength: float) -> tuple[Scores, ...]:
    """Return each program's rates among the rows visible to a row, mixed with `strength`
    pseudo-rows at their base rate."""
    n = count_codes(code)

    def learn(inside: Bools, seen: Bools, positive: Bools) -> Floats:
        base = positive[seen].mean() if seen.any() else 0.5
        hits, rows = (np.bincount(code[chosen], minlength=n) for chosen in (seen & positive, seen))
        shares: Floats = (hits + strength * base) / (rows + strength)
        return shares[code[inside]]

    return learn_in_folds(trial, n_cuts, learn)


def _judge_programs(material: Material, chosen: ProgramSettings) -> Judged:
    trial = make_trial(material, chosen.cuts)
    programs = [program_of(symbol)[1] for symbol in material.symbols(trial.rows.gene)]
    names = [program.name if program else NO_PROGRAM for program in programs]
    code = np.unique(names, return_inverse=True)[1].astype(np.intp)
    rule = scores_from_probabilities(
        np.array([program is not None for program in programs], dtype=float),
        np.array([_SIGN[program.expected] if program else 0.0 for program in programs]),
    )
    arms = [
        Ranking(
            "base rate",
            _rates(trial, np.zeros_like(code), chosen.cuts, chosen.strength),
            "no program",
        ),
        Ranking(
            "as expected",
            (rule,) * chosen.cuts,
            "saw no label: a program changes, in its expected direction",
        ),
        Ranking(
            "rates of programs",
            _rates(trial, code, chosen.cuts, chosen.strength),
            "learned in folds",
        ),
    ]
    covered = np.mean([program is not None for program in programs])
    remark = f"{covered:.0%} of rows have a gene of a curated program; the others tie."
    return Judged(trial, arms, (remark,))


PROGRAM_PRIORS = idea(
    "program_priors",
    "Program priors",
    "Do genes of known programs (stress, p53, ribosome, cell cycle) change in the expected"
    " direction?",
    ("labels",),
    ProgramSettings,
    _judge_programs,
)


MOST_STEPS = 300
FEWEST = 20  # fewest labelled rows for fitting a classifier; with fewer, the base rate is used


@dataclass(frozen=True, slots=True)
class ClassifierSettings(OfSpaces):
    """The settings of a kNN and of both classifiers."""

    cuts: Cuts = 1
    columns: Annotated[
        int,
        Ge(1),
        Le(256),
        setting("Number of columns of each vector; there are three times as many features."),
    ] = 32
    c: Annotated[
        float, Ge(0.000001), setting("Inverse strength of the logistic regression's penalty.")
    ] = 0.01
    hidden: Annotated[int, Ge(1), Le(256), setting("Number of units in the hidden layer.")] = 32
    epochs: Annotated[int, Ge(1), Le(200), setting("Number of epochs.")] = 10


def features_of(spaces: Sequence[Space], material: Material, columns: int) -> Floats:
    """Return [perturbation, gene, perturbation · gene] of every labelled row, of shape (n_rows, 3 ·
    columns); NaN if not covered.

    A space's first columns are its largest components; several spaces share the columns evenly.
    """
    share = max(1, columns // len(spaces))
    vectors = np.concatenate([_scale(space.columns[:, :share]) for space in spaces], axis=1)
    pert, gene = vectors[material.rows.pert], vectors[material.rows.gene]
    features: Floats = np.concatenate((pert, gene, pert * gene), axis=1)
    return features


def _scale(columns: Floats) -> Floats:
    """Return vectors divided by their mean length, so that spaces have equal weight; symbols
    without a vector stay NaN."""
    scaled: Floats = columns / np.nanmean(np.sqrt(np.square(columns).sum(axis=1)))
    return scaled


def predict_cells(
    trial: Trial, features: Floats, model: Callable[[], Any], n_cuts: int
) -> tuple[Scores, ...]:
    """Return each row's scores from a model fitted on rows outside both of its parts, under each
    cut.

    model: returns an unfitted classifier of scikit-learn. Rows without features, and cells with too
    few rows, get base rates.
    """
    covered = np.asarray(np.isfinite(features).all(axis=1))
    return learn_in_folds(trial, n_cuts, partial(_fit_and_predict, model, features, covered))


def _fit_and_predict(
    model: Callable[[], Any],
    features: Floats,
    covered: Bools,
    inside: Bools,
    seen: Bools,
    positive: Bools,
) -> Floats:
    """Return the probabilities of the rows inside a cell, learned from the visible rows; base rates
    if there are too few."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    p: Floats = np.full(int(inside.sum()), positive[seen].mean() if seen.any() else 0.5)
    known, wanted = seen & covered, inside & covered
    if (
        known.sum() < FEWEST
        or positive[known].all()
        or not positive[known].any()
        or not wanted.any()
    ):
        return p
    with warnings.catch_warnings():
        # a fit that stops early warns; the number of steps is a setting
        warnings.simplefilter("ignore")
        fitted = make_pipeline(StandardScaler(), model()).fit(features[known], positive[known])
    p[covered[inside]] = fitted.predict_proba(features[wanted])[:, 1]
    return p


def _judge_classifier(material: Material, chosen: ClassifierSettings) -> Judged:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    models: dict[str, Callable[[], Any]] = {
        "logistic regression": lambda: LogisticRegression(C=chosen.c, max_iter=MOST_STEPS),
        "network of one hidden layer": lambda: MLPClassifier(
            (chosen.hidden,), alpha=1.0, max_iter=chosen.epochs, batch_size=256, random_state=0
        ),
    }
    spaces, trial = material.spaces(chosen.spaces), make_trial(material, chosen.cuts)
    features = features_of(spaces, material, chosen.columns)
    note = f"{features.shape[1]} features, fitted for each cell"
    arms = [
        *knn_arms(
            material,
            chosen.cuts,
            {"kNN of the same vectors": Neighbours(spaces, centre=chosen.centre)},
        ),
        *(
            Ranking(name, predict_cells(trial, features, model, chosen.cuts), note)
            for name, model in models.items()
        ),
    ]
    covered = np.isfinite(features).all(axis=1).mean()
    return Judged(
        trial,
        arms,
        (f"{covered:.0%} of rows have vectors on both axes; the others get base rates.",),
    )


TRAINED_CLASSIFIER = idea(
    "trained_classifier",
    "Trained classifier",
    "Does a classifier on the vectors of perturbation, gene and their product beat a kNN of the"
    " same vectors?",
    ("labels", "space"),
    ClassifierSettings,
    _judge_classifier,
)
