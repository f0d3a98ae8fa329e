"""Which runs that a fusion was made of are constant inside its cells, in words."""

from __future__ import annotations

import numpy as np

from core.scoring.run_scores import RunRows, load_scored_rows
from core.stats.arrays import Floats
from core.store import runs
from core.store.connection import Cursor
from core.store.runs import Run
from core.transfer.constant_components import constant_sentences, find_constant_components


def constant_parents(db: Cursor, fused: Run) -> list[str]:
    """Return one sentence for each number of a component that changes no order in a cell of the fusion.

    Components that were deleted since are left out.
    """
    rows, here = load_scored_rows(db, fused.id), runs.statuses(db)
    parts = [load_scored_rows(db, parent) for parent in fused.parents if parent in here]
    de, up = ([_on_rows(part, column, rows) for part in parts] for column in ("p_de", "p_up"))
    return constant_sentences(find_constant_components(de, up, rows.cells), [part.run.name for part in parts])


def _on_rows(part: RunRows, column: str, rows: RunRows) -> Floats:
    """The numbers of a run on the rows of another, NaN where it covers none."""
    everywhere = np.full(len(rows.index.pair_ids), np.nan)
    everywhere[part.positions] = np.where(part.covered, getattr(part.scores, column), np.nan)
    return everywhere[rows.positions]
