"""Results of a target ranking: an evaluation in one metric and in all, ceilings of a split, the published values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.base.result import Result
from core.features.targets.tables import METRICS, TargetTable


def examples() -> Sequence[Result]:
    names = (
        "model",
        "metric",
        "k",
        "estimate",
        "low",
        "high",
        "random",
        "ceiling",
        "n",
        "conditions",
    )
    rows = [
        dict(
            zip(
                names,
                (model, metric, k, value, value - 0.1, value + 0.1, 0.012, 0.553, 38, 38),
                strict=True,
            )
        )
        for model, value in (("knn", 0.414), ("trees", 0.368))
        for metric in METRICS
        for k in ((None,) if metric == "mrr" else (1, 10))
    ]
    ceilings = {
        "relevant": {"1": "21/38"},
        "recall": {"1": "10.5/38", "2": "14/38"},
        "exact": {"1": "0/38"},
    }
    split = {"name": "hard, seed 0", "kind": "hard", "train": 80, "validation": 10, "test": 38}
    settings = {"mask": "none", "unit": "condition", "pool": "all genes"}
    every = TargetTable(
        ceilings, "mine", "done", ("knn", "trees"), "a screen", split, settings, tuple(rows)
    )
    return replace(every, metric="recall"), every, TargetTable(ceilings), TargetTable()
