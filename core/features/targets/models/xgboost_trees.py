"""xgboost: classify a cell by its target with gradient-boosted trees, from the change of its
expression."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
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
from core.features.targets.models.training import TrainingPlan, train_epochs

ROUNDS_OF_EPOCH: Final = 5
PATIENCE: Final = 4  # epochs without a better validation MRR


def _library() -> Any:
    return require_package("xgboost", "a model of gradient-boosted trees", REQUIREMENTS)


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


class _Learner:
    """Boosted trees in training, ROUNDS_OF_EPOCH rounds in an epoch."""

    def __init__(self, examples: Examples, options: Mapping[str, Any], seed: int) -> None:
        library, rows = _library(), make_class_rows(examples.fitted)
        self.held_out, self.columns, self.n_rounds = (
            examples.chosen_on,
            rows.columns,
            options["rounds"],
        )
        self.trained = library.DMatrix(rows.x, label=rows.classes, weight=rows.weights)
        self.asked = library.DMatrix(self.held_out.changes)
        parameters = {
            "objective": "multi:softprob",
            "num_class": len(rows.columns),
            "tree_method": "hist",
            "max_bin": 64,
            "max_depth": options["depth"],
            "eta": options["learning_rate"],
            "colsample_bytree": options["columns"],
            "seed": seed,
            "nthread": len(os.sched_getaffinity(0)),  # more than processors wait for each other
        }
        # It caches the margins of both from one round to the next.
        self.booster = library.Booster(parameters, [self.trained, self.asked])

    def train_epoch(self, _rng: np.random.Generator) -> float:
        """Add trees, and return the loss on the training rows."""
        done = self.booster.num_boosted_rounds()
        last = min(done + ROUNDS_OF_EPOCH, self.n_rounds)
        for number in range(done, last):
            self.booster.update(self.trained, number)
        return float(self.booster.eval(self.trained, "train", last - 1).rpartition(":")[2])

    def validate(self) -> float:
        """Return the MRR of the validation cells."""
        margins = self.booster.predict(self.asked, output_margin=True)
        margins = margins.reshape(len(self.held_out.x), -1)
        return mean_reciprocal_rank(margins, self.columns, self.held_out)

    def state(self) -> Mapping[str, int]:
        """Return the number of rounds: later ones leave the trees of earlier ones as they are."""
        return {"weights": self.booster.num_boosted_rounds()}

    def restore(self, state: Mapping[str, int]) -> None:
        """Drop the later rounds."""
        self.booster = self.booster[: state["weights"]]


def fit(
    examples: Examples, options: Mapping[str, Any], settings: FitSettings, report: Report
) -> FittedModel:
    """Return boosted trees of the number of rounds that ranks the validation cells best."""
    learner = _Learner(examples, options, settings.seed)
    n_epochs = -(-options["rounds"] // ROUNDS_OF_EPOCH)
    history = train_epochs(learner, TrainingPlan(n_epochs, PATIENCE), examples.rng, report)
    history["epoch"] = (history["epoch"] * ROUNDS_OF_EPOCH).clip(upper=options["rounds"])
    content = np.frombuffer(bytes(learner.booster.save_raw("ubj")), dtype=np.uint8)
    return FittedModel(
        "xgboost", learner.columns, {"booster_ubjson": content}, history, notes=examples.notes
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


MODEL: Final = RankingModel(
    "xgboost",
    BoostingSettings,
    fit,
    make_scorer,
    packages=("xgboost",),
)
