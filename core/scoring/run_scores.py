"""From a run's rows to its numbers: which scores are ranked, which slices there are, and what the controls say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.errors import InputError
from core.stats.comparison import Comparison, compare
from core.stats.count_controls import LeakageAudit, count_only, leakage_audit, rarer_gene
from core.stats.official_score import ScoreIntervals, score_with_intervals
from core.stats.scores_and_labels import Scores, scores_from_probabilities, scores_from_submission
from core.store.predictions import GENE_ROWS
from core.store.runs import Run
from core.symbols import symbol_kind
from core.types import Flag

P_BINS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))  # closed below, open above unless 1


def add_count_controls(rows: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """A run's rows with what row counts give away, counted over the whole split that each row belongs to.

    rows: store.predictions.frame; pairs: store.pairs.frame of its dataset. Adds gene_rows (rows of the gene),
    count_only (DE control) and rarer_gene (DIR control).
    """
    counted = []
    for _, split in pairs.groupby("split", sort=False):
        pert, gene = codes(split["pert"]), codes(split["gene"])
        controls = {"count_only": count_only(pert, gene), "rarer_gene": rarer_gene(gene)}
        counted.append(split[["pair_id"]].assign(gene_rows=np.bincount(gene)[gene], **controls))
    return rows.merge(pd.concat(counted), on="pair_id", how="left", validate="one_to_one")


def available_slices(rows: pd.DataFrame) -> list[str]:
    """The slices that make sense for a run's rows: those by neighbours where it has some."""
    near = bool(rows["support"].notna().any())
    return [name for name in SLICES if near or not name.endswith("neighbours")]


def codes(names: pd.Series) -> np.ndarray:
    """Names as small integers, of shape (n_rows,): faster to group by."""
    return pd.factorize(names)[0]


def submitted_scores(rows: pd.DataFrame) -> Scores:
    """What the official metric ranks: the submitted numbers as they are. Raises InputError that names bad rows."""
    return scores_from_submission(rows["prediction_up"], rows["prediction_down"], rows["pair_id"].tolist())


def control_scores(rows: pd.DataFrame) -> Scores:
    """What counts alone would have ranked by (see `with_counts`)."""
    return scores_from_probabilities(rows["count_only"], rows["rarer_gene"])


def score_rows(rows: pd.DataFrame, scores: Scores) -> ScoreIntervals:
    """The score with its intervals by row, perturbation, gene and both; NaN without labels."""
    return score_with_intervals(labels(rows), scores, codes(rows["pert"]), codes(rows["gene"]))


def compare_rows(rows: pd.DataFrame, a: Scores, b: Scores) -> Comparison:
    """b against a on the same rows."""
    return compare(labels(rows), a, b, codes(rows["pert"]), codes(rows["gene"]))


def labels(rows: pd.DataFrame) -> np.ndarray:
    """Labels as objects of shape (n_rows,), None where unknown."""
    return rows["label"].astype(object).where(rows["label"].notna(), None).to_numpy()


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """The rows that two runs share, with each one's scores in the same order."""

    rows: pd.DataFrame
    a: Scores
    b: Scores


def pair_runs(run_a: Run, rows_a: pd.DataFrame, run_b: Run, rows_b: pd.DataFrame) -> PairedRuns:
    """Line two runs up. Raises InputError where they are on different datasets, so labels, or share no row."""
    if run_a.dataset != run_b.dataset:
        raise InputError(f"{run_a.name} and {run_b.name}: on different datasets, so on different labels; expected one dataset")
    both = rows_a.merge(rows_b, on="pair_id", suffixes=("", "_b"), validate="one_to_one")
    if both.empty:
        raise InputError(f"{run_a.name} and {run_b.name}: no row in common, so nothing to compare")
    ids = both["pair_id"].tolist()
    a = scores_from_submission(both["prediction_up"], both["prediction_down"], ids)
    return PairedRuns(both, a, scores_from_submission(both["prediction_up_b"], both["prediction_down_b"], ids))


def audit_leakage(pairs: pd.DataFrame) -> LeakageAudit:
    """The leakage audit of a dataset's rows (store.pairs.frame): its labelled splits against its unlabelled ones."""
    known = pairs.groupby("split")["label"].transform("count") > 0
    here, there = pairs[known], pairs[~known]
    if here.empty:
        raise InputError("leakage audit: got no labelled rows, expected a dataset with labels")
    return leakage_audit(labels(here), here["pert"], here["gene"], there["pert"], there["gene"])


def _probability_slices(values: pd.Series) -> pd.Series:
    names = [f"{low:.1f}–{high:.1f}" for low, high in P_BINS]
    edges = [low for low, _ in P_BINS] + [np.inf]
    return pd.cut(values, edges, right=False, labels=names).astype(object).fillna("missing")


def _gene_row_slices(counts: pd.Series) -> pd.Series:
    names = np.full(len(counts), "", dtype=object)
    for name, (low, high) in GENE_ROWS.items():
        names[(counts >= low) & (counts <= high)] = name
    return pd.Series(names, index=counts.index)


def _coverage_slices(flags: pd.Series) -> pd.Series:
    silent = {Flag.UNCOVERED, Flag.PARTLY_COVERED}
    return flags.map(lambda each: "without a neighbour" if silent.intersection(each) else "with neighbours")


def _support_slices(support: pd.Series) -> pd.Series:
    """Quarters of the rows that have support, least first; "none" without."""
    ranks = support.where(support > 0).rank(pct=True)
    names = ["least quarter", "second quarter", "third quarter", "most quarter"]
    return pd.cut(ranks, [0, 0.25, 0.5, 0.75, 1], labels=names).astype(object).fillna("none")


# How rows can be cut into slices: a name for people → each row's slice.
SLICES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "gene's rows": lambda rows: _gene_row_slices(rows["gene_rows"]),
    "gene's symbol": lambda rows: rows["gene"].map(symbol_kind),
    "P(DE)": lambda rows: _probability_slices(rows["p_de"]),
    "P(up | DE)": lambda rows: _probability_slices(rows["p_up_given_de"]),
    "coverage by neighbours": lambda rows: _coverage_slices(rows["flags"]),
    "support of neighbours": lambda rows: _support_slices(rows["support"]),
    "split": lambda rows: rows["split"],
    "perturbation": lambda rows: rows["pert"],
    "target gene": lambda rows: rows["gene"],
}
