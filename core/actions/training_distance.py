"""The score of a run by the distance of its rows to the training rows, over a space or the network of a workspace.

Other labels of the rows of a dataset: those that a screen has at other thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.actions import packs
from core.actions.cells import screen_folder
from core.actions.component_loader import load_spaces
from core.actions.workspace import Workspace
from core.cells.labels import Thresholds
from core.cells.other_thresholds import label_effects, vary_thresholds
from core.errors import InputError, NotFound
from core.scoring.distance_scores import NETWORK, DistanceScores, score_by_network, score_by_space
from core.scoring.run_scores import RunRows
from core.stats.arrays import Codes
from core.store import datasets, spaces
from core.transfer.row_index import RowIndex
from core.transfer.training_distance import Axis

Labels = Mapping[str, NDArray[np.object_]]  # by their name, of shape (n_rows,), None if there is none


def list_distances(workspace: Workspace, dataset: str) -> list[str]:
    """Return the spaces in which a dataset's (id) distances can be measured: those made without labels, and NETWORK if there is
    one.
    """
    with workspace.store.read() as db:
        free = [space.name for space in spaces.list_all(db) if space.built_from is None]
        organism = datasets.find(db, dataset).organism
    return [*free, *([NETWORK] if packs.name_of_latest(workspace, "network", organism) else [])]


def score_by_distance(workspace: Workspace, rows: RunRows, by: str, axis: Axis) -> DistanceScores:
    """Return the score by distance; by: a name of `list_distances`. Raise NotFound without such a network, space or file."""
    with workspace.store.read() as db:
        dataset = datasets.find(db, rows.run.dataset)
    if by != NETWORK:
        return score_by_space(rows, load_spaces(workspace, rows.index, dataset, [by])[0], axis)
    network = {name: sha256 for name, sha256 in packs.pack_hashes(workspace, dataset.organism).items() if name == "edges"}
    edges = packs.read_packs(workspace, network).edges
    if edges is None:
        raise NotFound(f"network: none of {dataset.organism or 'this organism'} in this workspace; expected an imported one")
    return score_by_network(rows, edges, axis)


def label_at_thresholds(
    workspace: Workspace, dataset: str, index: RowIndex, fdr: Iterable[float] = (), log2_fc: Iterable[float] = ()
) -> Labels:
    """Return the labels that the rows of a dataset (id) have at other thresholds, as `vary_thresholds` names these.

    Empty for a dataset that was not made of cells or a table of changes, for which asking for thresholds is an InputError. Raise
    StoreDamaged.
    """
    fdr, log2_fc = tuple(fdr), tuple(log2_fc)
    with workspace.store.read() as db:
        found = datasets.find(db, dataset)
    folder = screen_folder(workspace, found)
    if not folder.is_whole:
        if fdr or log2_fc:
            raise InputError(f"{found.name}: has no statistics of its labels; expected a dataset made by `cells labels`")
        return {}
    own = Thresholds(**folder.record()["settings"]["thresholds"])
    effects = effects_of_rows(folder.statistics(), index)
    return {name: label_effects(effects, each) for name, each in vary_thresholds(own, fdr, log2_fc).items()}


def effects_of_rows(effects: pd.DataFrame, index: RowIndex) -> pd.DataFrame:
    """Return the effects of the rows, in their order; NaN for a row that has none."""
    place = {symbol: i for i, symbol in enumerate(index.symbols)}
    pert, gene = (_codes(effects[axis], place) for axis in ("pert", "gene"))
    n = len(place) + 1
    known = pd.Series(np.arange(len(effects)), pert * n + gene)
    at = known[~known.index.duplicated()].reindex(index.rows.pert * n + index.rows.gene)
    return effects.drop(columns=["pert", "gene"]).reindex(at.to_numpy())


def _codes(column: pd.Series, place: Mapping[str, int]) -> Codes:
    """Return the places of symbols; all that have none share the last one."""
    of_category = np.array([place.get(name, len(place)) for name in column.cat.categories], dtype=np.intp)
    return of_category[column.cat.codes.to_numpy()]
