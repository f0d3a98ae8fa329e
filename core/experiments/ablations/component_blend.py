"""component_blend: fuse two components, on the rows covered by both, and add the same components to another base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import InputError
from core.experiments.ablations.arms import Arm, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.blending import BASE, WEIGHT, Base, base_of, fused_arm, on_rows, predict_rows, trial_of
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours
from core.methods.base import Option
from core.scoring.run_scores import RunRows
from core.stats.scores_and_labels import Scores


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    spaces = material.spaces(options["spaces"])
    if len(spaces) < 2:
        raise InputError(f"spaces: got {', '.join(space.name for space in spaces)}, expected two to blend")
    base, n_cuts, weight = base_of(material, options["base"]), options["cuts"], options["weight"]
    first, second = (predict_rows(material, base, Neighbours((space,), centre=options["centre"]), n_cuts) for space in spaces[:2])
    both = [a.priors.covered & b.priors.covered for a, b in zip(first, second, strict=True)]
    names, whole, half = [space.name for space in spaces[:2]], [weight] * n_cuts, [weight / 2] * n_cuts
    arms = [
        Arm(base.name, (base.scores,) * n_cuts, "the base alone"),
        fused_arm(f"with {names[0]}", base, [first], [whole]),
        fused_arm(f"with {names[1]}", base, [second], [whole]),
        fused_arm(f"with {names[0]} and {names[1]}", base, [first, second], [half, half]),
    ]
    if options["cross"]:
        other = _cross(base, material.load_run(options["cross"]))
        arms.append(fused_arm(f"{other.name} with {names[0]}", other, [first], [whole], "another base"))
    table = score_arms(trial_of(material, base, first), [on_rows(arm, both) for arm in arms], f"with {names[0]}")
    share = float(np.mean([rows.mean() for rows in both]))
    remark = f"{share:.0%} of the base's rows are covered by both spaces; every arm is scored only on these."
    return Outcome(table, describe_changes(table, f"with {names[0]}"), (remark,))


def _cross(base: Base, run: RunRows) -> Base:
    """Return the scores of another run on the base's rows, NaN for missing rows."""
    at = {int(position): i for i, position in enumerate(run.positions)}
    rows = np.array([at.get(int(position), -1) for position in base.positions])
    if (rows < 0).all():
        raise InputError(f"cross: {run.run.name} has no row of {base.name}; expected a run on the same labelled rows")
    de, up = (np.where(rows >= 0, column[rows], np.nan) for column in (run.scores.p_de, run.scores.p_up))
    return Base(run.run.name, base.positions, Scores(de, up), base.cells)


ABLATION = Ablation(
    name="component_blend",
    title="Component blend and cross base",
    question="On rows covered by both components, is their blend better than one of them? Does it depend on the base?",
    needs=("labels", "space", "run"),
    options=(
        BASE,
        SPACES,
        WEIGHT,
        Option("cross", "run", "", "Another run on the same labelled rows, used as base instead."),
        CENTRE,
        CUTS,
    ),
    make=_make,
)
