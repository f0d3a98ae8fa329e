"""kNN priors of labelled rows under several cuts of the folds, the basis of most ablations' arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.experiments.ablations.arms import Arm, Trial
from core.experiments.ablations.material import Material
from core.methods.base import Option
from core.transfer.cut_priors import prepare_cuts
from core.transfer.evaluation import scores_with_stand_ins
from core.transfer.knn import DEFAULT, Priors, Similarities, Weighting
from core.transfer.protocols import EvaluationProtocol, KnnInputs, SimilaritySettings, cells_of, parts_of
from core.transfer.similarity import Space

K = 5
CUTS = Option("cuts", "int", 10, "Number of averaged cuts of perturbations and genes into 5 × 5 cells.", least=1, most=10)
CENTRE = Option("centre", "flag", False, "Subtract the mean vector of the labelled genes first.")
SPACES = Option("spaces", "spaces", "", "Gene spaces, separated by commas; all by default.", title="Gene spaces")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The definition of a kNN; `similar` replaces the spaces' own similarities."""

    spaces: tuple[Space, ...] = ()
    weighting: Weighting = DEFAULT
    centre: bool = False
    strength: float = 0.0
    similar: Similarities | None = None


def make_trial(material: Material, n_cuts: int) -> Trial:
    """Return the labelled rows in the cells of cuts 0, 1, … of doubly-disjoint folds."""
    cells = []
    for seed in range(n_cuts):
        protocol = EvaluationProtocol("folds", K, seed)
        cells.append(cells_of(protocol, material.rows, parts_of(protocol, material.rows, material.rows)))
    return Trial(material.labels, material.rows, tuple(cells), describe_cuts(n_cuts))


def describe_cuts(n_cuts: int) -> str:
    """Describe the scoring of rows under this many cuts."""
    return f"inside {K}×{K} cells, " + ("cut 0" if n_cuts == 1 else f"mean of {n_cuts} cuts")


def predict(material: Material, knn: Neighbours, n_cuts: int) -> list[tuple[Priors, Priors]]:
    """Return the priors of the labelled rows under each cut, and the base rates of the labels that each row may see."""
    similarity = SimilaritySettings(knn.weighting, knn.centre, knn.strength)
    inputs = KnnInputs(material.rows, material.index.known, knn.spaces, similarity, material.dataset.name, knn.similar)
    return [(next(cut.predict([None])), cut.base_rates) for cut in prepare_cuts(inputs, K, range(n_cuts))]


def knn_arm(name: str, predicted: Sequence[tuple[Priors, Priors]]) -> Arm:
    """Return the arm of priors. Base rates replace missing priors, and the note counts these rows."""
    covered = np.mean([priors.covered.mean() for priors, _ in predicted])
    return Arm(name, tuple(scores_with_stand_ins(*each) for each in predicted), f"covers {covered:.0%} of rows")
