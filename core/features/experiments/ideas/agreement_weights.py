"""Does it matter which of two disagreeing components counts more?

A rule fixes the weights before any label is seen. The only tunable setting is the weight of the fusion used for comparison.
There is one pre-registered arm, with its mirror image as the control.
"""

from __future__ import annotations

from core.features.experiments.ideas.blending import Rule, judge_rules, ranks_of
from core.features.experiments.ideas.idea import Judged, OfFusion, idea
from core.features.experiments.ideas.material import Material
from core.stats.arrays import Floats
from core.stats.scores_and_labels import Scores
from core.transfer.fusion import agreement_with_base
from core.transfer.knn import Priors

REGISTERED = "base counts where they disagree"


def weights_by_agreement(weight: float, agreement: Floats, *, to_base: bool) -> Floats:
    """Return a component's weight for each row: `weight` if it agrees with the base, and closer to 0 (or 1) if it does not."""
    return weight * agreement if to_base else 1 - (1 - weight) * agreement


def _rule(weight: float, *, to_base: bool) -> tuple[Rule, str]:
    def weigh(scores: Scores, priors: Priors) -> Floats:
        return weights_by_agreement(weight, agreement_with_base(ranks_of(scores, [priors]))[1], to_base=to_base)

    return weigh, f"weight from {weight:g} for equal ranks to {0 if to_base else 1} for opposite ranks"


def _judge(material: Material, chosen: OfFusion) -> Judged:
    rules = {
        REGISTERED: _rule(chosen.weight, to_base=True),
        "kNN counts where they disagree": _rule(chosen.weight, to_base=False),
    }
    remark = f"{REGISTERED!r} is the arm to register: its rule has no parameter of its own."
    return judge_rules(material, chosen, rules, remark)


KIND = idea(
    "agreement_weights",
    "Weights by agreement",
    "Where a run and its neighbours disagree, which of them should count?",
    ("labels", "space", "run"),
    OfFusion,
    _judge,
)
