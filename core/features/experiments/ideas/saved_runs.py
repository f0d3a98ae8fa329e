"""Ideas on saved runs: runs that differ in one option, scores computed elsewhere against row
counts, and what recalibration, rounding and ties do to a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import pandas as pd

from core.base.errors import InputError, StateError
from core.base.experiment import Kind
from core.base.fields.setting import setting
from core.base.result import Table
from core.features.experiments.ideas.idea import (
    RUN,
    Judged,
    Material,
    OfRuns,
    OnLabels,
    Ranking,
    Trial,
    idea,
    mask_scores,
)
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Floats
from core.stats.calibration import tie_bounds
from core.stats.count_controls import count_only, rarer_gene
from core.stats.scores_and_labels import combine_codes, scores_from_probabilities, tasks
from core.transfer.row_index import Rows

MOST = 12


def idea_of_option(name: str, title: str, question: str, option: str, how: str) -> Kind:
    """Return the idea of runs that differ in one option. how: a command that makes them."""

    def judge(material: Material, chosen: OfRuns) -> Judged:
        runs = material.load_runs(chosen.runs)
        if len(runs) < 2:
            raise StateError(
                f"experiment {name}: needs runs, two or more on the same labelled rows that differ"
                f" only in {option}; make them with {how}"
            )
        if len(runs) > MOST or len({each.run.id for each in runs}) < len(runs):
            names = ", ".join(each.run.name for each in runs)
            raise InputError(f"runs: got {names}; expected 2 to {MOST} runs, each once")
        shared = _shared_rows(runs)
        first, cells = shared[0], combine_codes(*(each.cells for each in shared))
        arms = [
            Ranking(
                _title(each, option),
                (each.scores,),
                f"{each.run.method}, {int((~each.covered).sum())} stand-ins",
                each.run.id,
            )
            for each in shared
        ]
        remark = f"Scored on the {len(first):,} labelled rows that all {len(shared)} runs have."
        trial = Trial(first.labels, Rows(first.pert, first.gene), (cells,), first.scored)
        return Judged(trial, arms, (remark,), is_computed=False)

    return idea(name, title, question, ("labels",), OfRuns, judge)


def _title(rows: RunRows, option: str) -> str:
    value = rows.run.spec.get("options", {}).get(option)
    return rows.run.name if value is None else f"{rows.run.name} ({option} {value or 'of the run'})"


def _shared_rows(runs: Sequence[RunRows]) -> list[RunRows]:
    """Return the common labelled rows of the runs, from each run, in the same order."""
    shared = reduce(np.intersect1d, [each.positions for each in runs])
    kept = shared[pd.notna(runs[0].index.labels[shared])]
    if not len(kept):
        raise InputError(
            f"runs: {', '.join(each.run.name for each in runs)} have no labelled row in common"
        )
    orders = [np.argsort(each.positions) for each in runs]
    return [
        each.take(order[np.isin(each.positions[order], kept)])
        for each, order in zip(runs, orders, strict=True)
    ]


JUDGES = idea_of_option(
    "judges",
    "Sharp against plain judges",
    "Does it matter how the judges of a debate answer?",
    option="judge",
    how="`perturbdesk run debate --rows sample=500 --set judge=sharp, then another`",
)
ROUNDS = idea_of_option(
    "rounds",
    "Rounds of a debate",
    "Do briefs and rebuttals help the judges, or is the dossier enough?",
    option="rounds",
    how="`perturbdesk run debate --rows sample=500 --set rounds=0, then 1 and 2`",
)
SEED_ENSEMBLES = idea_of_option(
    "seed_ensembles",
    "Seed ensembles",
    "Is a mean over several seeds better than one seed?",
    option="seeds",
    how="`perturbdesk run debate --rows sample=500, then --set seeds=42,43,44`",
)


def _judge_external(material: Material, chosen: OfRuns) -> Judged:
    runs = material.load_runs(chosen.runs) or [
        material.load_run(run.id) for run in material.external
    ]
    scores = [material.scores_of(run) for run in runs]
    here = np.logical_and.reduce([~np.isnan(each.p_de) | ~np.isnan(each.p_up) for each in scores])
    if not here.any():
        raise InputError(
            "runs: no labelled row is scored by all of them, expected runs on the same rows"
        )
    rows = material.rows
    counts = scores_from_probabilities(count_only(rows.pert, rows.gene), rarer_gene(rows.gene))
    arms = [Ranking("row counts alone", (mask_scores(counts, here),), "knows no biology")]
    arms += [
        Ranking(run.run.name, (mask_scores(each, here),), run=run.run.id)
        for run, each in zip(runs, scores, strict=True)
    ]
    remark = (
        f"Scored on the {int(here.sum()):,} of {len(here):,} labelled rows covered by all runs."
        " Their training data are unknown."
    )
    return Judged(Trial(material.labels, rows, (None,), "all rows"), arms, (remark,))


EXTERNAL_SCORES = idea(
    "external_scores",
    "External scores",
    "Do scores from elsewhere (in-silico deletion, public screens) say more than how often a gene"
    " was measured?",
    ("labels", "external"),
    OfRuns,
    _judge_external,
)


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
        "recalibrated (log odds × 0.5)": (
            lambda p, _: flatten(p),
            "an increasing function preserves the order",
        ),
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
    ties: list[dict[str, Any]] = []
    for name, task in zip(("DE", "DIR"), tasks(outcome, own), strict=True):
        inside = None if run.cells is None else run.cells[task.rows]
        bounds = tie_bounds(task.positive[task.rows], task.values[task.rows], inside)
        ties.append(
            {
                "score": name,
                "distinct": bounds.distinct,
                "tied pairs": bounds.tied_pairs,
                "floor": bounds.floor,
                "as it is": bounds.auroc,
                "ceiling": bounds.ceiling,
            }
        )
    return Judged(
        Trial(run.labels, Rows(run.pert, run.gene), (run.cells,), run.scored),
        arms,
        (TIES_REMARK,),
        details=(Table("Ties", tuple(ties)),),
    )


CALIBRATION_TIES = idea(
    "calibration_ties",
    "Calibration no-op and tie ceiling",
    "Can recalibrating a run change its score, and how much do its ties hide?",
    ("labels", "run"),
    TieSettings,
    _judge_ties,
)
