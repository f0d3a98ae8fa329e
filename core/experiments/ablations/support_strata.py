"""support_strata: scores of a kNN for rows with much and with little support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.ablations.arms import Arm, mask_scores, score_arms, score_of
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours, knn_arm, make_trial, predict
from core.stats.ranks import equal_groups

STRATA = ("least support", "second quarter", "third quarter", "most support")


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    trial = make_trial(material, options["cuts"])
    spaces = tuple(material.spaces(options["spaces"]))
    predicted = predict(material, Neighbours(spaces, centre=options["centre"]), options["cuts"])
    whole = knn_arm("all rows", predicted)
    quarters = [equal_groups(np.where(priors.support > 0, priors.support, np.nan), len(STRATA)) for priors, _ in predicted]
    arms = [whole]
    for i, name in enumerate(STRATA, start=1):
        chosen = tuple(mask_scores(scores, quarter == i) for scores, quarter in zip(whole.scores, quarters, strict=True))
        arms.append(Arm(name, chosen, "pairs of rows inside the stratum"))
    table = score_arms(trial, arms)
    least, most = (score_of(table, name) for name in (STRATA[0], STRATA[-1]))
    verdict = "the intervals overlap, so support does not separate good rows from bad ones"
    if most.low > least.high:
        verdict = "rows with much support are ranked better"
    elif most.high < least.low:
        verdict = "rows with much support are ranked worse"
    names = " + ".join(space.name for space in spaces)
    sentence = (
        f"{names}: mean {least.text} in the quarter with the least support, {most.text} in the quarter with the most: {verdict}."
    )
    return Outcome(table, sentence, ("The intervals of two strata come from different rows and are not paired.",))


ABLATION = Ablation(
    name="support_strata",
    title="Support strata",
    question="Is a kNN better where many similar genes were measured?",
    needs=("labels", "space"),
    options=(SPACES, CENTRE, CUTS),
    make=_make,
)
