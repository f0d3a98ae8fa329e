"""What a debate's judge changes by itself: the variance of a score between the judge's answers to the same briefs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.experiments.paired_replicates import PairedReplicates, directed
from core.methods.base import WithoutModel, methods
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.cell_auroc import auroc_within_cells
from core.stats.scores_and_labels import Scores, outcome_of, scores_from_probabilities, tasks
from core.store import traces
from core.store.connection import Cursor
from core.transfer.cuts import variances_between

NO_JUDGE = np.zeros(3)
UNKNOWN = np.full(3, math.nan)


def judge_noise(db: Cursor, pair: PairedReplicates) -> Floats:
    """The variance that judges leave in the change of DE, of DIR and of their mean, of shape (3,), as the arms were made.

    Each seed has verdicts of its own, so the mean over seeds has the variance of one divided by their number; runs under several
    cuts of the folds are not taken for independent. NaN where an arm calls a model and has no verdicts that were repeated.
    """
    seeds = sorted({seed for _, seed in pair.replicates})
    total = NO_JUDGE
    for arm in (pair.a, pair.b):
        of_seeds = [
            np.mean([_noise_of(db, rows) for (_, each), rows in zip(pair.replicates, arm, strict=True) if each == seed], axis=0)
            for seed in seeds
        ]
        total = total + np.mean(of_seeds, axis=0) / _distinct_runs(arm, seeds, pair)
    return total


def _distinct_runs(arm: Sequence[RunRows], seeds: Sequence[int], pair: PairedReplicates) -> int:
    """Over how many seeds an arm was made anew: an arm without seeds of its own stands beside all seeds of the other."""
    by_seed = [
        frozenset(rows.run.id for (_, each), rows in zip(pair.replicates, arm, strict=True) if each == seed) for seed in seeds
    ]
    return len(set(by_seed))


def _noise_of(db: Cursor, rows: RunRows) -> Floats:
    """The variance of the scores of one run between its judge's answers, divided by how many answers each debate has."""
    if isinstance(methods().get(rows.run.method), WithoutModel) and not rows.run.parents:
        return NO_JUDGE
    verdicts = traces.repeated_verdicts(db, rows.run.id)
    repeats = 0 if verdicts.empty else int(verdicts["repeat"].max()) + 1
    if repeats < 2:
        return UNKNOWN
    outcome = outcome_of(rows.labels)
    of_all = directed(rows)
    scores = [_scores_of(verdicts[verdicts["repeat"] == repeat], rows, of_all) for repeat in range(repeats)]
    values = np.array([[auroc_within_cells(task, rows.cells) for task in tasks(outcome, each)] for each in scores])
    return variances_between(values) / repeats


def _scores_of(verdicts: pd.DataFrame, rows: RunRows, of_all: Scores) -> Scores:
    """The scores if each debate had this answer alone; rows without one keep the score that they have."""
    by_stage = verdicts.groupby(["stage", "pair_id"])["p"].mean()
    columns = []
    for stage, known in (("de", of_all.p_de), ("dir", of_all.p_up)):
        found = by_stage.xs(stage).reindex(rows.frame["pair_id"]).to_numpy(dtype=float)
        columns.append(np.where(np.isnan(found) | np.isnan(known), known, found))
    return scores_from_probabilities(*columns)
