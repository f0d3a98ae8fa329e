"""Should a kNN have more weight in a fusion for rows with more support?"""

from __future__ import annotations

from core.features.experiments.ideas.blending import Rule, judge_rules
from core.features.experiments.ideas.idea import Judged, OfFusion, idea
from core.features.experiments.ideas.material import Material
from core.transfer.prior_support import support_range, weights_by_support


def _rule(low: float, high: float) -> tuple[Rule, str]:
    return (
        lambda _, priors: weights_by_support(low, high, priors.support, support_range(priors.support)),
        f"weight from {low:g} to {high:g}",
    )


def _judge(material: Material, chosen: OfFusion) -> Judged:
    most = min(1.0, 2 * chosen.weight)
    rules = {"more weight with more support": _rule(0.0, most), "less weight with more support": _rule(most, 0.0)}
    remark = "Support is scaled from the least to the largest of these rows; few rows come near the largest."
    return judge_rules(material, chosen, rules, remark)


KIND = idea(
    "support_weights",
    "Weights by support",
    "Should neighbours weigh more in rows with much support than in rows with little?",
    ("labels", "space", "run"),
    OfFusion,
    _judge,
)
