"""From a run's rows to its numbers: its scores, its slices, its controls and its comparison with another run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.errors import InputError
from core.stats.arrays import Codes
from core.stats.comparison import Comparison, compare
from core.stats.count_controls import LeakageAudit, count_only, leakage_audit, rarer_gene
from core.stats.official_score import ScoreIntervals, score_with_intervals
from core.stats.ranks import equal_groups
from core.stats.scores_and_labels import Scores, scores_from_probabilities, scores_from_submission
from core.store.predictions import GENE_ROWS
from core.store.runs import Run
from core.symbols import symbol_kind
from core.transfer.knn_settings import read_knn_settings
from core.transfer.labelled_rows import Rows, rows_of
from core.transfer.protocols import EvaluationProtocol, cells_of, parts_of
from core.transfer.row_index import RowIndex
from core.types import Flag

P_BINS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))  # low included, high excluded unless it is 1
QUARTERS = ("least quarter", "second quarter", "third quarter", "most quarter")


def add_count_controls(rows: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """A run's rows with the count controls, which count rows over the whole split that each row belongs to.

    rows: from store.predictions.frame; pairs: store.pairs.frame of its dataset. Adds the columns gene_rows (rows of the
    gene), count_only (DE control) and rarer_gene (DIR control).
    """
    counted = []
    for _, split in pairs.groupby("split", sort=False):
        pert, gene = name_codes(split["pert"]), name_codes(split["gene"])
        controls = {"count_only": count_only(pert, gene), "rarer_gene": rarer_gene(gene)}
        counted.append(split[["pair_id"]].assign(gene_rows=np.bincount(gene)[gene], **controls))
    return rows.merge(pd.concat(counted), on="pair_id", how="left", validate="one_to_one")


def available_slices(rows: pd.DataFrame) -> list[str]:
    """The slices that apply to a run's rows; those by neighbours only if the run has neighbours."""
    has_neighbours = bool(rows["support"].notna().any())
    return [name for name in SLICES if has_neighbours or not name.endswith("neighbours")]


def name_codes(names: pd.Series) -> np.ndarray:
    """Names as integer codes of shape (n_rows,), which are faster to group by."""
    return pd.factorize(names)[0]


def submitted_scores(rows: pd.DataFrame) -> Scores:
    """The scores that the official metric ranks: the submitted numbers as they are. Raises InputError for bad rows."""
    return scores_from_submission(rows["prediction_up"], rows["prediction_down"], rows["pair_id"].tolist())


def control_scores(rows: pd.DataFrame) -> Scores:
    """The scores of row counts alone (see `add_count_controls`)."""
    return scores_from_probabilities(rows["count_only"], rows["rarer_gene"])


def score_rows(
    rows: pd.DataFrame, scores: Scores, cells: Codes | None = None, protocol: EvaluationProtocol | None = None
) -> ScoreIntervals:
    """The score of a run's rows (label, pert, gene), see `score_of`; NaN without labels."""
    return score_of(label_array(rows), scores, rows_of(name_codes(rows["pert"]), name_codes(rows["gene"])), cells, protocol)


def score_of(
    labels: ArrayLike, scores: Scores, rows: Rows, cells: Codes | None = None, protocol: EvaluationProtocol | None = None
) -> ScoreIntervals:
    """DE, DIR and their mean with all intervals, and in `scored` which pairs of rows they count; arrays of shape (n_rows,).

    protocol: of the run itself, or of the component that a fusion inherits it from; None if no labels were used.
    cells: each row's cell of that protocol's folds (see `protocols.cells_of`); only pairs inside a cell count, since
    pairs across cells let the base rates of folds in. None scores over all rows. Raises InputError for folds without
    cells and for cells without folds.
    """
    under_folds = protocol is not None and protocol.kind == "folds"
    if under_folds != (cells is not None):
        expected = "the cells of its folds" if under_folds else "no cells, since the run was not made under folds"
        raise InputError(f"cells: got {'none' if cells is None else 'some'}; expected {expected}")
    return replace(score_with_intervals(labels, scores, rows.pert, rows.gene, cells), scored=describe_scoring(protocol))


def describe_scoring(protocol: EvaluationProtocol | None) -> str:
    """How a run of this protocol is scored, in words: "all rows", "inside 5×5 cells, cut 0", "leave-one-out"."""
    if protocol is None or protocol.kind == "test":
        return "all rows"
    return f"inside {protocol.k}×{protocol.k} cells, cut {protocol.seed}" if protocol.kind == "folds" else "leave-one-out"


def inherited_protocol(run: Run, known: Mapping[str, Run]) -> EvaluationProtocol | None:
    """The protocol of a kNN, or of the first kNN that a fusion or a recovered component is made from; None without one.

    known: runs by id. Folds go before other protocols, since a fusion with one such component is scored inside its cells.
    """
    if run.method == "knn":
        return read_knn_settings(run.spec).protocol
    found = [inherited_protocol(known[parent], known) for parent in run.parents if parent in known]
    protocols = [protocol for protocol in found if protocol is not None]
    return next((each for each in protocols if each.kind == "folds"), protocols[0] if protocols else None)


def cells_under(protocol: EvaluationProtocol | None, index: RowIndex, positions: Codes) -> Codes | None:
    """The cell of each row (position in the index) under a protocol's folds; None unless it has folds."""
    if protocol is None or protocol.kind != "folds":
        return None
    rows = index.rows.take(positions)
    return cells_of(protocol, rows, parts_of(protocol, rows, index.known.rows))


def compare_rows(rows: pd.DataFrame, a: Scores, b: Scores) -> Comparison:
    """The comparison of b against a on the same rows."""
    return compare(label_array(rows), a, b, name_codes(rows["pert"]), name_codes(rows["gene"]))


def label_array(rows: pd.DataFrame) -> np.ndarray:
    """The labels as objects of shape (n_rows,), None if unknown."""
    return rows["label"].astype(object).where(rows["label"].notna(), None).to_numpy()


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """The rows that two runs share, and the scores of both in the order of these rows."""

    rows: pd.DataFrame
    a: Scores
    b: Scores


def pair_runs(run_a: Run, rows_a: pd.DataFrame, run_b: Run, rows_b: pd.DataFrame) -> PairedRuns:
    """The rows that two runs share. Raises InputError for runs on different datasets and for runs without a common row."""
    if run_a.dataset != run_b.dataset:
        raise InputError(f"{run_a.name} and {run_b.name}: on different datasets, so on different labels; expected one dataset")
    both = rows_a.merge(rows_b, on="pair_id", suffixes=("", "_b"), validate="one_to_one")
    if both.empty:
        raise InputError(f"{run_a.name} and {run_b.name}: no row in common, so nothing to compare")
    ids = both["pair_id"].tolist()
    a = scores_from_submission(both["prediction_up"], both["prediction_down"], ids)
    return PairedRuns(both, a, scores_from_submission(both["prediction_up_b"], both["prediction_down_b"], ids))


def audit_leakage(pairs: pd.DataFrame) -> LeakageAudit:
    """The leakage audit of a dataset (pairs: store.pairs.frame): its labelled splits against its unlabelled ones."""
    known = pairs.groupby("split")["label"].transform("count") > 0
    labelled, unlabelled = pairs[known], pairs[~known]
    if labelled.empty:
        raise InputError("leakage audit: got no labelled rows, expected a dataset with labels")
    return leakage_audit(label_array(labelled), labelled["pert"], labelled["gene"], unlabelled["pert"], unlabelled["gene"])


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
    uncovered = {Flag.UNCOVERED, Flag.PARTLY_COVERED}
    return flags.map(lambda each: "without a neighbour" if uncovered.intersection(each) else "with neighbours")


def _support_slices(support: pd.Series) -> pd.Series:
    """Quarters of the rows that have support, least first; "none" without."""
    quarters = pd.Series(equal_groups(support.where(support > 0), len(QUARTERS)), index=support.index)
    return quarters.map(dict(enumerate(QUARTERS, start=1))).astype(object).fillna("none")


# The ways to cut rows into slices: name on screen → function that gives each row's slice.
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
