"""calibration_ties: the effect of recalibration and rounding, and the largest effect of ties on a score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from core.experiments.ablations.arms import Arm, Trial, score_arms, score_of
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.methods.base import Option
from core.stats.arrays import Bools, Codes, Floats
from core.stats.calibration import TieBounds, tie_bounds
from core.stats.scores_and_labels import Scores, Task, scores_from_probabilities, tasks
from core.transfer.labelled_rows import Rows

OWN, SIGMOID = "as it is", "recalibrated (log odds × 0.5)"


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    run = material.labelled_run(options["run"])
    found = run.take(np.array([label is not None for label in run.labels], dtype=np.bool_))
    trial = Trial(found.labels, Rows(found.pert, found.gene), (found.cells,), found.scored)
    outcome, own = found.arrays.outcome, found.scores
    bounds = {name: _bounds(task, found.cells) for name, task in zip(("DE", "DIR"), tasks(outcome, own), strict=True)}
    arms = [
        Arm(OWN, (own,)),
        Arm(SIGMOID, (_map(own, _flatten),), "an increasing function preserves the order"),
        Arm("rounded to 2 decimals", (_map(own, partial(np.round, decimals=2)),), "makes ties"),
        Arm("rounded to 1 decimal", (_map(own, partial(np.round, decimals=1)),), "makes ties"),
        Arm("ties broken by the labels", (_break(own, outcome.effect, outcome.up),), "the ceiling: not achievable"),
        Arm("ties broken against the labels", (_break(own, ~outcome.effect, ~outcome.up),), "the floor"),
    ]
    table = score_arms(trial, arms, OWN)
    lines = [
        {
            "score": name,
            "distinct": each.distinct,
            "tied pairs": each.tied_pairs,
            "floor": each.floor,
            "as it is": each.auroc,
            "ceiling": each.ceiling,
        }
        for name, each in bounds.items()
    ]
    same = score_of(table, SIGMOID).estimate == score_of(table, OWN).estimate
    de = bounds["DE"]
    sentence = (
        f"{run.run.name}: recalibration {'changes nothing' if same else 'moved the score, which is a bug'}; DE has "
        f"{de.distinct:,} distinct values, and breaking its ties could move it from {de.floor:.3f} to {de.ceiling:.3f} at most."
    )
    remark = "Arms that break ties use the labels: they bound the gain from better resolution."
    return Outcome(table, sentence, (remark,), pd.DataFrame(lines))


def _bounds(task: Task, cells: Codes | None) -> TieBounds:
    return tie_bounds(task.positive[task.rows], task.values[task.rows], None if cells is None else cells[task.rows])


def _flatten(p: Floats) -> Floats:
    """Return probabilities with half the log odds."""
    odds = np.sqrt(p / np.maximum(1 - p, 1e-300))
    flat: Floats = odds / (1 + odds)
    return flat


def _map(scores: Scores, function: Any) -> Scores:
    return scores_from_probabilities(function(scores.p_de), function(scores.p_up))


def _break(scores: Scores, effect: Bools, up: Bools) -> Scores:
    """Return ranks with every tie broken in favour of the flagged rows."""
    return Scores(_rank_with_ties(scores.p_de, effect), _rank_with_ties(scores.p_up, up))


def _rank_with_ties(values: Floats, first: Bools) -> Floats:
    return np.where(np.isnan(values), np.nan, np.unique(values, return_inverse=True)[1] + 0.5 * first)


ABLATION = Ablation(
    name="calibration_ties",
    title="Calibration no-op and tie ceiling",
    question="Can recalibrating a run change its score, and how much do its ties hide?",
    needs=("labels", "run"),
    options=(Option("run", "run", "", "A run on labelled rows; by default the oldest one made by a model."),),
    make=_make,
)
