"""The rows of a run asked in other ways than the score: inside genes, at the top of the list, where row counts cannot help.

Each is computed inside the cells that the run is scored inside.

Which runs that a fusion was made of are constant inside its cells, in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from core.scoring.run_scores import RunRows, RunScore, load_scored_rows
from core.stats.arrays import Floats
from core.stats.average_precision import AveragePrecision, average_precision
from core.stats.count_controls import CountMatched, count_matched_scores
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
MATCHED = "negatives of genes measured as often"  # the way to score in which how often a gene was measured cannot help
TOP = (20, 50, 100, 200)  # rows at the top of the list


@dataclass(frozen=True, slots=True)
class OtherScores:
    """A run's other scores.

    whole: the score itself. within_gene, within_pert: over pairs of rows that share the gene, or the perturbation. matched:
    where row counts cannot help. auprc, top: of DE and of DIR.
    """

    whole: ScoreIntervals
    within_gene: WithinAxis
    within_pert: WithinAxis
    matched: CountMatched
    auprc: dict[Metric, AveragePrecision]
    top: dict[Metric, tuple[TopK, ...]]


@dataclass(frozen=True, slots=True)
class Way:
    """One AUROC of a run, a description of the scoring, and the number of counted units ("336 genes")."""

    name: str
    counted: str
    estimate: Estimate


def other_scores(whole: ScoreIntervals, rows: ScoredRows, gene_rows: ArrayLike, top: Sequence[int] = TOP) -> OtherScores:
    """Return all of them, NaN where one class is missing.

    whole: the run's score; gene_rows: number of rows of each row's gene in its split, of shape (n_rows,).
    """
    de, direction = average_precision(rows)
    top_de, top_dir = precision_at(rows, top)
    return OtherScores(
        whole,
        score_within(rows, "gene"),
        score_within(rows, "pert"),
        count_matched_scores(rows, gene_rows),
        {"de": de, "dir": direction},
        {"de": top_de, "dir": top_dir},
    )


def other_scores_of_run(rows: RunRows, found: RunScore) -> OtherScores:
    """Return the other scores of a run."""
    return other_scores(found.whole, rows.arrays, rows.frame["gene_rows"])


def ways_to_score(found: OtherScores, metric: Metric) -> list[Way]:
    """Return the AUROCs of one metric, the one over all rows first."""
    gene: WithinTask = getattr(found.within_gene, metric)
    pert: WithinTask = getattr(found.within_pert, metric)
    whole, several, matched = (
        getattr(each, metric) for each in (found.whole, found.matched.without_single, found.matched.matched)
    )
    return [
        Way("all rows", rows_behind(metric, whole.n), whole),
        Way("within a gene, mean over genes", f"{gene.groups:,} genes", gene.macro),
        Way("within a gene, by pairs", f"{gene.groups:,} genes", gene.by_pairs),
        Way("within a perturbation, mean over them", f"{pert.groups:,} perturbations", pert.macro),
        Way("within a perturbation, by pairs", f"{pert.groups:,} perturbations", pert.by_pairs),
        Way("without genes of a single row", rows_behind(metric, several.n), several),
        Way(MATCHED, rows_behind(metric, matched.n), matched),
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
