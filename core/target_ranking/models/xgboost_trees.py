"""xgboost: classify a cell by its target with gradient-boosted trees, from the change of its expression."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.fields.option import Option
from core.packages import require_package
from core.target_ranking.controls import Control, subtract_controls
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.base import REQUIREMENTS, FitSettings, RankingModel, Report, Scores, check_columns, options_of
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.models.training_cells import (
    ClassRows,
    PerturbedCells,
    choice_cells,
    flag_columns,
    make_class_rows,
    mean_reciprocal_rank,
    spread_scores,
    take_perturbed,
    take_validation,
)

NAME: Final = "xgboost"
CHECK_EVERY: Final = 5  # rounds
PATIENCE: Final = 4  # number of checks without a better validation MRR


@dataclass(frozen=True, slots=True, eq=False)
class FittedXgboost:
    """Boosted trees whose classes are the genes at the positions `columns`. See `FittedModel`. booster: of xgboost."""

    genes: tuple[str, ...]
    columns: NDArray[np.intp]
    booster: Any
    history: pd.DataFrame
    notes: tuple[str, ...] = ()
    name: str = NAME

    @property
    def rankable(self) -> NDArray[np.bool_]:
        return flag_columns(self.columns, len(self.genes))

    def score(self, x: Expression, control: Control) -> Scores:
        """Return the log-odds of each target against the others, up to a constant of the cell."""
        check_columns(self, x)
        found = self.booster.inplace_predict(subtract_controls(x, control), predict_type="margin")
        return spread_scores(np.reshape(found, (len(x), len(self.columns))), self.columns, len(self.genes))

    def save(self, folder: Path) -> None:
        content = np.frombuffer(bytes(self.booster.save_raw("ubj")), dtype=np.uint8)
        arrays: dict[str, NDArray[Any]] = {"booster_ubjson": content, "columns": self.columns.astype(np.int64)}
        write_model(folder, SavedModel(NAME, self.genes, {}, arrays, self.history, self.notes))


class Xgboost:
    """Gradient-boosted trees; the number of rounds is chosen on the validation cells."""

    name = NAME
    packages = ("xgboost",)  # beyond the app's
    about = "Gradient-boosted trees (xgboost) that classify a cell by its target; the number of rounds chosen on validation."
    options: tuple[Option, ...] = (
        Option("rounds", "int", 60, "The most rounds; each has a tree for every target.", least=1, most=10_000),
        Option("depth", "int", 4, "The depth of a tree.", least=1, most=20),
        Option("learning_rate", "float", 0.2, "The weight of each tree (learning rate).", least=1e-4, most=1),
        Option("columns", "float", 0.25, "The share of genes that a tree may use.", least=0.01, most=1),
    )

    def fit(self, train: ExpressionSet, validation: ExpressionSet, settings: FitSettings, report: Report) -> FittedXgboost:
        """See `RankingModel`."""
        options = options_of(self, settings)
        rng = np.random.default_rng(settings.seed)
        trained = take_perturbed(train, train, rng, "training")
        cells, held_out, notes = choice_cells(trained, take_validation(validation, train, rng), rng)
        rows = make_class_rows(cells)
        booster, history = _boost(rows, held_out, options | {"seed": settings.seed}, report)
        return FittedXgboost(train.genes, rows.columns, booster, history, notes)

    def load(self, folder: Path) -> FittedXgboost:
        """See `RankingModel`."""
        library = require_package("xgboost", "a model of gradient-boosted trees", REQUIREMENTS)
        saved = read_model(folder, NAME)
        booster = library.Booster()
        booster.load_model(bytearray(saved.arrays["booster_ubjson"].tobytes()))
        return FittedXgboost(saved.genes, saved.arrays["columns"].astype(np.intp), booster, saved.history, saved.notes)


def _boost(rows: ClassRows, held_out: PerturbedCells, options: dict[str, Any], report: Report) -> tuple[Any, pd.DataFrame]:
    """Return the booster of the round that ranks validation cells best, and the history of the checked rounds."""
    library = require_package("xgboost", "a model of gradient-boosted trees", REQUIREMENTS)
    known = library.DMatrix(rows.x, label=rows.classes, weight=rows.weights)
    asked = library.DMatrix(held_out.changes)
    # It caches the margins of both from one round to the next.
    booster = library.Booster(_parameters(len(rows.columns), options), [known, asked])
    history: list[dict[str, float]] = []
    best, best_rounds = -np.inf, 0
    for done in range(1, options["rounds"] + 1):
        booster.update(known, done - 1)
        if done % CHECK_EVERY and done != options["rounds"]:
            continue
        margins = booster.predict(asked, output_margin=True).reshape(len(held_out.x), -1)
        mrr = mean_reciprocal_rank(spread_scores(margins, rows.columns, rows.x.shape[1]), held_out)
        loss = float(booster.eval(known, "train", done - 1).rpartition(":")[2])
        history.append({"round": done, "train_loss": loss, "validation_mrr": mrr})
        report(done / options["rounds"], f"round {done}: validation MRR {mrr:.3f}")
        if mrr > best:
            best, best_rounds = mrr, done
        elif done - best_rounds >= PATIENCE * CHECK_EVERY:
            break
    return booster[:best_rounds], pd.DataFrame(history, dtype=np.float64)


def _parameters(n_classes: int, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "objective": "multi:softprob",
        "num_class": n_classes,
        "tree_method": "hist",
        "max_bin": 64,
        "max_depth": options["depth"],
        "eta": options["learning_rate"],
        "colsample_bytree": options["columns"],
        "seed": options["seed"],
        "nthread": len(os.sched_getaffinity(0)),  # more threads than processors wait for each other
    }


MODEL: RankingModel = Xgboost()
