"""Mean contributions of groups of rows against plain loops, a jackknife, and data in which nothing differs."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.arguments.worth import contribution_difference, contributions, mean_difference
from core.stats.auroc import auroc
from core.stats.scores_and_labels import Task
from tests.stats.oracles import contribution

N = 80


def drawn(seed: int = 0, n: int = N) -> tuple[Task, np.ndarray, np.ndarray]:
    """A task with ties and rows that do not count, cells, and a group."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    task = Task(rng.random(n) < 0.9, positive, np.round(rng.normal(size=n) + 0.5 * positive, 1))
    return task, rng.integers(0, 3, n), rng.random(n) < 0.3


def by_loop(task: Task, cells: np.ndarray, i: int, without: int = -1) -> float:
    return contribution(i, task.positive, task.values, task.rows, cells, without)


def test_contributions_equal_a_loop_and_their_mean_the_auroc() -> None:
    task, cells, _ = drawn()
    found = contributions(task, cells)
    for i in range(N):
        assert (
            np.isnan(found[i])
            if not task.rows[i]
            else found[i] == pytest.approx(by_loop(task, cells, i))
        )
    over_all = contributions(task, None)
    value = auroc(task.positive[task.rows], task.values[task.rows])
    for positive in (True, False):
        assert over_all[task.rows & (task.positive == positive)].mean() == pytest.approx(value)


def test_the_difference_and_its_row_interval_equal_a_jackknife() -> None:
    """Leaving out each row in turn, from its group and from what others are ranked against."""
    task, cells, yes = drawn(1)
    rows = np.arange(N)
    found = contribution_difference(task, cells, yes, ~yes, rows, rows)

    def difference(without: int) -> float:
        of = {
            i: by_loop(task, cells, i, without) for i in range(N) if task.rows[i] and i != without
        }
        return float(
            np.mean([v for i, v in of.items() if yes[i]])
            - np.mean([v for i, v in of.items() if not yes[i]])
        )

    assert found.change.value == pytest.approx(difference(-1))
    left_out = np.array([difference(i) for i in range(N)])
    n = int(task.rows.sum())
    jackknife = np.sqrt((n - 1) / n * ((left_out - found.change.value) ** 2).sum())
    assert found.change.row.se == pytest.approx(jackknife, rel=0.05)
    assert (found.yes.n, found.no.n, found.change.n) == (
        int((yes & task.rows).sum()),
        int((~yes & task.rows).sum()),
        n,
    )


def test_intervals_hold_0_where_groups_do_not_differ() -> None:
    """100 data sets whose groups are drawn at random: 95% of the intervals hold 0, give or take 3 standard errors (.065)."""
    held = 0
    for seed in range(100):
        task, _, yes = drawn(seed, 200)
        change = contribution_difference(
            task, None, yes, ~yes, np.arange(200), np.arange(200)
        ).change.row
        held += change.low <= 0 <= change.high
    assert held / 100 == pytest.approx(0.95, abs=0.065)


def test_a_mean_difference_is_that_of_two_means() -> None:
    values = np.array([1.0, 0.0, 1.0, np.nan, 0.0, 0.0, 1.0, 0.0])
    yes = np.array([True, True, True, True, False, False, False, False])
    rows = np.arange(8)
    found = mean_difference(values, yes, ~yes, rows, rows)
    assert (found.yes.value, found.no.value, found.yes.n, found.no.n) == (
        pytest.approx(2 / 3),
        0.25,
        3,
        4,
    )
    assert found.change.value == pytest.approx(2 / 3 - 1 / 4)
    # s²/n of each group: (2/9)·(3/2)/3 + (3/16)·(4/3)/4
    assert found.change.row.se == pytest.approx(np.sqrt(2 / 18 + 3 / 48))
    empty = mean_difference(values, yes & False, ~yes, rows, rows)
    assert np.isnan(empty.yes.value)
    assert np.isnan(empty.change.value)
    assert empty.no.value == 0.25
