"""Saved trees predict exactly what scikit-learn's do."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from core.features.targets.models.random_forest import predict_shares, tree_arrays


def test_predictions_equal_scikit_learns_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 12)).astype(np.float32)
    x[:, 3] = np.round(x[:, 3])  # values that lie on thresholds
    classes = (x[:, 0] > 0) + 2 * (x[:, 1] > 0.5) + (x[:, 3] > 0)
    forest = RandomForestClassifier(20, min_samples_leaf=2, random_state=0, n_jobs=1).fit(
        x, classes, rng.uniform(0.5, 1, 400)
    )
    asked = np.round(rng.normal(size=(300, 12)), 1).astype(np.float32)
    assert (predict_shares(tree_arrays(forest), asked) == forest.predict_proba(asked)).all()


def test_a_tree_that_is_a_single_leaf() -> None:
    x, classes = np.zeros((6, 2), dtype=np.float32), np.array([0, 0, 0, 1, 1, 1])
    forest = RandomForestClassifier(3, random_state=0, n_jobs=1).fit(x, classes)
    assert (predict_shares(tree_arrays(forest), x) == forest.predict_proba(x)).all()
