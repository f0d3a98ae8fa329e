"""What a replicate of a screen says of the rows of a dataset, as scores: its statistics where it keeps them, else its labels."""

from __future__ import annotations

import numpy as np

from core.actions.cells import screen_folder
from core.actions.training_distance import effects_of_rows
from core.actions.workspace import Workspace
from core.scoring.run_scores import RunRows
from core.scoring.score_scale import RunScale, scale_run
from core.scoring.sensitivity import labels_of_pairs
from core.stats.scores_and_labels import Scores
from core.store import datasets
from core.transfer.row_index import RowIndex
from core.types import Label

_OF_LABEL = {Label.UP: (1.0, 1.0), Label.DOWN: (1.0, 0.0), Label.NONE: (0.0, 0.5)}
_LEAST_P = 1e-300


def scale_to_replicate(workspace: Workspace, rows: RunRows, replicate: str, seed: int = 0) -> RunScale:
    """Return a run's score between no biology and a replicate, a dataset of the same pairs.

    Raise what `scale_run` and `replicate_scores` raise.
    """
    return scale_run(rows, replicate, replicate_scores(workspace, replicate, rows.index), seed)


def replicate_scores(workspace: Workspace, dataset: str, index: RowIndex) -> Scores:
    """Return the scores that a dataset (name or id) of the same pairs gives the rows of another, NaN where it has none.

    Of one that was made of cells: −log10 p for an effect, with the sign of the change for the direction; of any other: 1 for up
    and down, 0 for none. Raise NotFound, StoreDamaged.
    """
    with workspace.store.read() as db:
        found = datasets.find(db, dataset)
        labels = labels_of_pairs(db, dataset, index)
    folder = screen_folder(workspace, found)
    if folder.is_whole:
        effects = effects_of_rows(folder.statistics(), index)
        strength = -np.log10(np.maximum(effects["p"].to_numpy(dtype=np.float64), _LEAST_P))
        return Scores(strength, strength * np.sign(effects["log2_fc"].to_numpy(dtype=np.float64)))
    values = np.array([_OF_LABEL.get(label, (np.nan, np.nan)) for label in labels], dtype=np.float64)
    return Scores(values[:, 0], values[:, 1])
