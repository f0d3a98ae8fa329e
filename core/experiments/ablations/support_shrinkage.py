"""support_shrinkage: support-aware DE, which shrinks well supported priors of an effect towards a half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.ablations.arms import describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours, knn_arm, make_trial, predict

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    spaces, trial = tuple(material.spaces(options["spaces"])), make_trial(material, options["cuts"])
    arms = [
        knn_arm(
            f"strength {strength:g}",
            predict(material, Neighbours(spaces, centre=options["centre"], strength=strength), options["cuts"]),
        )
        for strength in STRENGTHS
    ]
    table = score_arms(trial, arms, arms[0].name)
    remark = "P(up | DE) does not change: its difference is 0 by construction. Strength 0 is the unchanged prior."
    return Outcome(table, describe_changes(table, arms[0].name, "DE"), (remark,))


ABLATION = Ablation(
    name="support_shrinkage",
    title="Support-aware DE",
    question="Does DE improve if priors with much support are moved towards 0.5?",
    needs=("labels", "space"),
    options=(SPACES, CENTRE, CUTS),
    make=_make,
)
