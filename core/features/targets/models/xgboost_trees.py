"""xgboost: classify a cell by its target with gradient-boosted trees, from the change of its
expression."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd
from annotated_types import Ge, Le
from numpy.typing import NDArray

from core.base.errors import require_package
from core.base.fields.setting import setting
from core.features.targets.expression import Expression, MatchedControls
from core.features.targets.metrics import mean_reciprocal_rank
from core.features.targets.models.base import (
    REQUIREMENTS,
    Examples,
    FitSettings,
    FittedModel,
    RankingModel,
    Report,
    Scorer,
    make_class_rows,
)

PATIENCE: Final = 20  # rounds without a better validation MRR


@dataclass(frozen=True)
class BoostingSettings:
    """The options of boosted trees."""

    rounds: Annotated[
        int, Ge(1), Le(10_000), setting("The most rounds; each has a tree for every target.")
    ] = 60
    depth: Annotated[int, Ge(1), Le(20), setting("The depth of a tree.")] = 4
    learning_rate: Annotated[
        float, Ge(1e-4), Le(1), setting("The weight of each tree (learning rate).")
    ] = 0.2
    columns: Annotated[
        float, Ge(0.01), Le(1), setting("The share of genes that a tree may use.")
    ] = 0.25


def fit(
    examples: Examples, options: Mapping[str, Any], settings: FitSettings, report: Report
) -> FittedModel:
    """Return boosted trees of the number of rounds that ranks the validation cells best."""
    library, rows = _library(), make_class_rows(examples.fitted)
    held_out, mrrs = examples.chosen_on, dict[str, Any]()
    report(0.0, f"at most {options['rounds']} rounds")

    def score_rankings(scores: NDArray[Any], _asked: object) -> tuple[str, float]:
        by_cell = scores.reshape(len(held_out.x), -1)
        return "mrr", mean_reciprocal_rank(by_cell, rows.columns, held_out)

    booster = library.train(
        {
            "objective": "multi:softprob",
            "num_class": len(rows.columns),
            "tree_method": "hist",
            "max_bin": 64,
            "max_depth": options["depth"],
            "eta": options["learning_rate"],
            "colsample_bytree": options["columns"],
            "seed": settings.seed,
            "nthread": len(os.sched_getaffinity(0)),  # more than processors wait for each other
            "disable_default_eval_metric": True,
        },
        library.DMatrix(rows.x, label=rows.classes, weight=rows.weights),
        options["rounds"],
        evals=[(library.DMatrix(held_out.changes), "validation")],
        custom_metric=score_rankings,
        maximize=True,
        early_stopping_rounds=PATIENCE,
        evals_result=mrrs,
        verbose_eval=False,
    )
    history = pd.DataFrame({"validation_mrr": mrrs["validation"]["mrr"]})
    history.insert(0, "epoch", history.index + 1.0)
    best = booster[: booster.best_iteration + 1]
    content = np.frombuffer(bytes(best.save_raw("ubj")), dtype=np.uint8)
    return FittedModel(
        "xgboost", rows.columns, {"booster_ubjson": content}, history, notes=examples.notes
    )


def make_scorer(fitted: FittedModel) -> Scorer:
    """Return a function for the log-odds of each target against the others, up to a constant of the
    cell."""
    booster = _library().Booster()
    booster.load_model(bytearray(fitted.arrays["booster_ubjson"].tobytes()))

    def score(x: Expression, controls: MatchedControls) -> NDArray[Any]:
        margins = booster.inplace_predict(x - controls.means(), predict_type="margin")
        return np.reshape(margins, (len(x), len(fitted.columns)))

    return score


def _library() -> Any:
    return require_package("xgboost", "a model of gradient-boosted trees", REQUIREMENTS)


MODEL: Final = RankingModel(
    "xgboost",
    BoostingSettings,
    fit,
    make_scorer,
    packages=("xgboost",),
)
