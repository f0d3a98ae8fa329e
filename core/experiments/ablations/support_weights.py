"""support_weights: should a kNN have more weight in a fusion for rows with more support?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.ablations.arms import Arm, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.blending import BASE, WEIGHT, base_of, fused_arm, predict_rows, trial_of
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours
from core.transfer.prior_support import support_range, weights_by_support

SAME = "the same weight for every row"


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    base, weight = base_of(material, options["base"]), options["weight"]
    knn = Neighbours(tuple(material.spaces(options["spaces"])), centre=options["centre"])
    predicted = predict_rows(material, base, knn, options["cuts"])
    supports = [each.priors.support for each in predicted]
    most = min(1.0, 2 * weight)
    ends = {"more weight with more support": (0.0, most), "less weight with more support": (most, 0.0)}
    arms = [fused_arm(SAME, base, [predicted], [[weight] * len(predicted)], f"weight {weight:g}")]
    for name, (low, high) in ends.items():
        weights = [weights_by_support(low, high, support, support_range(support)) for support in supports]
        arms.append(fused_arm(name, base, [predicted], [weights], f"weight from {low:g} to {high:g}"))
    arms.append(Arm(f"{base.name} alone", (base.scores,) * len(predicted)))
    table = score_arms(trial_of(material, base, predicted), arms, SAME)
    remark = "Support is scaled from the least to the largest of these rows; few rows come near the largest."
    return Outcome(table, describe_changes(table, SAME), (remark,))


ABLATION = Ablation(
    name="support_weights",
    title="Weights by support",
    question="Should neighbours weigh more in rows with much support than in rows with little?",
    needs=("labels", "space", "run"),
    options=(BASE, SPACES, WEIGHT, CENTRE, CUTS),
    make=_make,
)
