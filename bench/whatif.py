"""The live fusion: what a change of a weight, of the power, of k or of the spaces costs, on a table as large as train.

The reference does what a notebook does: priors from every row times every row, percentiles with SciPy's rankdata, the
score with scikit-learn, and DeLong's intervals for rows alone by comparing all pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from bench.knn import labels_of, lean_priors, make_table
from bench.measure import alone, median_s
from core.features.fuse.weight_grid import move_one, weight_grid, weight_optimism
from core.stats.arrays import Bools, Codes, Floats
from core.transfer.fusion import Component, FusionComparison, LiveFusion, live_fusion, weights_of
from core.transfer.knn import Weighting
from core.transfer.protocols import (
    EvaluationProtocol,
    LiveKnn,
    SimilaritySettings,
    cells_of,
    live_knn,
    parts_of,
)
from core.transfer.row_index import DIRECTED, EFFECT, UP, Knowledge

REPEATS = 9
WEIGHTS = weights_of([0.4], [0.6])
CHANGES = {
    "power 1": SimilaritySettings(Weighting(power=1.0)),
    "power 2.5": SimilaritySettings(Weighting(power=2.5)),
    "k 50": SimilaritySettings(Weighting(k=50)),
    "k 400": SimilaritySettings(Weighting(k=400)),
}


def run() -> dict[str, Any]:
    """Milliseconds (medians) of every kind of change, under both protocols, and the reference's for the same change."""
    (ours, change, times), _, ours_mb = alone(our_changes)
    theirs, weights_s, reference_mb = alone(notebook)
    (_, reference_s), _, rows_mb = alone(lean_priors)
    return {
        "name": "whatif",
        "ours_s": times["folds"]["weights"] / 1000,
        "reference_s": weights_s,
        "ratio": weights_s / (times["folds"]["weights"] / 1000),
        "max_abs_diff": float(np.abs(np.array(ours) - theirs).max()),
        "change_of_mean": change,
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": max(reference_mb, rows_mb),
        "ms": times,
        "reference_power_ms": 1000 * reference_s,
    }


def our_changes() -> tuple[list[float], float, dict[str, dict[str, float]]]:
    """DE, DIR and the row intervals' standard errors at the weights; the change of the mean; milliseconds by protocol."""
    known, spaces = make_table()
    kinds = ("loo", "folds")
    times = {}
    for kind in kinds:
        protocol = EvaluationProtocol(kind)
        around = live_knn(protocol, known.rows, known, spaces)
        cells = cells_of(protocol, known.rows, parts_of(protocol, known.rows))
        base = _base(known)

        def prepare(
            component: Component, base: Component = base, cells: Codes | None = cells
        ) -> LiveFusion:
            return live_fusion(labels_of(known), known.rows, [base, component], cells=cells)

        times[kind] = _milliseconds(prepare, around)
    found = live_fusion(labels_of(known), known.rows, [_base(known), _other(known)]).score_at(
        WEIGHTS
    )
    values = [
        found.de.after.value,
        found.dir.after.value,
        found.de.after.row.se,
        found.dir.after.row.se,
    ]
    return values, found.mean.change.value, times


def _milliseconds(prepare: Callable[[Component], LiveFusion], around: LiveKnn) -> dict[str, float]:
    prepared = prepare(_knn(around, SimilaritySettings()))

    def changed(
        similarity: SimilaritySettings, names: tuple[str, ...] = tuple(around.spaces)
    ) -> FusionComparison:
        return prepare(_knn(around, similarity, names)).score_at(WEIGHTS)

    def newly_centred() -> FusionComparison:
        around.cosines.clear()
        return changed(SimilaritySettings(centre=True), tuple(around.spaces)[:1])

    work = {
        name: lambda similarity=similarity: changed(similarity)
        for name, similarity in CHANGES.items()
    }
    work["spaces"] = lambda: changed(SimilaritySettings(), tuple(around.spaces)[1:])
    work |= {
        "weights": lambda: prepared.score_at(WEIGHTS),
        "plane": lambda: weight_grid(prepared, move_one(0, [0.0], [0.0])),
        "optimism": lambda: weight_optimism(prepared, move_one(0, [0.0], [0.0])),
        "a space centred for the first time": newly_centred,
    }
    return {name: 1000 * median_s(one, REPEATS) for name, one in work.items()}


def _knn(around: LiveKnn, similarity: SimilaritySettings, names: tuple[str, ...] = ()) -> Component:
    found = around.priors(names or tuple(around.spaces), similarity)
    return Component("knn", found.de, found.up)


def _base(known: Knowledge) -> Component:
    rng = np.random.default_rng(1)
    return Component("base", *(rng.random((2, len(known))) + 0.3 * known.flags[:, [EFFECT, UP]].T))


def _other(known: Knowledge) -> Component:
    rng = np.random.default_rng(2)
    return Component("other", *(rng.random((2, len(known))) + 0.2 * known.flags[:, [EFFECT, UP]].T))


def notebook() -> Floats:
    """DE, DIR and DeLong's standard errors of the same fusion, as a notebook has them; once, without a base to compare."""
    known, _ = make_table()
    base, other = _base(known), _other(known)
    n = len(known)
    fused_de = (WEIGHTS.de[:, None] * np.stack([rankdata(c.p_de) for c in (base, other)])).sum(
        axis=0
    ) / (n + 1)
    fused_up = (WEIGHTS.up[:, None] * np.stack([rankdata(c.p_up) for c in (base, other)])).sum(
        axis=0
    ) / (n + 1)
    effect, directed, up = (known.flags[:, column] for column in (EFFECT, DIRECTED, UP))
    fused_de, fused_up = np.round(fused_de, 9), np.round(fused_up, 9)  # equal sums are ties
    scores = (effect, fused_de), (up[directed], fused_up[directed])
    return np.array(
        [roc_auc_score(*each) for each in scores] + [delong_se(*each) for each in scores]
    )


def delong_se(positive: Bools, values: Floats) -> float:
    """DeLong's standard error from all pairs."""
    wins = np.sign(values[positive][:, None] - values[~positive]) / 2 + 0.5
    sides = wins.mean(axis=1), wins.mean(axis=0)
    return float(np.sqrt(sum(side.var(ddof=1) / len(side) for side in sides)))
