"""Scores of a kNN for rows with much and with little support."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.features.experiments.ideas.arms import Ranking, mask_scores
from core.features.experiments.ideas.idea import Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arm, make_trial, predict
from core.features.experiments.result import ArmResult
from core.stats.ranks import equal_groups
from core.texts import estimate_text

STRATA = ("least support", "second quarter", "third quarter", "most support")
_REMARK = "The intervals of two strata come from different rows and are not paired."


def _judge(material: Material, chosen: OfSpaces) -> Judged:
    knn = Neighbours(material.spaces(chosen.spaces), centre=chosen.centre)
    predicted = predict(material, knn, chosen.cuts)
    supports = [np.where(priors.support > 0, priors.support, np.nan) for priors, _ in predicted]
    quarters = [equal_groups(support, len(STRATA)) for support in supports]
    arms = [whole := knn_arm("all rows", predicted)]
    for i, name in enumerate(STRATA, start=1):
        of_cuts = zip(whole.scores, quarters, strict=True)
        scores = tuple(mask_scores(of_cut, quarter == i) for of_cut, quarter in of_cuts)
        arms.append(Ranking(name, scores, "pairs of rows inside the stratum"))
    trial = make_trial(material, chosen.cuts)
    return Judged(trial, arms, (_REMARK,), sentence=_compare_ends, has_base=False)


def _compare_ends(arms: Mapping[str, ArmResult]) -> str:
    least, most = arms[STRATA[0]].mean, arms[STRATA[-1]].mean
    if least is None or most is None:
        return "A quarter of the rows has no score."
    verdict = "the intervals overlap, so that support is not shown to tell good rows from bad ones"
    if most.shown.low > least.shown.high:
        verdict = "rows with much support are ranked better"
    elif most.shown.high < least.shown.low:
        verdict = "rows with much support are ranked worse"
    texts = (estimate_text(*each.ends) for each in (least, most))
    return "Mean {} in the quarter with the least support, {} in the quarter with the most: {}.".format(*texts, verdict)


KIND = idea(
    "support_strata",
    "Support strata",
    "Is a kNN better where many similar genes were measured?",
    ("labels", "space"),
    OfSpaces,
    _judge,
)
