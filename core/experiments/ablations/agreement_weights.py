"""agreement_weights: does it matter which of two components counts where they disagree?

The weights are fixed by a rule before any label is seen, and the ablation has no setting that could be tuned but the weight of
the fusion that they are compared with: one pre-registered arm, and its mirror image as the control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.experiments.ablations.arms import Arm, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.blending import BASE, WEIGHT, Base, Predicted, base_of, fused_arm, predict_rows, trial_of
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours
from core.stats.arrays import Floats
from core.transfer.fusion import Component, fuse, percentiles_of, weights_of

SAME = "the same weight for every row"
REGISTERED = "base counts where they disagree"
MIRROR = "kNN counts where they disagree"


def agreement_of(a: Floats, b: Floats) -> Floats:
    """Return 1 − |a − b| of ranks, of shape (n_rows,): 1 for the same rank, near 0 for opposite ones, 1 where one is NaN."""
    agreement: Floats = 1 - np.abs(a - b)
    return np.where(np.isnan(agreement), 1.0, agreement)


def weights_by_agreement(weight: float, agreement: Floats, *, to_base: bool) -> Floats:
    """Return a component's weight for each row: `weight` where it agrees with the base; towards 0, or towards 1, where not."""
    return weight * agreement if to_base else 1 - (1 - weight) * agreement


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    base, weight = base_of(material, options["base"]), options["weight"]
    knn = Neighbours(tuple(material.spaces(options["spaces"])), centre=options["centre"])
    predicted = predict_rows(material, base, knn, options["cuts"])
    arms = [
        fused_arm(SAME, base, [predicted], [[weight] * len(predicted)], f"weight {weight:g}"),
        _arm(REGISTERED, base, predicted, weight, to_base=True),
        _arm(MIRROR, base, predicted, weight, to_base=False),
        Arm(f"{base.name} alone", (base.scores,) * len(predicted)),
    ]
    table = score_arms(trial_of(material, base, predicted), arms, SAME)
    remark = f"{REGISTERED!r} is the arm to register: its rule has no parameter of its own."
    return Outcome(table, describe_changes(table, SAME), (remark,))


def _arm(name: str, base: Base, predicted: Sequence[Predicted], weight: float, *, to_base: bool) -> Arm:
    scores = []
    for each in predicted:
        parts = [Component(base.name, base.scores.p_de, base.scores.p_up), Component("knn", each.priors.de, each.priors.up)]
        ranks = percentiles_of(parts)
        of_axes = [weights_by_agreement(weight, agreement_of(*rows), to_base=to_base) for rows in (ranks.de, ranks.up)]
        scores.append(fuse(ranks, weights_of([of_axes[0]], [of_axes[1]])).scores())
    end = "0" if to_base else "1"
    return Arm(name, tuple(scores), f"weight from {weight:g} where the ranks agree to {end} where they are opposite")


ABLATION = Ablation(
    name="agreement_weights",
    title="Weights by agreement",
    question="Where a run and its neighbours disagree, which of them should count?",
    needs=("labels", "space", "run"),
    options=(BASE, SPACES, WEIGHT, CENTRE, CUTS),
    make=_make,
)
