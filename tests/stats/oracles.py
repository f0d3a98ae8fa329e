"""Slow, independent ways to the same numbers: every pair is looked at, one after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score


def wins(positive: np.ndarray, values: np.ndarray) -> np.ndarray:
    """1, 1/2 or 0 for every positive (row) against every negative (column), in their order among the rows."""
    difference = values[positive][:, None] - values[~positive][None, :]
    return np.where(difference > 0, 1.0, np.where(difference == 0, 0.5, 0.0))


def delong_covariance(positive: np.ndarray, scores: list[np.ndarray]) -> np.ndarray:
    """DeLong et al. 1988, equations 4 to 6: S10 / m + S01 / n over all pairs of scores."""
    tables = [wins(positive, values) for values in scores]
    v10, v01 = [t.mean(axis=1) for t in tables], [t.mean(axis=0) for t in tables]
    m, n = tables[0].shape
    return np.atleast_2d(np.cov(v10)) / m + np.atleast_2d(np.cov(v01)) / n


def obuchowski_variance(positive: np.ndarray, values: np.ndarray, clusters: np.ndarray) -> float:
    """Obuchowski 1997, section 2: sums of the components over clusters, S10, S01 and S11 apart."""
    table = wins(positive, values)
    theta, (m, n) = table.mean(), table.shape
    v10, v01 = table.mean(axis=1), table.mean(axis=0)
    sums = []
    for cluster in sorted(set(clusters.tolist())):
        mine, others = clusters[positive] == cluster, clusters[~positive] == cluster
        sums.append(
            (
                mine.sum(),
                v10[mine].sum() - mine.sum() * theta,
                others.sum(),
                v01[others].sum() - others.sum() * theta,
            )
        )
    i10, i01, i = sum(s[0] > 0 for s in sums), sum(s[2] > 0 for s in sums), len(sums)
    s10 = i10 / ((i10 - 1) * m) * sum(s[1] ** 2 for s in sums)
    s01 = i01 / ((i01 - 1) * n) * sum(s[3] ** 2 for s in sums)
    s11 = i / (i - 1) * sum(s[1] * s[3] for s in sums)
    return s10 / m + s01 / n + 2 * s11 / (m * n)


@st.composite
def scored_rows(
    draw: st.DrawFn, runs: int = 1, least: int = 2
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Flags with at least `least` rows of each class, and some runs' scores on a coarse grid: heavy ties."""
    n = draw(st.integers(2 * least, 40))
    flags = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    positive = np.array([True] * least + [False] * least + flags[2 * least :])
    grid = st.lists(st.integers(0, 8), min_size=n, max_size=n)
    return positive, [np.array(draw(grid)) / 8 for _ in range(runs)]


def some_rows(
    rng: np.random.Generator, n: int = 200, levels: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, a DE score and a DIR score with ties, all related."""
    labels = rng.choice(["up", "down", "none"], n, p=[0.3, 0.2, 0.5])
    de = np.round((rng.random(n) + 0.3 * (labels != "none")) * levels) / levels
    up = np.round((rng.random(n) + 0.3 * (labels == "up")) * levels) / levels
    return labels, de, up


def contribution(
    i: int,
    positive: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    cells: np.ndarray | None = None,
    without: int = -1,
) -> float:
    """The share of the rows of the other class in its cell that row i is ranked correctly against; NaN where there is none."""
    against = [
        j
        for j in range(len(values))
        if counts[j]
        and positive[j] != positive[i]
        and (cells is None or cells[j] == cells[i])
        and j != without
    ]
    sign = 1 if positive[i] else -1
    won = [(np.sign(sign * (values[i] - values[j])) + 1) / 2 for j in against]
    return float(np.mean(won)) if won and counts[i] else np.nan


def pairs_won(
    positive: np.ndarray, values: np.ndarray, cells: np.ndarray | None = None
) -> tuple[float, float]:
    """Pairs won and pairs inside cells, by scikit-learn's AUROC of each cell."""
    won = pairs = 0.0
    for cell in (
        [np.ones_like(positive)] if cells is None else [cells == one for one in np.unique(cells)]
    ):
        n = positive[cell].sum() * (~positive[cell]).sum()
        if n:
            won, pairs = won + n * roc_auc_score(positive[cell], values[cell]), pairs + n
    return won, pairs
