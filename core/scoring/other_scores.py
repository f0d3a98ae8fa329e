"""What a run scores besides its score: the means of the AUROCs of genes and of perturbations, and the top of the list.

Each is computed inside the cells that the run is scored inside.

Which runs that a fusion was made of are constant inside its cells, in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from core.scoring.run_scores import RunRows, RunScore, load_scored_rows
from core.stats.arrays import Floats
from core.stats.delong import Estimate
from core.stats.official_score import ScoreIntervals
from core.stats.scored_rows import ScoredRows
from core.stats.top_k import TopK, precision_at
from core.stats.within_axis import WithinAxis, WithinTask, score_within
from core.store import runs
from core.store.connection import Cursor
from core.store.runs import Run
from core.texts import rows_behind
from core.transfer.constant_components import constant_sentences, find_constant_components

Metric = Literal["de", "dir"]
METRICS: Final[dict[str, Metric]] = {"DE": "de", "DIR": "dir"}  # as they are called on screen
TOP = (20, 50, 100, 200)  # rows at the top of the list


@dataclass(frozen=True, slots=True)
class OtherScores:
    """A run's other scores.

    whole: the score itself. within_gene, within_pert: over pairs of rows that share the gene, or the perturbation. top: of DE and
    of DIR.
    """

    whole: ScoreIntervals
    within_gene: WithinAxis
    within_pert: WithinAxis
    top: dict[Metric, tuple[TopK, ...]]


@dataclass(frozen=True, slots=True)
class MacroScore:
    """The mean of the AUROCs of groups, or the AUROC over all rows, with the number of counted units ("336 genes")."""

    name: str
    counted: str
    estimate: Estimate


def other_scores(whole: ScoreIntervals, rows: ScoredRows, top: Sequence[int] = TOP) -> OtherScores:
    """Return all of them, NaN where one class is missing. whole: the run's score."""
    top_de, top_dir = precision_at(rows, top)
    return OtherScores(
        whole,
        score_within(rows, "gene"),
        score_within(rows, "pert"),
        {"de": top_de, "dir": top_dir},
    )


def other_scores_of_run(rows: RunRows, found: RunScore) -> OtherScores:
    """Return the other scores of a run."""
    return other_scores(found.whole, rows.arrays)


def macro_scores(found: OtherScores, metric: Metric) -> list[MacroScore]:
    """Return the AUROC of one metric over all rows, and its means over genes and over perturbations."""
    whole: Estimate = getattr(found.whole, metric)
    gene: WithinTask = getattr(found.within_gene, metric)
    pert: WithinTask = getattr(found.within_pert, metric)
    return [
        MacroScore("all rows", rows_behind(metric, whole.n), whole),
        MacroScore("mean over genes", f"{gene.groups:,} genes", gene.macro),
        MacroScore("mean over perturbations", f"{pert.groups:,} perturbations", pert.macro),
    ]


def constant_parents(db: Cursor, fused: Run) -> list[str]:
    """Return one sentence for each number of a component that changes no order in a cell of the fusion.

    Components that were deleted since are left out.
    """
    rows, here = load_scored_rows(db, fused.id), runs.statuses(db)
    parts = [load_scored_rows(db, parent) for parent in fused.parents if parent in here]
    de, up = ([_on_rows(part, column, rows) for part in parts] for column in ("p_de", "p_up"))
    return constant_sentences(find_constant_components(de, up, rows.cells), [part.run.name for part in parts])


def _on_rows(part: RunRows, column: str, rows: RunRows) -> Floats:
    """Return the numbers of a run on the rows of another, NaN for rows that it does not cover."""
    everywhere = np.full(len(rows.index.pair_ids), np.nan)
    everywhere[part.positions] = np.where(part.covered, getattr(part.scores, column), np.nan)
    return everywhere[rows.positions]
