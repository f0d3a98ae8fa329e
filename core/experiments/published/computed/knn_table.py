"""kNN transfer on all labelled rows: coverage, leave-one-out, and doubly-disjoint folds scored inside their cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.published.computed.pool_cells import noise_of_cuts
from core.experiments.published.computed.pool_fusion import ENCODER, SVD
from core.experiments.published.sources import Computed, Sources
from core.transfer.cuts import CutScores, predict_cuts, score_cuts
from core.transfer.evaluation import Evaluation, evaluate
from core.transfer.protocols import EvaluationProtocol, KnnInputs, SimilaritySettings, predict_knn

_NOTES = {"minilm": ENCODER, "text": SVD, "string": SVD}


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number. wanted: space, centre, column (coverage, loo or folds), axis (de or dir), over the rows with a prior."""
    space, centre, column = wanted["space"], wanted.get("centre", False), wanted["column"]
    if column == "folds":
        cuts = sources.once(("cuts", space, centre), lambda: _score_cuts(sources, space, centre))
        values = cuts.values[:, ("de", "dir").index(wanted["axis"])]
        return Computed(float(values.mean()), noise_of_cuts(values))
    found = sources.once(("loo", space, centre), lambda: evaluate_loo(sources, space, centre))
    note = _NOTES.get(space, "")
    return Computed(found.coverage if column == "coverage" else getattr(found.covered, wanted["axis"]).value, note)


def evaluate_loo(sources: Sources, space: str, centre: bool) -> Evaluation:
    """Return the scores of the priors and of equal weights under leave-one-out."""
    index, knn = sources.index(), _inputs(sources, space, centre)
    return evaluate(index.labels[index.known_positions], knn.queries, predict_knn(EvaluationProtocol("loo"), knn))


def _score_cuts(sources: Sources, space: str, centre: bool) -> CutScores:
    index, knn = sources.index(), _inputs(sources, space, centre)
    cuts = predict_cuts(knn, seeds=range(sources.cuts))
    return score_cuts(index.labels[index.known_positions], knn.queries, cuts).covered


def _inputs(sources: Sources, space: str, centre: bool) -> KnnInputs:
    known = sources.index().known
    return KnnInputs(known.rows, known, (sources.space(space),), SimilaritySettings(centre=centre))
