"""kNN priors of labelled rows under several cuts of the folds, and what else learns from labels
there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.features.experiments.ideas.idea import Material, Ranking, Trial
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Floats
from core.stats.scores_and_labels import (
    Scores,
    combine_codes,
    outcome_of,
    scores_from_probabilities,
)
from core.transfer.cut_priors import prepare_cuts
from core.transfer.fusion import Component, fuse, percentiles_of, weights_of
from core.transfer.knn import DEFAULT, Priors, Similarities, Weighting
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    SimilaritySettings,
    cells_of,
    parts_of,
)
from core.transfer.run_cells import scores_with_stand_ins
from core.transfer.similarity import Space

K = 5


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The definition of a kNN; `similar` replaces the spaces' own similarities."""

    spaces: tuple[Space, ...] = ()
    weighting: Weighting = DEFAULT
    centre: bool = False
    strength: float = 0.0
    similar: Similarities | None = None


def make_trial(material: Material, n_cuts: int, run: RunRows | None = None) -> Trial:
    """Return the labelled rows, or those of a run, in the cells of cuts 0, 1, … of doubly-disjoint
    folds and of the run's own."""
    rows = material.rows if run is None else material.index.rows.take(run.positions)
    protocols = [EvaluationProtocol("folds", K, seed) for seed in range(n_cuts)]
    folds = [cells_of(each, rows, parts_of(each, rows, material.rows)) for each in protocols]
    cells = tuple(combine_codes(None if run is None else run.cells, each) for each in folds)
    scored = f"inside {K}×{K} cells, " + ("cut 0" if n_cuts == 1 else f"mean of {n_cuts} cuts")
    return Trial(material.labels if run is None else run.labels, rows, cells, scored)


def predict(
    material: Material, knn: Neighbours, n_cuts: int, run: RunRows | None = None
) -> list[tuple[Priors, Priors]]:
    """Return the priors of the labelled rows, or those of a run, under cuts 0, 1, …, from the
    labelled rows outside both parts of each; and the base rates of the labels that each may see."""
    rows = material.rows if run is None else material.index.rows.take(run.positions)
    similarity = SimilaritySettings(knn.weighting, knn.centre, knn.strength)
    inputs = KnnInputs(
        rows, material.index.known, knn.spaces, similarity, material.dataset.name, knn.similar
    )
    return [
        (next(cut.predict([None])), cut.base_rates)
        for cut in prepare_cuts(inputs, K, range(n_cuts))
    ]


def knn_arms(material: Material, n_cuts: int, knns: Mapping[str, Neighbours]) -> list[Ranking]:
    """Return the arms of kNNs by name."""
    return [knn_arm(name, predict(material, knn, n_cuts)) for name, knn in knns.items()]


def knn_arm(name: str, predicted: Sequence[tuple[Priors, Priors]]) -> Ranking:
    """Return the arm of priors. Base rates replace missing priors, and the note counts these
    rows."""
    covered = np.mean([priors.covered.mean() for priors, _ in predicted])
    return Ranking(
        name,
        tuple(scores_with_stand_ins(*each) for each in predicted),
        f"covers {covered:.0%} of rows",
    )


def fuse_ranks(base: Scores, others: Sequence[Scores], weights: Sequence[Floats | float]) -> Scores:
    """Return the rank fusion of scores of the same rows. weights: of each other, for DE and DIR
    alike, one number or one for each row."""
    components = [Component(f"{i}", each.p_de, each.p_up) for i, each in enumerate([base, *others])]
    in_rows = [np.broadcast_to(weight, base.p_de.shape) for weight in weights]
    return fuse(percentiles_of(components), weights_of(in_rows, in_rows)).scores()


def learn_in_folds(
    trial: Trial, n_cuts: int, learn: Callable[[Bools, Bools, Bools], Floats]
) -> tuple[Scores, ...]:
    """Return each row's scores under each cut, learned from the labelled rows outside both of its
    parts.

    learn: returns the probabilities of the rows of a cell (first flags), learned from others
    (second) by what is positive (third).
    """
    outcome, rows = outcome_of(trial.labels), trial.rows
    scores = []
    for seed in range(n_cuts):
        parts = parts_of(EvaluationProtocol("folds", K, seed), rows, rows)
        assert parts is not None
        pert, gene = parts.pert[rows.pert], parts.gene[rows.gene]
        de, up = np.full((2, len(rows)), np.nan)
        for i, j in np.ndindex(K, K):
            inside, seen = (pert == i) & (gene == j), (pert != i) & (gene != j)
            if inside.any():
                de[inside] = learn(inside, seen, outcome.effect)
                up[inside] = learn(inside, seen & outcome.directed, outcome.up)
        scores.append(scores_from_probabilities(de, up))
    return tuple(scores)
