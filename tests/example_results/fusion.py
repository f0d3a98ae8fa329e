"""Results of fusions: against a baseline on labelled rows, and one that was only saved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.base.result import Result
from core.features.fuse.weight_grid import FusionVerdict
from core.transfer.fusion import Component, live_fusion, weights_of
from core.transfer.row_index import RowIndex


def examples() -> Sequence[Result]:
    rng = np.random.default_rng(0)
    perts, genes = [f"P{i % 12}" for i in range(240)], [f"G{i % 20}" for i in range(240)]
    labels = rng.choice(["up", "down", "none"], 240)
    index = RowIndex.build([f"{i}" for i in range(240)], perts, genes, labels)
    parts = [Component(name, rng.random(240), rng.random(240)) for name in ("llm", "knn")]
    live = live_fusion(labels, index.rows, parts)
    found = live.score_at(weights_of([0.5], [0.3]))
    about = {
        "baseline": "llm",
        "scored": "all rows",
        "comparison": found,
        "remarks": ("A remark.",),
    }
    return FusionVerdict("the fusion", 240, 0, **about), FusionVerdict(
        "mine", 240, 12, "id", ("llm has one P(DE).",)
    )
