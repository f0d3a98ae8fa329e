"""random_forest: trees that classify a cell by its target, from the change of its expression."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.fields.option import Option
from core.target_ranking.controls import Control, subtract_controls
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.base import FitSettings, RankingModel, Report, Scores, check_columns, options_of
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.models.target_classes import flag_columns, make_class_rows, spread_scores
from core.target_ranking.models.training_cells import choice_cells, mean_reciprocal_rank, take_perturbed, take_validation
from core.target_ranking.models.tree_arrays import TreeArrays

NAME: Final = "random_forest"


@dataclass(frozen=True, slots=True, eq=False)
class FittedForest:
    """A forest whose classes are the genes at the positions `columns`. See `FittedModel`."""

    genes: tuple[str, ...]
    columns: NDArray[np.intp]
    trees: TreeArrays
    history: pd.DataFrame
    notes: tuple[str, ...] = ()
    name: str = NAME

    @property
    def rankable(self) -> NDArray[np.bool_]:
        return flag_columns(self.columns, len(self.genes))

    def score(self, x: Expression, control: Control) -> Scores:
        """The probability of each target, the mean over trees of its share in the cell's leaf."""
        check_columns(self, x)
        return spread_scores(self.trees.predict(subtract_controls(x, control)), self.columns, len(self.genes))

    def save(self, folder: Path) -> None:
        arrays = {**self.trees.arrays(), "columns": self.columns.astype(np.int64)}
        write_model(folder, SavedModel(NAME, self.genes, {}, arrays, self.history, self.notes))


class RandomForest:
    """scikit-learn's random forest."""

    name = NAME
    about = "A random forest (scikit-learn) that classifies a cell by its target, from the change of its expression."
    options: tuple[Option, ...] = (
        Option("trees", "int", 100, "How many trees.", least=1, most=10_000),
        Option("leaf", "int", 5, "The fewest training rows in a leaf.", least=1),
    )

    def fit(self, train: ExpressionSet, validation: ExpressionSet, settings: FitSettings, report: Report) -> FittedForest:
        """See `RankingModel`."""
        from sklearn.ensemble import RandomForestClassifier  # imported here, since few processes fit a model

        options = options_of(self, settings)
        rng = np.random.default_rng(settings.seed)
        trained = take_perturbed(train, train, rng, "training")
        cells, held_out, notes = choice_cells(trained, take_validation(validation, train, rng), rng)
        rows = make_class_rows(cells)
        report(0.0, f"{options['trees']} trees")
        forest = RandomForestClassifier(
            options["trees"], min_samples_leaf=options["leaf"], random_state=settings.seed, n_jobs=-1
        ).fit(rows.x, rows.classes, rows.weights)
        found = FittedForest(train.genes, rows.columns, TreeArrays.of_forest(forest), pd.DataFrame(), notes)
        mrr = mean_reciprocal_rank(found.score(held_out.x, held_out.controls), held_out)
        history = pd.DataFrame({"trees": [float(options["trees"])], "validation_mrr": [mrr]})
        return FittedForest(found.genes, found.columns, found.trees, history, found.notes)

    def load(self, folder: Path) -> FittedForest:
        """See `RankingModel`."""
        saved = read_model(folder, NAME)
        columns = saved.arrays["columns"].astype(np.intp)
        return FittedForest(saved.genes, columns, TreeArrays.of_arrays(saved.arrays), saved.history, saved.notes)


MODEL: RankingModel = RandomForest()
