"""Scores of baselines on the labelled rows of a split.

Also controls from a gene's expression in control cells, for a dataset made from cells: its mean,
detection and variance. Effects are easier to find in genes with many counts, so that these alone
predict which pairs were called. None uses labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.scoring.controls import (
    AXES,
    COUNT_ONLY,
    NO_SKILL,
    RARER_GENE,
    RunControls,
    constant,
    score_control,
)
from core.scoring.label_means import training_means
from core.scoring.run_scores import RunRows, add_count_controls
from core.stats.delong import Estimate
from core.stats.official_score import score_of_rows
from core.stats.scores_and_labels import ScoredRows, Scores, outcome_of, scores_from_probabilities
from core.stats.within_axis import WithinTask, score_within
from core.transfer.row_index import RowIndex

CONTROLS: Final = {
    "mean": ("expression-only", "the mean expression of the gene in control cells"),
    "detected": ("detection-only", "the share of control cells that express the gene"),
    "variance": ("variance-only", "the variance of the gene between control cells"),
}
_READ = "{}: higher values mean a likelier effect and likelier down; uses no labels"


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """One question of a benchmark: the macro AUROC by gene over `genes` genes with both classes,
    and the pooled AUROC."""

    macro: Estimate
    micro: Estimate
    genes: int

    @property
    def json_value(self) -> dict[str, Any]:
        """Both AUROCs, with their intervals beside; a macro AUROC is null where no gene has both
        classes."""
        intervals = {"macro": self.macro, "micro": self.micro}
        return {
            "macro": self.macro.value,
            "micro": self.micro.value,
            "genes": self.genes,
            "intervals": intervals,
        }


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline's score on a split. de, dir: None for a question without both classes, or one that
    it does not answer.

    note: how to read it. on_covered: its score on the rows that it covers, None if these are all.
    lacks: why it was not computed, None if it was.
    """

    name: str
    de: BaselineScore | None
    dir: BaselineScore | None
    note: str | None = None
    on_covered: OnCovered | None = None
    lacks: str | None = None


@dataclass(frozen=True, slots=True)
class OnCovered:
    """A baseline's score on the rows of a split that it covers. rows: their number; of: the number
    of all rows."""

    rows: int
    of: int
    de: BaselineScore | None
    dir: BaselineScore | None


def dataset_baselines(
    dataset: pd.DataFrame, split: str, expression: pd.DataFrame | None = None
) -> tuple[Baseline, ...]:
    """Return the baselines of a dataset (`pairs.frame`) on the labelled rows of a split, over all
    pairs of them.

    expression: what genes are like in control cells, as in `add_expression`.

    Raise InputError if the split has no labelled row.
    """
    chosen = (dataset["split"] == split).to_numpy() & dataset["label"].notna().to_numpy()
    if not chosen.any():
        labelled_splits = sorted(set(dataset[dataset["label"].notna()]["split"]))
        raise InputError(
            f"split {split!r}: got no labelled row in it; expected one of"
            f" {', '.join(labelled_splits) or 'none'}"
        )
    index, splits = RowIndex.of_frame(dataset), dataset["split"].to_numpy(dtype=object)
    positions = np.flatnonzero(chosen)
    counted = add_count_controls(dataset.iloc[positions][["pair_id"]], dataset)
    means = {axis: training_means(index, splits, positions, axis) for axis, _ in AXES}
    scores = {
        "constant": constant(len(positions)),
        "gene's training mean": means["gene"],
        "perturbation's training mean": means["pert"],
        f"{COUNT_ONLY} and {RARER_GENE}": scores_from_probabilities(
            counted["count_only"], counted["rarer_gene"]
        ),
    }
    if expression is not None:
        symbols = dataset["gene"].iloc[positions].tolist()
        scores |= {name: each for name, _, each in score_expression(symbols, expression)}
    rows = index.rows.take(positions)
    outcome = outcome_of(index.labels[positions])
    baselines = []
    for name, each in scores.items():
        de, direction = score_baseline(ScoredRows(outcome, each, rows.pert, rows.gene))
        baselines.append(
            Baseline(name, de, direction, NO_SKILL if name.startswith("gene's") else None)
        )
    return tuple(baselines)


def score_baseline(rows: ScoredRows) -> tuple[BaselineScore | None, BaselineScore | None]:
    """Return DE and DIR of a baseline on some rows; None for a question without both classes or
    without scores."""
    within, pooled = score_within(rows, "gene"), score_of_rows(rows)
    return _baseline_score(within.de, pooled.de), _baseline_score(within.dir, pooled.dir)


def _baseline_score(within: WithinTask, pooled: Estimate) -> BaselineScore | None:
    return None if math.isnan(pooled.value) else BaselineScore(within.macro, pooled, within.groups)


def add_expression(found: RunControls, rows: RunRows, genes: pd.DataFrame | None) -> RunControls:
    """Return the controls of a run with those of expression.

    genes: gene, mean, detected, variance; Return None for a dataset that was not made from cells.
    """
    if genes is None:
        return found
    symbols = np.array(rows.index.symbols, dtype=object)[rows.gene].tolist()
    controls = (
        score_control(rows, name, _READ.format(about), scores)
        for name, about, scores in score_expression(symbols, genes)
    )
    return replace(found, controls=(*found.controls, *controls))


def score_expression(
    symbols: Sequence[str], genes: pd.DataFrame
) -> Iterator[tuple[str, str, Scores]]:
    """Yield name, description and scores of each control of rows with these genes; a gene that the
    table lacks has the median."""
    statistics = genes.set_index("gene").reindex(list(symbols))
    for column, (name, about) in CONTROLS.items():
        value = statistics[column].fillna(genes[column].median()).to_numpy(dtype=np.float64)
        yield name, about, Scores(value, -value)
