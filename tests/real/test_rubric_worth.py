"""What three arguments are worth on the published labelled pool, against a computation of its own by loops over all pairs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Rubric
from core.features.arguments.worth import MEASURES, ArgumentWorth, load_outcomes, rubric_worth
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows

pytestmark = pytest.mark.real
POOL = "track_a_logprobs_train2499"
PATTERNS = {
    "names-a-pathway": r"\b(?:NF-?κ?kB|MAPK|JAK|STAT\d|mTOR|PI3K|Wnt|TGF|interferon|TLR\d?)",
    "names-the-usual-direction": r"(?:knockdown|loss|depletion)[^.\n]{0,80}\b(?:reduce|decrease|lower|downregulat)",
    "says-no-evidence": r"\bno (?:direct |clear |known |strong )?(?:evidence|link|connection)",
}


@pytest.fixture(scope="module")
def pool(shared_data: Path) -> pd.DataFrame:
    """The labelled pool as it was published, with its traces."""
    table = pd.read_csv(shared_data / "perturbagent" / f"{POOL}.zip", keep_default_na=False)
    train = pd.read_csv(shared_data / "challenge" / "train.csv", keep_default_na=False)
    return table.merge(train, on="id", validate="1:1").reset_index(drop=True)


@pytest.fixture(scope="module")
def found(real_workspace: Workspace) -> dict[str, ArgumentWorth]:
    tried = [
        Rubric(name, "Does it?", unit="row", pattern=pattern) for name, pattern in PATTERNS.items()
    ]
    with real_workspace.store.read() as db:
        rows = load_scored_rows(db, POOL)
        texts = rubric_tables.texts(db, rows.run.id, tried[0])
        outcomes = load_outcomes(db, rows)
    answers = [(each, answer_by_pattern(each, texts)) for each in tried]
    return {each.rubric: each for each in rubric_worth(rows, outcomes, answers).rubrics}


def answer_by_pattern(rubric: Rubric, texts: pd.DataFrame) -> pd.DataFrame:
    said = texts["content"].str.contains(re.compile(rubric.pattern, re.IGNORECASE))
    return texts[["pair_id", "seq"]].assign(answer=np.where(said, "yes", "no"), p=np.nan)


@dataclass(frozen=True)
class Plain:
    """A difference of means and its standard error, and the clusters of Student's t."""

    n_yes: int
    n_no: int
    change: float
    se: float
    clusters: int

    @property
    def p(self) -> float:
        return float(2 * stats.t.sf(abs(self.change) / self.se, self.clusters - 1))


def plain_difference(
    pool: pd.DataFrame, values: np.ndarray, wins: np.ndarray | None, yes: np.ndarray
) -> Plain:
    """By the influence of every row: as a member of its group and, with `wins`, as one that others are compared with.

    values: NaN for rows that do not count. wins: of shape (n_rows, n_rows), how row i does against j, NaN where they do not meet.
    """
    known = ~np.isnan(values)
    influence = np.zeros(len(values))
    means, counts = [], []
    for group, sign in ((yes & known, 1), (~yes & known, -1)):
        mean = values[group].mean()
        means.append(mean)
        counts.append(int(group.sum()))
        influence[group] += sign * (values[group] - mean) / group.sum()
        if wins is not None:
            met = (~np.isnan(wins[group])).sum(axis=1)[:, None]
            influence += (
                sign * np.nansum((wins[group] - values[group][:, None]) / met, axis=0) / group.sum()
            )
    by_axis = {
        axis: (pd.Series(influence).groupby(pool[axis]).sum() ** 2).sum()
        for axis in ("pert", "gene")
    }
    row = (influence**2).sum()
    two_way = by_axis["pert"] + by_axis["gene"] - row
    clusters = min(
        pool.loc[group & known, axis].nunique()
        for group in (yes, ~yes)
        for axis in ("pert", "gene")
    )
    return Plain(
        *counts, means[0] - means[1], float(np.sqrt(max(two_way, row, *by_axis.values()))), clusters
    )


def plain_wins(positive: np.ndarray, counts: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """1 where row i stands on the right side of row j of the other class, .5 where they tie, NaN where they do not meet."""
    order = np.where(positive, 1, -1)[:, None] * (scores[:, None] - scores[None, :])
    meet = counts[:, None] & counts[None, :] & (positive[:, None] != positive[None, :])
    return np.where(meet, (np.sign(order) + 1) / 2, np.nan)


def plain_measures(pool: pd.DataFrame, pattern: str) -> dict[str, Plain]:
    up, down = (pool[name].to_numpy().round(14) for name in ("prediction_up", "prediction_down"))
    label = pool["label"].to_numpy()
    none = 1 - pool["prediction_up"] - pool["prediction_down"]
    call = np.where(none >= np.maximum(up, down), "none", np.where(up >= down, "up", "down"))
    traces = [
        pool[name].str.contains(pattern, case=False, regex=True)
        for name in pool
        if name.startswith("reasoning_trace")
    ]
    said = np.any(traces, axis=0)
    found = {"hit_rate": plain_difference(pool, (call == label).astype(float), None, said)}
    p_de = (pool["prediction_up"] + pool["prediction_down"]).to_numpy()
    p_up = np.divide(pool["prediction_up"], p_de, out=np.zeros(len(pool)), where=p_de > 0)
    tasks = {
        "de": (label != "none", label != "", p_de),
        "dir": (label == "up", label != "none", p_up),
    }
    for key, (positive, counts, scores) in tasks.items():
        wins = plain_wins(positive, counts, np.asarray(scores, dtype=float).round(14))
        with np.errstate(invalid="ignore"):
            values = np.nansum(wins, axis=1) / (~np.isnan(wins)).sum(axis=1)
        found[key] = plain_difference(pool, values, wins, said)
    return found


@pytest.mark.soak
def test_worth_equals_a_plain_computation_and_holm_a_plain_correction(
    pool: pd.DataFrame, found: dict[str, ArgumentWorth]
) -> None:
    expected = {name: plain_measures(pool, pattern) for name, pattern in PATTERNS.items()}
    for name, measures in expected.items():
        worth = found[name]
        assert worth.unread == 0
        assert worth.yes["n"] + worth.no["n"] == len(pool) == 2499  # type: ignore[operator]
        for key, plain in measures.items():
            ours, groups = worth.delta[key], (worth.yes[key], worth.no[key])
            assert [each.n for each in groups] == [plain.n_yes, plain.n_no], (name, key)  # type: ignore[union-attr]
            assert ours.estimate == pytest.approx(plain.change, abs=1e-12)
            factors = 1 / (
                plain.clusters - 1
            )  # ours has I / (I - 1) for each group and axis, I its clusters
            assert plain.se <= ours.se <= plain.se * (1 + factors)
            assert ours.clusters == plain.clusters
            assert worth.p[key] == pytest.approx(plain.p, abs=0.02)
    p = sorted((found[name].p[key], name, key) for name in PATTERNS for key in MEASURES)
    least = 0.0
    for rank, (value, name, key) in enumerate(p):
        least = max(least, min(1.0, value * (len(p) - rank)))
        assert found[name].p_holm[key] == pytest.approx(least)
