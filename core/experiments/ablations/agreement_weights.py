"""agreement_weights: does it matter which of two disagreeing components counts more?

A rule fixes the weights before any label is seen. The only tunable setting is the weight of the fusion used for comparison.
There is one pre-registered arm, with its mirror image as the control.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.ablations.arms import Arm, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.blending import BASE, WEIGHT, Base, Predicted, base_of, fused_arm, predict_rows, trial_of
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours
from core.stats.arrays import Floats
from core.transfer.fusion import Component, agreement_with_base, percentiles_of

SAME = "the same weight for every row"
REGISTERED = "base counts where they disagree"
MIRROR = "kNN counts where they disagree"


def weights_by_agreement(weight: float, agreement: Floats, *, to_base: bool) -> Floats:
    """Return a component's weight for each row: `weight` if it agrees with the base, and closer to 0 (or 1) if it does not."""
    return weight * agreement if to_base else 1 - (1 - weight) * agreement


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    base, weight = base_of(material, options["base"]), options["weight"]
    knn = Neighbours(tuple(material.spaces(options["spaces"])), centre=options["centre"])
    predicted = predict_rows(material, base, knn, options["cuts"])
    agreements = [_agreement(base, each) for each in predicted]
    arms = [fused_arm(SAME, base, [predicted], [[weight] * len(predicted)], f"weight {weight:g}")]
    for name, to_base, end in ((REGISTERED, True, 0), (MIRROR, False, 1)):
        weights = [weights_by_agreement(weight, agreement, to_base=to_base) for agreement in agreements]
        note = f"weight from {weight:g} for equal ranks to {end} for opposite ranks"
        arms.append(fused_arm(name, base, [predicted], [weights], note))
    arms.append(Arm(f"{base.name} alone", (base.scores,) * len(predicted)))
    table = score_arms(trial_of(material, base, predicted), arms, SAME)
    remark = f"{REGISTERED!r} is the arm to register: its rule has no parameter of its own."
    return Outcome(table, describe_changes(table, SAME), (remark,))


def _agreement(base: Base, predicted: Predicted) -> Floats:
    priors = predicted.priors
    parts = [Component(base.name, base.scores.p_de, base.scores.p_up), Component("knn", priors.de, priors.up)]
    agreement: Floats = agreement_with_base(percentiles_of(parts))[1]
    return agreement


ABLATION = Ablation(
    name="agreement_weights",
    title="Weights by agreement",
    question="Where a run and its neighbours disagree, which of them should count?",
    needs=("labels", "space", "run"),
    options=(BASE, SPACES, WEIGHT, CENTRE, CUTS),
    make=_make,
)
