"""random_forest: classify a cell by its target, from the change of its expression.

The trees are arrays, which predict exactly the same as scikit-learn's and can be saved without a
pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from core.base.fields.setting import Count, setting
from core.features.targets.models.base import (
    Arrays,
    Examples,
    FitSettings,
    FittedModel,
    RankingModel,
    Report,
    Scorer,
    make_class_rows,
)


@dataclass(frozen=True)
class ForestSettings:
    """The options of a random forest."""

    trees: Annotated[int, Ge(1), Le(10_000), setting("How many trees.")] = 100
    leaf: Annotated[Count, setting("The fewest training rows in a leaf.")] = 5


def fit(
    examples: Examples, options: Mapping[str, Any], settings: FitSettings, report: Report
) -> FittedModel:
    """Return scikit-learn's random forest as arrays."""
    # imported here because few processes fit a model
    from sklearn.ensemble import RandomForestClassifier

    rows, n_trees = make_class_rows(examples.fitted), options["trees"]
    report(0.0, f"{n_trees} trees")
    forest = RandomForestClassifier(
        n_trees, min_samples_leaf=options["leaf"], random_state=settings.seed, n_jobs=-1
    ).fit(rows.x, rows.classes, rows.weights)
    return FittedModel("random_forest", rows.columns, tree_arrays(forest), notes=examples.notes)


def make_scorer(fitted: FittedModel) -> Scorer:
    """Return a function for the probability of each target: the mean over trees of its share in the
    cell's leaf."""
    return lambda x, controls: predict_shares(fitted.arrays, x - controls.means())


def tree_arrays(forest: Any) -> dict[str, NDArray[Any]]:
    """Return the nodes of all trees of a RandomForestClassifier, one tree after the other.

    roots: the first node of each tree. feature: the column that a node tests; negative at a leaf.
    threshold: a cell goes left if its value is at most this. left, right: nodes. leaf: the row of
    `shares` for a leaf. shares: of the classes in a leaf, of shape (n_leaves, n_classes).
    """
    trees = [each.tree_ for each in forest.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
    offsets = [*zip(trees, roots, strict=True)]
    feature = np.concatenate([tree.feature for tree in trees])
    return {
        "roots": roots,
        "feature": feature,
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "left": np.concatenate([tree.children_left + root for tree, root in offsets]),
        "right": np.concatenate([tree.children_right + root for tree, root in offsets]),
        "leaf": np.cumsum(feature < 0) - 1,
        "shares": np.concatenate([tree.value[tree.feature < 0, 0, :] for tree in trees]),
    }


def predict_shares(trees: Arrays, x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean over trees of the class shares in a cell's leaf, of shape (n_cells,
    n_classes), as in scikit-learn. All cells go down one level at a time."""
    total, cells = np.zeros((len(x), trees["shares"].shape[1])), np.arange(len(x))
    for root in trees["roots"]:
        nodes = np.full(len(x), root)
        while (feature := trees["feature"][nodes]).max(initial=-1) >= 0:
            goes_left = x[cells, feature] <= trees["threshold"][nodes]
            below = np.where(goes_left, trees["left"][nodes], trees["right"][nodes])
            nodes = np.where(feature >= 0, below, nodes)
        total += trees["shares"][trees["leaf"][nodes]]
    return np.asarray(total / len(trees["roots"]))


MODEL: Final = RankingModel(
    "random_forest",
    ForestSettings,
    fit,
    make_scorer,
)
