"""The effect of recalibration and rounding, and the largest effect of ties on a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from core.base.fields.setting import setting
from core.base.result import Table
from core.features.experiments.ideas.arms import Ranking, Trial
from core.features.experiments.ideas.idea import RUN, Judged, OnLabels, idea
from core.features.experiments.ideas.material import Material
from core.stats.arrays import Bools, Codes, Floats
from core.stats.calibration import tie_bounds
from core.stats.scores_and_labels import Task, scores_from_probabilities, tasks
from core.transfer.labelled_rows import Rows

TIES_REMARK = "Arms that break ties use the labels: they bound the gain from better resolution."


@dataclass(frozen=True, slots=True)
class TieSettings(OnLabels):
    """The run."""

    run: Annotated[str, setting(RUN, names="run")] = ""


def flatten(p: Floats) -> Floats:
    """Return probabilities with half the log odds."""
    odds = np.sqrt(p / np.maximum(1 - p, 1e-300))
    flat: Floats = odds / (1 + odds)
    return flat


def rank_with_ties(values: Floats, first: Bools) -> Floats:
    """Return ranks whose ties are broken in favour of the flagged rows."""
    return np.where(
        np.isnan(values), np.nan, np.unique(values, return_inverse=True)[1] + 0.5 * first
    )


# Arm → the numbers of a question from those of the run and from what is positive, and a note.
_ARMS: Mapping[str, tuple[Callable[[Floats, Bools], Floats], str]] = MappingProxyType(
    {
        "as it is": (lambda p, _: p, ""),
        "recalibrated (log odds × 0.5)": (lambda p, _: flatten(p), "an increasing function preserves the order"),
        "rounded to 2 decimals": (lambda p, _: np.round(p, 2), "makes ties"),
        "rounded to 1 decimal": (lambda p, _: np.round(p, 1), "makes ties"),
        "ties broken by the labels": (rank_with_ties, "the ceiling: not achievable"),
        "ties broken against the labels": (
            lambda p, positive: rank_with_ties(p, ~positive),
            "the floor",
        ),
    }
)


def _judge_ties(material: Material, chosen: TieSettings) -> Judged:
    run = material.labelled_run(chosen.run)
    outcome, own = run.arrays.outcome, run.scores
    arms = []
    for name, (change, note) in _ARMS.items():
        scores = scores_from_probabilities(
            change(own.p_de, outcome.effect), change(own.p_up, outcome.up)
        )
        arms.append(Ranking(name, (scores,), note))
    ties = [
        _ties(name, task, run.cells)
        for name, task in zip(("DE", "DIR"), tasks(outcome, own), strict=True)
    ]
    return Judged(
        Trial(run.labels, Rows(run.pert, run.gene), (run.cells,), run.scored),
        arms,
        (TIES_REMARK,),
        details=(Table("Ties", tuple(ties)),),
    )


def _ties(name: str, task: Task, cells: Codes | None) -> dict[str, Any]:
    inside = None if cells is None else cells[task.rows]
    bounds = tie_bounds(task.positive[task.rows], task.values[task.rows], inside)
    return {
        "score": name,
        "distinct": bounds.distinct,
        "tied pairs": bounds.tied_pairs,
        "floor": bounds.floor,
        "as it is": bounds.auroc,
        "ceiling": bounds.ceiling,
    }


CALIBRATION_TIES = idea(
    "calibration_ties",
    "Calibration no-op and tie ceiling",
    "Can recalibrating a run change its score, and how much do its ties hide?",
    ("labels", "run"),
    TieSettings,
    _judge_ties,
)
