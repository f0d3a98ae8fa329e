"""Means of labels over rows that share an axis, against loops over all pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest

from core.scoring.label_means import means_outside_part, training_means
from core.stats.within_axis import Axis
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.row_index import RowIndex

RNG = np.random.default_rng(3)
PAIRS = [(f"P{i}", f"G{j}") for i in range(12) for j in range(9)]
CHOSEN = [PAIRS[i] for i in sorted(RNG.choice(len(PAIRS), 70, replace=False))]
PERT, GENE = (list(column) for column in zip(*CHOSEN, strict=True))
LABELS = RNG.choice(
    np.array(["up", "down", "none", None], dtype=object), len(CHOSEN), p=[0.3, 0.2, 0.4, 0.1]
)
SPLITS = np.array(
    ["test" if pert in ("P0", "P1", "P2") else "train" for pert in PERT], dtype=object
)
INDEX = RowIndex.build([f"{p}_{g}" for p, g in CHOSEN], PERT, GENE, LABELS)
EVERY = np.arange(len(CHOSEN))
FOLDS, LOO = EvaluationProtocol("folds", 3, 1), EvaluationProtocol("loo")
SAME = {"gene": GENE, "pert": PERT}


def mean_of(chosen: list[int], task: str) -> float:
    counted = [
        i
        for i in chosen
        if (LABELS[i] is not None if task == "de" else LABELS[i] in ("up", "down"))
    ]
    hits = [LABELS[i] != "none" if task == "de" else LABELS[i] == "up" for i in counted]
    return float(np.mean(hits)) if hits else float("nan")


def filled(value: float, otherwise: float) -> float:
    return otherwise if np.isnan(value) else value


@pytest.mark.parametrize("axis", ["gene", "pert"])
def test_training_means_see_the_training_rows_of_the_symbol(axis: Axis) -> None:
    found = training_means(INDEX, SPLITS, EVERY, axis)
    training = [i for i in EVERY if SPLITS[i] == "train"]
    for task, values in (("de", found.p_de), ("dir", found.p_up)):
        rate = mean_of(training, task)
        for i in EVERY:
            alike = (
                []
                if SPLITS[i] == "train"
                else [j for j in training if SAME[axis][j] == SAME[axis][i]]
            )
            assert values[i] == pytest.approx(filled(mean_of(alike, task), rate), abs=1e-13)
    if axis == "pert":  # no perturbation is in both splits: nothing but the base rate is known
        assert len(set(found.p_de)) == 1


@pytest.mark.parametrize("axis", ["gene", "pert"])
@pytest.mark.parametrize("protocol", [FOLDS, LOO], ids=["folds", "loo"])
def test_means_outside_the_part_leave_out_the_rows_of_it(
    axis: Axis, protocol: EvaluationProtocol
) -> None:
    found = means_outside_part(INDEX, SPLITS, EVERY, axis, protocol)
    parts = parts_of(protocol, INDEX.rows)
    other = parts.pert[INDEX.rows.pert] if axis == "gene" else parts.gene[INDEX.rows.gene]
    part = EVERY if protocol is LOO else other
    for task, values in (("de", found.p_de), ("dir", found.p_up)):
        rate = mean_of(EVERY.tolist(), task)
        for i in EVERY:
            near = [
                j
                for j in EVERY
                if SAME[axis][j] == SAME[axis][i] and SPLITS[j] == SPLITS[i] and part[j] != part[i]
            ]
            assert values[i] == pytest.approx(filled(mean_of(near, task), rate), abs=1e-13)


def test_some_rows_have_the_means_of_all() -> None:
    some = np.array([5, 2, 40])
    np.testing.assert_array_equal(
        training_means(INDEX, SPLITS, some, "gene").p_de,
        training_means(INDEX, SPLITS, EVERY, "gene").p_de[some],
    )
