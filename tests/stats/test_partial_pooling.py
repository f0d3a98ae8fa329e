"""AUROCs of groups, raw and partially pooled."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from core.stats.partial_pooling import PooledAurocs, pooled_aurocs
from core.stats.scores_and_labels import Task


def _simulated(seed: int, spread: float, groups: int = 300) -> tuple[Task, np.ndarray, np.ndarray]:
    """Rows of groups whose true AUROCs scatter around .6; the task, each row's group, and the true AUROCs."""
    rng = np.random.default_rng(seed)
    truth = np.clip(0.6 + spread * rng.normal(size=groups), 0.05, 0.95)
    sizes = rng.integers(4, 40, groups)
    group = np.repeat(np.arange(groups), sizes)
    positive = rng.random(len(group)) < 0.4
    values = rng.normal(size=len(group)) + positive * (np.sqrt(2) * ndtri(truth))[group]
    return Task(np.ones(len(group), dtype=bool), positive, values), group, truth


def _errors(found: PooledAurocs, truth: np.ndarray) -> tuple[float, float]:
    of = truth[found.group]
    return float(((found.raw - of) ** 2).mean()), float(((found.shrunken - of) ** 2).mean())


def test_raw_aurocs_are_scikit_learns_of_each_group() -> None:
    task, group, _ = _simulated(1, 0.1, 40)
    found = pooled_aurocs(task, group)
    two = [g for g in range(40) if len(set(task.positive[group == g])) == 2]
    assert found.group.tolist() == two
    assert found.one_class == 40 - len(two)
    for g, raw, positives in zip(found.group, found.raw, found.positives, strict=True):
        inside = group == g
        assert raw == pytest.approx(roc_auc_score(task.positive[inside], task.values[inside]))
        assert positives == task.positive[inside].sum()


@pytest.mark.parametrize("spread", [0.05, 0.15])
def test_pooled_aurocs_are_closer_to_the_truth_and_their_limits_hold_it(spread: float) -> None:
    raw, shrunken, held, spreads = [], [], [], []
    for seed in range(8):
        task, group, truth = _simulated(seed, spread)
        found = pooled_aurocs(task, group)
        for errors, one in zip((raw, shrunken), _errors(found, truth), strict=True):
            errors.append(one)
        of = truth[found.group]
        held.append(((found.low <= of) & (of <= found.high)).mean())
        spreads.append(found.spread)
    assert np.mean(shrunken) < (0.35 if spread == 0.05 else 0.75) * np.mean(raw)
    assert np.mean(spreads) == pytest.approx(spread, abs=0.03)
    assert 0.92 <= np.mean(held) <= 0.985


def test_groups_that_scatter_by_chance_alone_are_all_drawn_to_the_mean() -> None:
    task, group, _ = _simulated(3, 0.0)
    found = pooled_aurocs(task, group)
    assert found.raw.std() > 0.1
    assert np.ptp(found.shrunken) < 0.2
    assert found.by_chance > 0.85


def test_chance_is_the_scatter_of_the_mann_whitney_statistic_at_a_half() -> None:
    rng = np.random.default_rng(4)
    group, positive = np.repeat(np.arange(400), 9), np.tile([True] * 3 + [False] * 6, 400)
    found = pooled_aurocs(Task(np.ones(3600, dtype=bool), positive, rng.normal(size=3600)), group)
    assert found.chance == pytest.approx(np.sqrt((3 + 6 + 1) / (12 * 3 * 6)), abs=0.003)
    assert found.raw.std() == pytest.approx(found.chance[0], rel=0.1)


def test_only_pairs_inside_a_cell_count() -> None:
    positive = np.array([True, False, True, False])
    task = Task(np.ones(4, dtype=bool), positive, np.array([1.0, 0.0, 0.0, 1.0]))
    group, cells = np.zeros(4, dtype=np.intp), np.array([0, 0, 1, 1])
    assert pooled_aurocs(task, group, cells).raw.tolist() == [0.5]
    assert pooled_aurocs(task, group, np.array([0, 0, 1, 2])).raw.tolist() == [1.0]


def test_without_a_group_of_both_classes_there_is_nothing() -> None:
    found = pooled_aurocs(Task(np.ones(2, dtype=bool), np.ones(2, dtype=bool), np.zeros(2)), np.array([0, 1]))
    assert (len(found.raw), found.one_class) == (0, 2)
    assert np.isnan([found.mean, found.spread, found.by_chance]).all()
