"""A saved run fused with kNN components, on the run's labelled rows, under several cuts of the folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.experiments.ablations.arms import Arm, Trial, mask_scores
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import K, Neighbours, describe_cuts
from core.methods.base import Option
from core.stats.arrays import Bools, Codes, Floats
from core.stats.scored_rows import combine_codes
from core.stats.scores_and_labels import Scores
from core.transfer.cut_priors import prepare_cuts
from core.transfer.fusion import Component, fuse, percentiles_of, weights_of
from core.transfer.knn import Priors
from core.transfer.protocols import KnnInputs, SimilaritySettings

BASE = Option("base", "run", "", "A run on labelled rows; by default the oldest one made by a model.", title="Base run")
WEIGHT = Option("weight", "float", 0.5, "The weight of the component fused with the base.", least=0.0, most=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """The labelled rows of a run: their positions in the index, and the run's scores. cells: of the run's own folds, or None."""

    name: str
    positions: Codes
    scores: Scores
    cells: Codes | None


def base_of(material: Material, name: str) -> Base:
    """Return the run with this name, by default the oldest run of a model on labelled rows. Raise NotFound, MissingInput."""
    run = material.labelled_run(name)
    found = run.take(np.array([label is not None for label in run.labels], dtype=np.bool_))
    return Base(run.run.name, found.positions, found.scores, found.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """The priors of a base's rows under one cut, and the cells for scoring."""

    cells: Codes
    priors: Priors


def predict_rows(material: Material, base: Base, knn: Neighbours, n_cuts: int) -> list[Predicted]:
    """Return a kNN's priors of the base's rows under cuts 0, 1, …, from the labelled rows outside both parts of each."""
    similarity = SimilaritySettings(knn.weighting, knn.centre, knn.strength)
    queries = material.index.rows.take(base.positions)
    inputs = KnnInputs(queries, material.index.known, knn.spaces, similarity, material.dataset.name, knn.similar)
    found = []
    for cut in prepare_cuts(inputs, K, range(n_cuts)):
        cells = combine_codes(base.cells, cut.cells)
        assert cells is not None
        found.append(Predicted(cells, next(cut.predict([None]))))
    return found


def trial_of(material: Material, base: Base, predicted: Sequence[Predicted]) -> Trial:
    """Return the base's rows in the cells of the cuts."""
    labels, rows = material.index.labels[base.positions], material.index.rows.take(base.positions)
    return Trial(labels, rows, tuple(each.cells for each in predicted), describe_cuts(len(predicted)))


def fused_arm(
    name: str, base: Base, components: Sequence[Sequence[Predicted]], weights: Sequence[Sequence[Floats | float]], note: str = ""
) -> Arm:
    """Return the arm of a rank fusion.

    components: of each kNN, its priors under each cut; weights: of each kNN, under each cut, one number or one for each row, for
    DE and DIR alike.
    """
    scores = []
    for cut in range(len(components[0])):
        parts = [Component(base.name, base.scores.p_de, base.scores.p_up)]
        parts += [Component(name, each[cut].priors.de, each[cut].priors.up) for each in components]
        shares = np.stack([np.broadcast_to(np.asarray(each[cut], dtype=np.float64), base.positions.shape) for each in weights])
        scores.append(fuse(percentiles_of(parts), weights_of(shares, shares)).scores())
    return Arm(name, tuple(scores), note)


def on_rows(arm: Arm, rows: Sequence[Bools]) -> Arm:
    """Return the arm restricted to the chosen rows of each cut."""
    return Arm(arm.name, tuple(mask_scores(scores, chosen) for scores, chosen in zip(arm.scores, rows, strict=True)), arm.note)
