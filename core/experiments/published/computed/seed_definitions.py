"""The direction score of a pool with several seeds per row, by ten definitions of the ranked value.

The tenth is from the published entry's own program (`build_cross_fusion_submission.py`). It adds 1e-9 to the sum of two
probabilities, which is often smaller, so confident answers of no change are ranked only by their P(up).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.published.sources import Computed, NotHere, Sources
from core.stats.arrays import Floats
from core.stats.auroc import auroc
from core.stats.ranks import percentiles
from core.store import Cursor, traces

OFFICIAL = "up / (up + down) of the means over seeds"
PROGRAM = "up / (up + down + 1e-9) of the means"


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return the DIR of the official definition; the note has the DIR of all ten.

    wanted: pool (a source); larger: another pool, used to try the program's definition if the first pool is missing. NotHere is
    then raised with its effect there.
    """
    try:
        sources.find(wanted["pool"])
    except NotHere as error:
        scores = _scores(sources, wanted["larger"])
        n = len(sources.run_rows(wanted["larger"]))
        raise NotHere(
            f"{error}. Its program ranks by {PROGRAM}, which on the {n:,} rows of the larger pool moves DIR from "
            f"{scores[OFFICIAL]:.4f} to {scores[PROGRAM]:.4f}"
        ) from error
    scores = _scores(sources, wanted["pool"])
    listed = "; ".join(f"{name} {score:.4f}" for name, score in scores.items())
    given = [name for name, score in scores.items() if abs(score - wanted["sought"]) < wanted["within"]]
    said = f"{' and '.join(given)} gives it" if given else f"none of {len(scores)} definitions gives {wanted['sought']:g}"
    return Computed(scores[OFFICIAL], f"{said}: {listed}")


def _scores(sources: Sources, pool: str) -> dict[str, float]:
    """Return the DIR of a pool by each definition."""
    rows = sources.run_rows(pool)
    up, down = sources.read(lambda db: _by_seed(db, rows.run.id, rows.frame["pair_id"].tolist()))
    outcome = rows.arrays.outcome
    return {name: auroc(outcome.up[outcome.directed], values[outcome.directed]) for name, values in definitions(up, down).items()}


def definitions(up: Floats, down: Floats) -> dict[str, Floats]:
    """Return the ranked values of ten definitions, each of shape (n_rows,). up, down: of shape (n_rows, n_seeds)."""
    mean_up, mean_down, total = up.mean(axis=1), down.mean(axis=1), up + down
    share = np.divide(up, total, out=np.full_like(up, 0.5), where=total > 0)
    changed = total > 0.5
    n = changed.sum(axis=1)
    answers_up, answers_down = (up > 0.5).sum(axis=1), (down > 0.5).sum(axis=1)
    of_changed = np.divide((share * changed).sum(axis=1), n, out=np.full(len(n), 0.5), where=n > 0)
    odds = np.log(np.maximum(up, 1e-300)) - np.log(np.maximum(down, 1e-300))
    return {
        OFFICIAL: mean_up / np.where(mean_up + mean_down > 0, mean_up + mean_down, 1.0),
        PROGRAM: mean_up / (mean_up + mean_down + 1e-9),
        "up − down": mean_up - mean_down,
        "up": mean_up,
        "1 − down": 1 - mean_down,
        "mean over seeds of up / (up + down)": share.mean(axis=1),
        "mean over seeds of log(up / down)": odds.mean(axis=1),
        "mean over seeds of the rank of up / (up + down)": np.mean([percentiles(each) for each in share.T], axis=0),
        "mean over the seeds that answer a change": of_changed,
        "answers up − answers down": (answers_up - answers_down).astype(np.float64),
    }


def _by_seed(db: Cursor, run: str, ids: list[str]) -> tuple[Floats, Floats]:
    """Return prediction up and down of each row under each seed, of shape (n_rows, n_seeds); an unreadable answer is a third."""
    frame = traces.answers_by_seed(db, run)
    found = [
        frame.pivot(index="pair_id", columns="stage", values=name).reindex(ids).fillna(1 / 3).to_numpy(dtype=np.float64)
        for name in ("prediction_up", "prediction_down")
    ]
    return found[0], found[1]
