"""Support-aware DE, which shrinks well supported priors of an effect towards a half."""

from __future__ import annotations

from core.features.experiments.ideas.idea import Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arms, make_trial


def _judge(material: Material, chosen: OfSpaces) -> Judged:
    spaces = material.spaces(chosen.spaces)
    knns = {
        f"strength {strength:g}": Neighbours(spaces, centre=chosen.centre, strength=strength)
        for strength in (0.0, 0.25, 0.5, 0.75, 1.0)
    }
    remark = "P(up | DE) does not change: its difference is 0 by construction. Strength 0 is the unchanged prior."
    return Judged(make_trial(material, chosen.cuts), knn_arms(material, chosen.cuts, knns), (remark,), metric="de")


KIND = idea(
    "support_shrinkage",
    "Support-aware DE",
    "Does DE improve if priors with much support are moved towards 0.5?",
    ("labels", "space"),
    OfSpaces,
    _judge,
)
