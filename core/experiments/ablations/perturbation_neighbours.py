"""perturbation_neighbours: use labels of partner perturbations, alone and together with similar genes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.ablations.arms import Arm, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours, knn_arm, make_trial, predict
from core.methods.base import Option
from core.stats.arrays import Bools, Floats
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import Scores
from core.transfer.knn import Similarities, Weighting
from core.transfer.similarity import SimilarityMatrices

GENES = "similar genes"


def network_similarity(edges: Any, symbols: tuple[str, ...]) -> SimilarityMatrices:
    """Return scores / 1000 between partners, and 1 for a symbol and itself. A symbol without a partner here is not covered."""
    at = {symbol: i for i, symbol in enumerate(symbols)}
    matrix: Floats = np.zeros((len(symbols), len(symbols)))
    for a, b, score in edges:
        if a in at and b in at:
            matrix[at[a], at[b]] = matrix[at[b], at[a]] = score / 1000
    covered: Bools = np.asarray(matrix.any(axis=1))
    matrix[np.diag_indices(len(symbols))] = 1.0
    return SimilarityMatrices((matrix,), covered[np.newaxis])


def _mean_rank(name: str, one: Arm, other: Arm, weight: float) -> Arm:
    """Return the weighted mean of two arms' percentiles for each cut; `weight` belongs to `other`."""
    scores = []
    for a, b in zip(one.scores, other.scores, strict=True):
        axes = [(1 - weight) * percentiles(x) + weight * percentiles(y) for x, y in ((a.p_de, b.p_de), (a.p_up, b.p_up))]
        scores.append(Scores(axes[0], axes[1]))
    return Arm(name, tuple(scores), f"ranks, weight {weight:g} on the partners")


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    spaces, trial = tuple(material.spaces(options["spaces"])), make_trial(material, options["cuts"])
    partners = network_similarity(material.load_packs().edges or (), material.index.symbols)
    genes = knn_arm(GENES, predict(material, Neighbours(spaces, centre=options["centre"]), options["cuts"]))
    by_pert = Weighting(power=1.0, axis="pert")
    alone = Neighbours(weighting=by_pert, similar=Similarities(pert=partners))
    similar = Neighbours(spaces, Weighting(axis="pert"), options["centre"])
    arms = [
        genes,
        knn_arm("partners in the network", predict(material, alone, options["cuts"])),
        knn_arm("similar perturbations", predict(material, similar, options["cuts"])),
    ]
    arms += [_mean_rank(f"genes and {arm.name}", genes, arm, options["weight"]) for arm in arms[1:]]
    table = score_arms(trial, arms, GENES)
    remark = "Most perturbations have few measured partners outside their own fold; the others get base rates (see the notes)."
    return Outcome(table, describe_changes(table, GENES), (remark,))


ABLATION = Ablation(
    name="perturbation_neighbours",
    title="Labels of partner perturbations",
    question="Do labels of interacting perturbations help, alone or together with similar genes?",
    needs=("labels", "space", "edges"),
    options=(
        SPACES,
        Option("weight", "float", 0.5, "The weight of similar perturbations if genes count too.", least=0.0, most=1.0),
        CENTRE,
        CUTS,
    ),
    make=_make,
)
