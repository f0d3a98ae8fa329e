"""The baselines of a split, as on a small cell line."""

from __future__ import annotations

from collections.abc import Sequence

from core.base.result import LabelMarks, Result
from core.features.perturbqa.baselines.split import SplitBaselines, load_published_scores
from core.features.perturbqa.baselines.table import Reach, Share
from core.scoring.baselines import Baseline, BaselineScore, OnCovered
from core.stats.delong import Estimate
from core.stats.intervals import normal_interval


def _score(macro: float, micro: float, genes: int = 12) -> BaselineScore:
    def estimate(value: float) -> Estimate:
        interval = normal_interval(value, 0.02**2, 60, "row", "an example")
        return Estimate(interval, interval, interval, interval, interval)

    return BaselineScore(estimate(macro), estimate(micro), genes)


def examples() -> Sequence[Result]:
    none = _score(float("nan"), 0.55, 0)
    text = Baseline(
        "text kNN",
        _score(0.641, 0.6),
        none,
        "200 columns",
        OnCovered(50, 60, _score(0.66, 0.62), None),
    )
    baselines = (
        Baseline("constant", _score(0.5, 0.5), _score(0.5, 0.5)),
        text,
        Baseline("edge", None, None, lacks="a network"),
    )
    full = SplitBaselines(
        "k562",
        "test",
        1060,
        baselines,
        (Reach("network", Share(5, 6), Share(2, 10), Share(10, 60)),),
        ("a pack",),
        load_published_scores().of("k562"),
        LabelMarks(confounded=2),
    )
    none_covered = SplitBaselines(
        "toy", "train", 60, (Baseline("constant", none, none),), (), (), ()
    )
    return full, none_covered
