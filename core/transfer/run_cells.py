"""The scoring of a run: over all rows, inside the cells of its folds, or as leave-one-out.

A predictor that learns from labels outside a row's cell learns a base rate, and this rate differs
from cell to cell. Pairs of rows from two cells would carry these rates into the score. So a run
made under folds is scored inside their cells, and so is every run made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import estimates, widen
from core.stats.influence import mean_influence
from core.stats.official_score import (
    DE,
    DIR,
    MEAN,
    ScoreIntervals,
    point_values,
    row_counts,
    score_with_intervals,
)
from core.stats.scores_and_labels import (
    Outcome,
    Scores,
    Task,
    combine_codes,
    outcome_of,
    ranked_scores,
    submitted_parts,
    tasks,
)
from core.transfer.cut_priors import SEEDS, prepare_cuts
from core.transfer.knn import Priors
from core.transfer.knn_settings import read_knn_settings
from core.transfer.protocols import EvaluationProtocol, KnnInputs, KnnPrediction, cells_of, parts_of
from core.transfer.row_index import RowIndex, Rows

ALL_ROWS = "all rows"


class RunWithParents(Protocol):
    """The fields of a run that tell under which protocols it was made; see
    `core.base.types.RunRecord`."""

    @property
    def method(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, Any]: ...
    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def evaluation(self) -> Mapping[str, Any] | None: ...


def protocols_of(
    run: RunWithParents, find: Callable[[str], RunWithParents | None]
) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols that keep labels away from a run's rows: its own, its recorded ones, and
    its parents'.

    find: returns a run by id, or None for a missing run; then only the recorded protocols count.
    """
    protocols = [
        EvaluationProtocol(**fields) for fields in (run.evaluation or {}).get("protocols", ())
    ]
    if run.method == "knn":
        protocols.append(read_knn_settings(run.spec).protocol)
    view = run.spec.get("view")
    if isinstance(view, Mapping) and view.get("kind") == "folds":
        protocols.append(EvaluationProtocol("folds", view["k"], view["seed"]))
    for parent in map(find, run.parents):
        protocols += () if parent is None else protocols_of(parent, find)
    return distinct_protocols(protocols)


def distinct_protocols(protocols: Iterable[EvaluationProtocol]) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols that affect a score, each once: folds by k and seed, then leave one
    out."""
    used = {
        each if each.kind == "folds" else EvaluationProtocol(each.kind)
        for each in protocols
        if each.kind != "test"
    }
    return tuple(sorted(used, key=attrgetter("kind", "k", "seed")))


def folds_among(protocols: Iterable[EvaluationProtocol]) -> list[EvaluationProtocol]:
    """Return the protocols that cut folds."""
    return [protocol for protocol in protocols if protocol.kind == "folds"]


def describe_scoring(protocols: Sequence[EvaluationProtocol]) -> str:
    """Describe the scoring of a run under these protocols: "all rows", "inside 5×5 cells, cut 0",
    "leave-one-out"."""
    folds = folds_among(protocols)
    if not folds:
        return (
            "leave-one-out" if any(protocol.kind == "loo" for protocol in protocols) else ALL_ROWS
        )
    if len(folds) == 1:
        return f"inside {folds[0].k}×{folds[0].k} cells, cut {folds[0].seed}"
    return "inside the cells of " + " and ".join(
        f"{protocol.k}×{protocol.k} cut {protocol.seed}" for protocol in folds
    )


def cells_under(
    protocols: Sequence[EvaluationProtocol], index: RowIndex, positions: Codes
) -> Codes | None:
    """Return the cell of each row (position in the index); rows that share a cell in every cut get
    the same code. None without folds.
    """
    rows = index.rows.take(positions)
    cuts = [
        cells_of(protocol, rows, parts_of(protocol, rows, index.known.rows))
        for protocol in folds_among(protocols)
    ]
    return combine_codes(*cuts)


def cells_of_cuts(
    protocols: Sequence[EvaluationProtocol], index: RowIndex, positions: Codes, seeds: Iterable[int]
) -> Iterator[Codes | None]:
    """Yield `cells_under` for other cuts of the folds, one for each of these seeds."""
    for seed in seeds:
        cut = distinct_protocols(replace(protocol, seed=seed) for protocol in protocols)
        yield cells_under(cut, index, positions)


NAME = "mean of ten cuts (seeds 0–9)"  # the name of a space's score on every page


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The rows under the folds of one seed: their cells, their scores with stand-ins, and flags of
    rows with a prior.

    covered_scores: the scores, with p_up missing for rows without a prior of up.
    """

    seed: int
    cells: Codes
    scores: Scores
    covered_scores: Scores
    covered: Bools


@dataclass(frozen=True, slots=True, eq=False)
class CutScores:
    """DE and DIR of each cut, scored inside its cells, of shape (n_cuts, 2), and their means with
    intervals."""

    values: Floats
    score: ScoreIntervals

    @property
    def sd(self) -> Floats:
        """The standard deviation between cuts of DE, of DIR and of their mean, of shape (3,)."""
        return np.sqrt(variances_between(self.values))


@dataclass(frozen=True, slots=True, eq=False)
class MeanOfCuts:
    """The scores of a space over cuts into k parts with these seeds.

    all_rows: over all rows, with base rates for rows without a prior. covered: over the rows with a
    prior in each cut. coverage: the share of covered rows, the mean over cuts.
    """

    k: int
    seeds: tuple[int, ...]
    coverage: float
    all_rows: CutScores
    covered: CutScores


def predict_cuts(
    knn: KnnInputs,
    k: int = 5,
    seeds: Sequence[int] = SEEDS,
    progress: Callable[[float], object] | None = None,
) -> list[Cut]:
    """Return the query rows under each cut of perturbations and genes into k parts. progress:
    called with the share that is done.

    Raise the errors of `prepare_cuts`.
    """
    cuts: list[Cut] = []
    for cut in prepare_cuts(knn, k, seeds):
        [priors] = cut.predict([None])
        scores = scores_with_stand_ins(priors, cut.base_rates)
        cuts.append(
            Cut(cut.seed, cut.cells, scores, without_stand_ins(scores, priors), priors.covered)
        )
        if progress is not None:
            progress(len(cuts) / len(seeds))
    return cuts


def cut_values(knn: KnnInputs, labels: ArrayLike, k: int = 5) -> Floats:
    """Return DE and DIR of each cut over all rows, scored inside its cells, of shape (n_cuts, 2);
    labels: of the query rows."""
    outcome = outcome_of(labels)
    return np.array([point_values(outcome, cut.scores, cut.cells) for cut in predict_cuts(knn, k)])


def score_cuts(labels: ArrayLike, rows: Rows, cuts: Sequence[Cut], k: int = 5) -> MeanOfCuts:
    """Return the mean over cuts; labels: of shape (n_rows,). NaN if a cut has no pair of both
    classes inside its cells."""
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, rows=rows)
    seeds = tuple(cut.seed for cut in cuts)
    name = NAME if seeds == SEEDS else f"mean of the cuts of seeds {', '.join(map(str, seeds))}"
    everyone = [tasks(outcome, cut.scores) for cut in cuts]
    some = [
        [
            Task(task.rows & cut.covered, task.positive, task.values)
            for task in tasks(outcome, cut.covered_scores)
        ]
        for cut in cuts
    ]
    cells = [cut.cells for cut in cuts]
    coverage = float(np.mean([cut.covered.mean() for cut in cuts])) if len(rows) else float("nan")
    ever = np.any([cut.covered for cut in cuts], axis=0)
    return MeanOfCuts(
        k,
        seeds,
        coverage,
        _mean_score(everyone, cells, outcome, rows, f"{name}, inside {k}×{k} cells"),
        _mean_score(some, cells, outcome.take(ever), rows, f"{name}, inside {k}×{k} cells"),
    )


def _mean_score(
    by_cut: Sequence[Sequence[Task]],
    cells: Sequence[Codes],
    outcome: Outcome,
    rows: Rows,
    scored: str,
) -> CutScores:
    """Return the means of DE and DIR over cuts, with the same AUROC in every cut; outcome: of the
    rows that count."""
    influences = [
        influence_within_cells(two, inside) for two, inside in zip(by_cut, cells, strict=True)
    ]
    values = np.stack([influence.values[:, 0] for influence in influences])
    mean = mean_influence(influences)
    of_cuts = variances_between(values) / len(values)
    three = [influence[0] for influence in estimates(mean, rows.pert, rows.gene, [DE, DIR, MEAN])]
    de, direction, both = (
        widen(influence, float(variance))
        for influence, variance in zip(three, of_cuts, strict=True)
    )
    return CutScores(
        values,
        ScoreIntervals(*row_counts(outcome, len(outcome.labelled)), de, direction, both, scored),
    )


def variances_between(values: Floats) -> Floats:
    """Return the variance between cuts of DE, of DIR and of their mean, of shape (…, 3); 0 with
    fewer than two cuts.

    values: DE and DIR under each cut, of shape (…, n_cuts, 2).
    """
    if values.shape[-2] < 2:
        return np.zeros((*values.shape[:-2], 3))
    three = np.concatenate((values, values.mean(axis=-1, keepdims=True)), axis=-1)
    return np.asarray(three.var(axis=-2, ddof=1))


NOTHING_KNOWN = 0.5  # the stand-in for a row that sees no labelled row, or none with a direction


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The score of a kNN under a protocol.

    coverage: share of rows with a prior; score: over all rows, with base rates in place of missing
    priors; covered: score over the rows with a prior; null: score of equal weights, over all rows.
    """

    coverage: float
    score: ScoreIntervals
    covered: ScoreIntervals
    null: ScoreIntervals


def evaluate(labels: ArrayLike, rows: Rows, predicted: KnnPrediction) -> Evaluation:
    """Return the score of the priors and of the null; labels of shape (n_rows,)."""
    priors, null, cells = predicted.priors, predicted.null, predicted.cells
    names, covered = np.asarray(labels, dtype=object), priors.covered

    def score(scores: Scores, chosen: Bools) -> ScoreIntervals:
        inside = None if cells is None else cells[chosen]
        return score_with_intervals(
            names[chosen], scores.take(chosen), rows.pert[chosen], rows.gene[chosen], inside
        )

    everyone, all_rows = np.ones(len(rows), dtype=np.bool_), scores_with_stand_ins(priors, null)
    return Evaluation(
        float(covered.mean()) if len(rows) else float("nan"),
        score(all_rows, everyone),
        score(without_stand_ins(all_rows, priors), covered),
        score(scores_with_stand_ins(null, null), everyone),
    )


def scores_with_stand_ins(priors: Priors, null: Priors) -> Scores:
    """Return the scores of all rows, computed from the submitted numbers as for a run."""
    filled = fill_with_base_rates(priors, null)
    return ranked_scores(*submitted_parts(filled.de, filled.up))


def without_stand_ins(scores: Scores, priors: Priors) -> Scores:
    """Return the scores with p_up missing in rows without a prior of up, for a score over the rows
    with a prior."""
    return Scores(scores.p_de, np.where(np.isnan(priors.up), np.nan, scores.p_up))


def fill_with_base_rates(priors: Priors, null: Priors) -> Priors:
    """Return priors with missing ones replaced by the base rates of the labelled rows that the row
    may see.

    null: the priors of equal weights, which are these base rates. If these are NaN too,
    NOTHING_KNOWN is used.
    """
    uncovered = ~priors.covered
    rate_de, rate_up = (
        np.where(np.isnan(rate), NOTHING_KNOWN, rate) for rate in (null.de, null.up)
    )
    de = np.where(uncovered, rate_de, priors.de)
    return Priors(de, np.where(uncovered | np.isnan(priors.up), rate_up, priors.up), priors.support)
