"""The component of a published fusion, recovered from the fusion and its base, and fused again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.published.sources import Computed, Sources
from core.stats.arrays import Floats
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import Scores, scores_from_probabilities, submitted_parts
from core.transfer.fusion import Component, RecoveredComponent, decompose_fusion, fuse, percentiles_of, weights_of

W_DIR = {"scgpt_fusion": 0.5, "scgpt_fusion_wdir07": 0.7, "knn_fusion": 0.5}  # W_DE is 0.5 in all of them
W_DE, DECIMALS = 0.5, 6  # of the published files


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number. wanted: what (a kind of number, below), fusion (a key of W_DIR)."""
    what, fusion = wanted["what"], wanted.get("fusion", "scgpt_fusion")
    if what.startswith("agreement"):
        both = [_recover(sources, name) for name in ("scgpt_fusion", "scgpt_fusion_wdir07")]
        a, b = ((each.p_de if what.endswith(".de") else each.p_up) for each in both)
        return Computed(float(np.nanmax(np.abs(a - b))))
    if what == "values":
        return Computed(len(np.unique(round_for_ranks(_base(sources).p_de))))
    if what == "values_of_sums":
        return Computed(len(np.unique(_file_sums(sources, "sharp"))))
    found = _recover(sources, fusion)
    if what == "uncovered":
        return Computed(int(found.uncovered.sum()))
    if what == "farthest":
        return Computed(max(distance for name in W_DIR for distance in _recover(sources, name).farthest))
    if what == "from_sums":
        return Computed(_largest_change_from_sums(sources, found))
    return Computed(_largest_difference(sources, fusion, found))


def _base(sources: Sources) -> Scores:
    """Return the published debate's probabilities from its traces."""
    rows = sources.predictions("sharp")
    return scores_from_probabilities(rows["p_de"], rows["p_up_given_de"])


def _parts(sources: Sources, key: str) -> tuple[Floats, Floats]:
    """Return prediction_up and prediction_down of a file, in the order of the debate's rows."""
    rows = sources.predictions(key).set_index("pair_id").loc[sources.predictions("sharp")["pair_id"]]
    return rows["prediction_up"].to_numpy(), rows["prediction_down"].to_numpy()


def _file_sums(sources: Sources, key: str) -> Floats:
    up, down = _parts(sources, key)
    sums: Floats = up + down
    return sums


def _recover(sources: Sources, fusion: str) -> RecoveredComponent:
    def recover() -> RecoveredComponent:
        up, down = _parts(sources, fusion)
        return decompose_fusion(_base(sources), scores_from_probabilities(up + down, up / (up + down)), W_DE, W_DIR[fusion])

    return sources.once(("recovered", fusion), recover)


def _largest_difference(sources: Sources, fusion: str, found: RecoveredComponent) -> float:
    """Return the largest difference between the published predictions and the recomputed fusion, in the file's decimals."""
    base = _base(sources)
    components = [Component("base", base.p_de, base.p_up), Component("other", found.p_de, found.p_up)]
    again = fuse(percentiles_of(components), weights_of([W_DE], [W_DIR[fusion]]))
    parts = zip(submitted_parts(again.p_de, again.p_up), _parts(sources, fusion), strict=True)
    return max(float(np.abs(np.round(ours, DECIMALS) - published).max()) for ours, published in parts)


def _largest_change_from_sums(sources: Sources, found: RecoveredComponent) -> float:
    """Return the error of a fused P(DE) if the base is ranked by the sums of its file's decimals, which break its ties."""
    other = found.p_de
    unrounded = np.unique(_file_sums(sources, "sharp"), return_inverse=True)[1].astype(np.float64)  # ranked without rounding
    fused = [
        fuse(percentiles_of([Component("base", each, each), Component("other", other, other)]), weights_of([W_DE], [W_DE])).p_de
        for each in (_base(sources).p_de, unrounded)
    ]
    return float(np.abs(fused[0] - fused[1]).max())
