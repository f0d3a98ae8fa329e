"""The published table of target ranking, and what of it can be compared with ours."""

from __future__ import annotations

from typing import Final

import pandas as pd

from core.target_ranking.metrics import MRR

MODELS: Final = ("scGPT", "pca_knn", "random_forest", "xgboost")
SOURCE: Final = "the published comparison of target rankings on the screen of Norman et al. 2019"
_AT_K: Final = {
    "exact_hit": {
        1: (0, 0, 0, 0),
        5: (0.0526, 0.1053, 0.0789, 0.0789),
        10: (0.0963, 0.1053, 0.1316, 0.1053),
        20: (0.2123, 0.1053, 0.1842, 0.1842),
        40: (0.3476, 0.1053, 0.1842, 0.1842),
    },
    "relevant_hit": {
        1: (0.1039, 0.3158, 0.2105, 0.2368),
        5: (0.2922, 0.4211, 0.4737, 0.4211),
        10: (0.4155, 0.4211, 0.5, 0.5),
        20: (0.5731, 0.4211, 0.5, 0.5526),
        40: (0.6828, 0.4211, 0.5263, 0.5526),
    },
    "recall": {
        1: (0.052, 0.1579, 0.1053, 0.1184),
        5: (0.1631, 0.2632, 0.2763, 0.25),
        10: (0.2492, 0.2632, 0.3158, 0.3026),
        20: (0.3927, 0.2632, 0.3421, 0.3684),
        40: (0.5152, 0.2632, 0.3553, 0.3684),
    },
}
_MRR: Final = (0.1975, 0.3602, 0.3232, 0.3323)
_OF_BASELINES: Final = {"unit": "condition", "rows": 38, "split": "hard", "mask": "strongest"}
WORK: Final = {
    "scGPT": {"unit": "cell", "rows": 5369, "split": "compositional", "mask": "none"},
    "pca_knn": _OF_BASELINES,
    "random_forest": _OF_BASELINES,
    "xgboost": _OF_BASELINES,
}
NOT_COMPARABLE: Final = (
    "The transformer (scGPT) was scored on 5,369 single cells of the compositional split, without a mask; the three others on 38 "
    "averaged conditions of the hard split, with a mask. Their columns answer different questions.",
    "In the hard split 17 of 38 test conditions perturb no gene that was ever trained. A model that ranks only trained genes "
    "reaches at most 21/38 = .5526 relevant hits, 14/38 = .3684 recall and 7/38 = .1842 exact hits, which is where xgboost "
    "stands at k = 40.",
    "A row of ours compares with a published one only on the same cells, split, mask and unit. How the published rankings break "
    "ties is not stated.",
)


def published_table() -> pd.DataFrame:
    """Returns one row for each metric, k and model; columns: model, metric, k (NaN for mrr), value, unit, rows, split, mask."""
    at_k = [
        (model, metric, k, value)
        for metric, by_k in _AT_K.items()
        for k, values in by_k.items()
        for model, value in zip(MODELS, values, strict=True)
    ]
    mrr = [(model, MRR, None, value) for model, value in zip(MODELS, _MRR, strict=True)]
    table = pd.DataFrame([*at_k, *mrr], columns=["model", "metric", "k", "value"])
    work = pd.DataFrame([{"model": model, **WORK[model]} for model in MODELS])
    return table.merge(work, on="model", how="left", validate="many_to_one").astype({"k": "float64", "value": "float64"})


def what_differs(unit: str, kind: str, mask: str) -> dict[str, str]:
    """Returns, for each published model, in what its work differs from work of this unit, split and mask; "" if in nothing."""
    ours = {"unit": unit, "split": kind, "mask": mask}
    return {
        model: ", ".join(f"{name} {work[name]}, not {value}" for name, value in ours.items() if work[name] != value)
        for model, work in WORK.items()
    }
