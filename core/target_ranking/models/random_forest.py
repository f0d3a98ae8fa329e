"""random_forest: classify a cell by its target, from the change of its expression.

The trees are arrays, which predict exactly the same as scikit-learn's and can be saved without a pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.fields.option import Option
from core.target_ranking.controls import Control, subtract_controls
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.base import FitSettings, RankingModel, Report, Scores, check_columns, options_of
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.models.training_cells import (
    choice_cells,
    flag_columns,
    make_class_rows,
    mean_reciprocal_rank,
    spread_scores,
    take_perturbed,
    take_validation,
)


@dataclass(frozen=True, slots=True, eq=False)
class TreeArrays:
    """The nodes of all trees, one tree after the other.

    roots: the first node of each tree, of shape (n_trees,). feature: the column that a node tests; -1 at a leaf. threshold: a
    cell goes left if its value is at most this. left, right: nodes. leaf: the row of `shares` for a leaf. shares: of the
    classes in a leaf, of shape (n_leaves, n_classes).
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf: NDArray[np.int32]
    shares: NDArray[np.float64]

    @classmethod
    def of_forest(cls, forest: Any) -> Self:
        """Return the trees of a fitted RandomForestClassifier with one output."""
        trees = [each.tree_ for each in forest.estimators_]
        sizes = [tree.node_count for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        is_leaf = np.concatenate([tree.children_left < 0 for tree in trees])
        left, right = (
            np.concatenate([np.where(side < 0, 0, side + root) for side, root in zip(sides, roots, strict=True)]).astype(np.int32)
            for sides in ([tree.children_left for tree in trees], [tree.children_right for tree in trees])
        )
        feature = np.concatenate([tree.feature for tree in trees])
        shares = np.concatenate([tree.value[tree.children_left < 0, 0, :] for tree in trees])
        return cls(
            roots,
            np.where(is_leaf, -1, feature).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            left,
            right,
            (np.cumsum(is_leaf) - 1).astype(np.int32),
            shares,
        )

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the trees from the result of `arrays`."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def predict(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean over trees of the class shares in a cell's leaf, of shape (n_cells, n_classes), as in scikit-learn."""
        total = np.zeros((len(x), self.shares.shape[1]))
        for root in self.roots:
            total += self.shares[self.leaf[self._find_leaves(x, int(root))]]
        total /= len(self.roots)
        return total

    def _find_leaves(self, x: NDArray[np.float32], root: int) -> NDArray[np.int32]:
        """Return the leaf node of each cell in one tree; all cells go down one level at a time."""
        nodes = np.full(len(x), root, dtype=np.int32)
        moving = np.arange(len(x))
        while len(moving := moving[self.feature[nodes[moving]] >= 0]):
            at = nodes[moving]
            goes_left = x[moving, self.feature[at]] <= self.threshold[at]
            nodes[moving] = np.where(goes_left, self.left[at], self.right[at])
        return nodes


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
        """Return the probability of each target: the mean over trees of its share in the cell's leaf."""
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
        from sklearn.ensemble import RandomForestClassifier  # imported here because few processes fit a model

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
