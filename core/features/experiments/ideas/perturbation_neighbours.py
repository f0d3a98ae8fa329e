"""Use labels of partner perturbations, alone and together with similar genes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from core.features.experiments.ideas.arms import Ranking
from core.features.experiments.ideas.idea import Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arms, make_trial
from core.fields.setting import Share, setting
from core.stats.arrays import Floats
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import Scores
from core.transfer.knn import Similarities, Weighting
from core.transfer.similarity import SimilarityMatrices

_REMARK = "Most perturbations have few measured partners outside their own fold; the others get base rates (see the notes)."


@dataclass(frozen=True, slots=True)
class Settings(OfSpaces):
    """The settings of a kNN, and the weight of the perturbations."""

    weight: Annotated[Share, setting("The weight of similar perturbations if genes count too.")] = 0.5


def network_similarity(edges: Iterable[tuple[str, str, float]], symbols: tuple[str, ...]) -> SimilarityMatrices:
    """Return scores / 1000 between partners, and 1 for a symbol and itself. A symbol without a partner here is not covered."""
    at = {symbol: i for i, symbol in enumerate(symbols)}
    matrix: Floats = np.zeros((len(symbols), len(symbols)))
    for a, b, score in edges:
        if a in at and b in at:
            matrix[at[a], at[b]] = matrix[at[b], at[a]] = score / 1000
    covered = np.asarray(matrix.any(axis=1))
    matrix[np.diag_indices(len(symbols))] = 1.0
    return SimilarityMatrices((matrix,), covered[np.newaxis])


def _mean_rank(genes: Ranking, other: Ranking, weight: float) -> Ranking:
    """Return the weighted mean of two arms' percentiles for each cut; `weight` belongs to `other`."""
    scores = []
    for a, b in zip(genes.scores, other.scores, strict=True):
        axes = [(1 - weight) * percentiles(x) + weight * percentiles(y) for x, y in ((a.p_de, b.p_de), (a.p_up, b.p_up))]
        scores.append(Scores(axes[0], axes[1]))
    return Ranking(f"genes and {other.name}", tuple(scores), f"ranks, weight {weight:g} on the partners")


def _judge(material: Material, chosen: Settings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    partners = Similarities(pert=network_similarity(material.packs.edges or (), material.index.symbols))
    knns = {
        "similar genes": Neighbours(spaces, centre=chosen.centre),
        "partners in the network": Neighbours(weighting=Weighting(power=1.0, axis="pert"), similar=partners),
        "similar perturbations": Neighbours(spaces, Weighting(axis="pert"), chosen.centre),
    }
    arms = knn_arms(material, chosen.cuts, knns)
    arms += [_mean_rank(arms[0], arm, chosen.weight) for arm in arms[1:]]
    return Judged(make_trial(material, chosen.cuts), arms, (_REMARK,))


KIND = idea(
    "perturbation_neighbours",
    "Labels of partner perturbations",
    "Do labels of interacting perturbations help, alone or together with similar genes?",
    ("labels", "space", "edges"),
    Settings,
    _judge,
)
