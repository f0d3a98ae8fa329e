"""Means of labels over rows that share a gene or a perturbation: baselines without biology, and
what the sampling reveals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.base.types import TRAIN
from core.stats.arrays import Bools, Codes, Floats, count_codes, divide, sum_by_group
from core.stats.scores_and_labels import (
    Scores,
    combine_codes,
    outcome_of,
    scores_from_probabilities,
)
from core.stats.within_axis import Axis
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.row_index import RowIndex


def training_means(
    index: RowIndex, splits: NDArray[np.object_], positions: Codes, axis: Axis
) -> Scores:
    """Return the mean label of the training rows that share a row's gene or perturbation, for the
    rows at `positions`.

    splits: of every row of the dataset. A training row may see no row that shares its gene or its
    perturbation, and some symbols have no training row: there it is the base rate of all training
    rows.
    """
    codes = _codes(index, axis)
    is_training = splits == TRAIN
    means = []
    for counted, positive in _label_tasks(index):
        is_counted = counted & is_training
        sums, counts = (
            sum_by_group(codes[rows], count_codes(codes))
            for rows in (is_counted & positive, is_counted)
        )
        base_rate = sums.sum() / max(counts.sum(), 1)
        of_code = divide(sums, counts, base_rate)
        means.append(np.where(is_training, base_rate, of_code[codes])[positions])
    return scores_from_probabilities(*means)


def means_outside_part(
    index: RowIndex,
    splits: NDArray[np.object_],
    positions: Codes,
    axis: Axis,
    protocol: EvaluationProtocol,
) -> Scores:
    """Return the mean label of rows with a row's gene (perturbation) and a perturbation (gene) in
    another part of the folds.

    They are rows of the same split; under the protocol "loo" only the row itself is left out.
    Without such rows, the base rate is used. Negatives were matched to each gene's positives, so
    these means point away from the label.
    """
    used = np.union1d(index.labelled_positions, positions)
    rows = index.rows.take(used)
    if protocol.kind == "loo":
        part: Codes = np.arange(len(used))
    else:
        parts = parts_of(protocol, rows)
        assert parts is not None
        part = parts.pert[rows.pert] if axis == "gene" else parts.gene[rows.gene]
    split = np.unique(splits[used].astype(str), return_inverse=True)[1]
    group = combine_codes(_codes(index, axis)[used], split)
    inner = combine_codes(group, part)
    assert group is not None
    assert inner is not None
    places = np.searchsorted(used, positions)
    tasks = ((counted[used], positive[used]) for counted, positive in _label_tasks(index))
    return scores_from_probabilities(
        *(_means_elsewhere(group, inner, *task)[places] for task in tasks)
    )


def _means_elsewhere(group: Codes, inner: Codes, counted: Bools, positive: Bools) -> Floats:
    """Return the share of positives among the counted rows of each row's group that are not in its
    inner group."""

    def outside(flags: Bools) -> Floats:
        of_group, of_inner = (np.bincount(codes, weights=flags)[codes] for codes in (group, inner))
        return np.asarray(of_group - of_inner)

    hits, counts = outside(counted & positive), outside(counted)
    base_rate = positive[counted].mean() if counted.any() else 0.5
    return divide(hits, counts, base_rate)


def _codes(index: RowIndex, axis: Axis) -> Codes:
    return index.rows.gene if axis == "gene" else index.rows.pert


def _label_tasks(index: RowIndex) -> tuple[tuple[Bools, Bools], tuple[Bools, Bools]]:
    """Return (which rows count, which of them are positive) for DE and for DIR, over the whole
    dataset."""
    outcome = outcome_of(index.labels)
    return (outcome.labelled, outcome.effect), (outcome.directed, outcome.up)
