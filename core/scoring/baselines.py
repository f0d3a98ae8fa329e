"""What baselines score on the labelled rows of a split, and those among them that know no biology."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.errors import InputError
from core.scoring.controls import AXES, COUNT_ONLY, NO_SKILL, RARER_GENE, constant
from core.scoring.expression_controls import score_expression
from core.scoring.label_means import training_means
from core.scoring.run_scores import add_count_controls
from core.stats.delong import Estimate
from core.stats.official_score import score_of_rows
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import outcome_of, scores_from_probabilities
from core.stats.within_axis import WithinTask, score_within
from core.transfer.row_index import RowIndex


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """One question of a benchmark: the macro AUROC by gene over `genes` genes with both classes, and the pooled AUROC."""

    macro: Estimate
    micro: Estimate
    genes: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline scores on a split. de, dir: None for a question without both classes, or one that it does not answer.

    note: how to read it. on_covered: its score on the rows that it can say something about, None if these are all. lacks: why it
    was not computed, "" if it was.
    """

    name: str
    de: BaselineScore | None
    dir: BaselineScore | None
    note: str | None = None
    on_covered: OnCovered | None = None
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class OnCovered:
    """A baseline's score on those rows of a split that it can say something about. rows: their number; of: that of all rows."""

    rows: int
    of: int
    de: BaselineScore | None
    dir: BaselineScore | None


def dataset_baselines(dataset: pd.DataFrame, split: str, expression: pd.DataFrame | None = None) -> tuple[Baseline, ...]:
    """The baselines of a dataset (`pairs.frame`) on the labelled rows of a split, over all pairs of them.

    expression: what genes are like in control cells, as in `add_expression`.

    Raises InputError if the split has no labelled row.
    """
    chosen = (dataset["split"] == split).to_numpy() & dataset["label"].notna().to_numpy()
    if not chosen.any():
        known = sorted(set(dataset[dataset["label"].notna()]["split"]))
        raise InputError(f"split {split!r}: got no labelled row in it; expected one of {', '.join(known) or 'none'}")
    index, splits = RowIndex.of_frame(dataset), dataset["split"].to_numpy(dtype=object)
    positions = np.flatnonzero(chosen)
    counted = add_count_controls(dataset.iloc[positions][["pair_id"]], dataset)
    means = {axis: training_means(index, splits, positions, axis) for axis, _ in AXES}
    scores = {
        "constant": constant(len(positions)),
        "gene's training mean": means["gene"],
        "perturbation's training mean": means["pert"],
        f"{COUNT_ONLY} and {RARER_GENE}": scores_from_probabilities(counted["count_only"], counted["rarer_gene"]),
    }
    if expression is not None:
        symbols = dataset["gene"].iloc[positions].tolist()
        scores |= {name: each for name, _, each in score_expression(symbols, expression)}
    rows = index.rows.take(positions)
    outcome = outcome_of(index.labels[positions])
    found = []
    for name, each in scores.items():
        de, direction = score_baseline(ScoredRows(outcome, each, rows.pert, rows.gene))
        found.append(Baseline(name, de, direction, NO_SKILL if name.startswith("gene's") else None))
    return tuple(found)


def score_baseline(rows: ScoredRows) -> tuple[BaselineScore | None, BaselineScore | None]:
    """DE and DIR of a baseline on some rows; None for a question without both classes or without scores."""
    within, pooled = score_within(rows, "gene"), score_of_rows(rows)
    return _baseline_score(within.de, pooled.de), _baseline_score(within.dir, pooled.dir)


def _baseline_score(within: WithinTask, pooled: Estimate) -> BaselineScore | None:
    return None if math.isnan(pooled.value) else BaselineScore(within.macro, pooled, within.groups)
