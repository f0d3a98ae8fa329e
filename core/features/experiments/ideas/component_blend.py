"""Fuse two components, on the rows covered by both, and add the same components to another base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from core.errors import InputError
from core.features.experiments.ideas.arms import Ranking, mask_scores
from core.features.experiments.ideas.blending import fused_arm, predict_rows
from core.features.experiments.ideas.idea import Judged, OfFusion, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import make_trial
from core.fields.setting import setting


@dataclass(frozen=True, slots=True)
class Settings(OfFusion):
    """The settings of a fusion, and a second base."""

    cross: Annotated[str, setting("Another run on the same labelled rows, used as base instead.", names="run")] = ""


def _judge(material: Material, chosen: Settings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    if len(spaces) < 2:
        raise InputError(f"spaces: got {', '.join(space.name for space in spaces)}, expected two to blend")
    run, (one, other) = material.labelled_run(chosen.run), (space.name for space in spaces[:2])
    first, second = (predict_rows(material, run, (space,), chosen) for space in spaces[:2])
    arms = [
        fused_arm(f"with {one}", run.scores, [first], lambda *_: chosen.weight),
        fused_arm(f"with {other}", run.scores, [second], lambda *_: chosen.weight),
        fused_arm(f"with {one} and {other}", run.scores, [first, second], lambda *_: chosen.weight / 2),
        Ranking(run.run.name, (run.scores,) * chosen.cuts, "the run alone", run.run.id),
    ]
    if chosen.cross:
        cross = material.load_run(chosen.cross)
        scores = material.scores_of(cross, run.positions)
        if np.isnan(scores.p_de).all():
            raise InputError(f"cross: {cross.run.name} has no row of {run.run.name}; expected a run on the same labelled rows")
        arms.append(fused_arm(f"{cross.run.name} with {one}", scores, [first], lambda *_: chosen.weight, "another base"))
    both = [a.covered & b.covered for a, b in zip(first, second, strict=True)]
    on_both = [replace(arm, scores=tuple(map(mask_scores, arm.scores, both))) for arm in arms]
    share = np.mean([rows.mean() for rows in both])
    remark = f"{share:.0%} of the run's rows are covered by both spaces; every arm is scored only on these."
    return Judged(make_trial(material, chosen.cuts, run), on_both, (remark,))


KIND = idea(
    "component_blend",
    "Component blend and cross base",
    "On rows covered by both components, is their blend better than one of them? Does it depend on the base?",
    ("labels", "space", "run"),
    Settings,
    _judge,
)
