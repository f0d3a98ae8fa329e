"""The trees of a random forest as arrays, which predict exactly what scikit-learn's do and can be saved without a pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class TreeArrays:
    """The nodes of all trees, one tree behind the other.

    roots: of shape (n_trees,), the node that each tree starts from. feature: the column that a node asks; -1 at a leaf.
    threshold: a cell goes left if its value is at most this. left, right: nodes. leaf: at a leaf its row of `shares`. shares: of
    the classes in a leaf, of shape (n_leaves, n_classes).
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
        """The trees of a fitted RandomForestClassifier with one output."""
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
        """The trees that `arrays` returned."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def predict(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """The mean over trees of the shares in a cell's leaf, of shape (n_cells, n_classes), as scikit-learn's predict_proba."""
        total = np.zeros((len(x), self.shares.shape[1]))
        for root in self.roots:
            total += self.shares[self.leaf[self._find_leaves(x, int(root))]]
        total /= len(self.roots)
        return total

    def _find_leaves(self, x: NDArray[np.float32], root: int) -> NDArray[np.int32]:
        """The node of the leaf that each cell comes to in one tree; all cells go down a level at a time."""
        nodes = np.full(len(x), root, dtype=np.int32)
        moving = np.arange(len(x))
        while len(moving := moving[self.feature[nodes[moving]] >= 0]):
            at = nodes[moving]
            goes_left = x[moving, self.feature[at]] <= self.threshold[at]
            nodes[moving] = np.where(goes_left, self.left[at], self.right[at])
        return nodes
