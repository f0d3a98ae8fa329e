"""Ideas on a saved run fused with kNN components, on the run's labelled rows, under several cuts of
the folds.

Should the weight of a row follow support? Is a blend of two components better than
one, on any base?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np

from core.base.errors import InputError
from core.base.fields.setting import setting
from core.features.experiments.ideas.idea import (
    Judged,
    Material,
    OfFusion,
    Ranking,
    idea,
    mask_scores,
)
from core.features.experiments.ideas.priors import Neighbours, fuse_ranks, make_trial, predict
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.scores_and_labels import Scores
from core.transfer.knn import Priors
from core.transfer.protocols import support_range, weights_by_support
from core.transfer.similarity import Space

# a kNN's weight in each row, from its priors
Rule = Callable[[Priors], Floats]


def predict_rows(
    material: Material, run: RunRows, spaces: tuple[Space, ...], chosen: OfFusion
) -> list[Priors]:
    """Return a kNN's priors of a run's rows under each cut."""
    knn = Neighbours(spaces, centre=chosen.centre)
    return [priors for priors, _ in predict(material, knn, chosen.cuts, run)]


def fused_arm(
    name: str,
    scores: Scores,
    knns: Sequence[Sequence[Priors]],
    weight: Rule | float,
    note: str = "",
) -> Ranking:
    """Return the arm of a rank fusion. knns: of each, its priors under each cut; weight: of each,
    for DE and DIR alike."""
    fused = []
    for priors in zip(*knns, strict=True):
        weights = [weight(each) if callable(weight) else weight for each in priors]
        fused.append(fuse_ranks(scores, [Scores(each.de, each.up) for each in priors], weights))
    return Ranking(name, tuple(fused), note)


def _by_support(low: float, high: float, priors: Priors) -> Floats:
    return weights_by_support(low, high, priors.support, support_range(priors.support))


def _judge_support(material: Material, chosen: OfFusion) -> Judged:
    run, weight, most = (
        material.labelled_run(chosen.run),
        chosen.weight,
        min(1.0, 2 * chosen.weight),
    )
    priors = predict_rows(material, run, material.spaces(chosen.spaces), chosen)
    rules: dict[str, tuple[Rule | float, str]] = {
        "the same weight for every row": (weight, f"weight {weight:g}"),
        "more weight with more support": (partial(_by_support, 0.0, most), f"from 0 to {most:g}"),
        "less weight with more support": (partial(_by_support, most, 0.0), f"from {most:g} to 0"),
    }
    arms = [
        fused_arm(name, run.scores, [priors], rule, note) for name, (rule, note) in rules.items()
    ]
    arms.append(Ranking(f"{run.run.name} alone", (run.scores,) * chosen.cuts, run=run.run.id))
    remark = (
        "Support is scaled from the least to the largest of these rows; few rows come near the"
        " largest."
    )
    return Judged(make_trial(material, chosen.cuts, run), arms, (remark,))


SUPPORT_WEIGHTS = idea(
    "support_weights",
    "Weights by support",
    "Should neighbours weigh more in rows with much support than in rows with little?",
    ("labels", "space", "run"),
    OfFusion,
    _judge_support,
)


@dataclass(frozen=True, slots=True)
class BlendSettings(OfFusion):
    """The settings of a fusion, and a second base."""

    cross: Annotated[
        str, setting("Another run on the same labelled rows, used as base instead.", names="run")
    ] = ""


def _judge_blend(material: Material, chosen: BlendSettings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    if len(spaces) < 2:
        raise InputError(
            f"spaces: got {', '.join(space.name for space in spaces)}, expected two to blend"
        )
    run, (one, other) = material.labelled_run(chosen.run), (space.name for space in spaces[:2])
    first, second = (predict_rows(material, run, (space,), chosen) for space in spaces[:2])
    knns = {
        f"with {one}": [first],
        f"with {other}": [second],
        f"with {one} and {other}": [first, second],
    }
    arms = [
        fused_arm(name, run.scores, each, chosen.weight / len(each)) for name, each in knns.items()
    ]
    arms.append(Ranking(run.run.name, (run.scores,) * chosen.cuts, "the run alone", run.run.id))
    if chosen.cross:
        cross = material.load_run(chosen.cross)
        scores, name = material.scores_of(cross, run.positions), f"{cross.run.name} with {one}"
        arms.append(fused_arm(name, scores, [first], chosen.weight, "another base"))
    both = [a.covered & b.covered for a, b in zip(first, second, strict=True)]
    on_both = [replace(arm, scores=tuple(map(mask_scores, arm.scores, both))) for arm in arms]
    share = np.mean([rows.mean() for rows in both])
    remark = (
        f"{share:.0%} of the run's rows are covered by both spaces; every arm is scored only on"
        " these."
    )
    return Judged(make_trial(material, chosen.cuts, run), on_both, (remark,))


COMPONENT_BLEND = idea(
    "component_blend",
    "Component blend and cross base",
    "On rows covered by both components, is their blend better than one of them? Does it depend on"
    " the base?",
    ("labels", "space", "run"),
    BlendSettings,
    _judge_blend,
)
