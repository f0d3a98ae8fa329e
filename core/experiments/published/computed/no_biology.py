"""Controls that use no biology: row counts, and equal weights under both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.published.sources import Computed, Sources
from core.stats.count_controls import score_count_controls
from core.stats.official_score import Score, point_score
from core.transfer.evaluation import scores_with_stand_ins
from core.transfer.knn import Priors, Similarities, knn_priors
from core.transfer.protocols import EvaluationProtocol, Kind, cells_of, parts_of
from core.transfer.similarity import ConstantSimilarity


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number: a field of `CountControls`, or constant.PROTOCOL.AXIS."""
    what = wanted["value"].split(".")
    if what[0] == "constant":
        score = sources.once(("constant", what[1]), lambda: _score_equal_weights(sources, "loo" if what[1] == "loo" else "folds"))
        return Computed(getattr(score, what[2]))
    found = sources.once(("counts",), lambda: _score_counts(sources))
    value = getattr(found, what[0])
    return Computed(value if isinstance(value, int) else value.value)


def _score_counts(sources: Sources) -> Any:
    rows = sources.rows()
    labelled = rows[rows["label"].notna()]
    return score_count_controls(*(labelled[name].to_numpy() for name in ("label", "pert", "gene")))


def _score_equal_weights(sources: Sources, kind: Kind) -> Score:
    index = sources.index()
    protocol, known = EvaluationProtocol(kind), index.known
    parts = parts_of(protocol, known.rows)
    same = ConstantSimilarity()
    priors: Priors = knn_priors(known.rows, known, Similarities(same, same), parts=parts)
    labels = np.asarray(index.labels[index.known_positions], dtype=object)
    return point_score(labels, scores_with_stand_ins(priors, priors), cells_of(protocol, known.rows, parts))
