"""The score of a run by the distance of its rows to the training rows, over a space or the network of a workspace."""

from __future__ import annotations

from core.actions import packs
from core.actions.component_loader import load_spaces
from core.actions.workspace import Workspace
from core.errors import NotFound
from core.scoring.distance_scores import NETWORK, DistanceScores, score_by_network, score_by_space
from core.scoring.run_scores import RunRows
from core.store import datasets, spaces
from core.transfer.training_distance import Axis


def list_distances(workspace: Workspace, dataset: str) -> list[str]:
    """What the distance can be measured in for a dataset (id): spaces that know no labels, and NETWORK if there is one."""
    with workspace.store.read() as db:
        free = [space.name for space in spaces.list_all(db) if space.built_from is None]
        organism = datasets.find(db, dataset).organism
    return [*free, *([NETWORK] if packs.name_of_latest(workspace, "network", organism) else [])]


def score_by_distance(workspace: Workspace, rows: RunRows, by: str, axis: Axis) -> DistanceScores:
    """The score by distance; by: a name of `list_distances`. Raises NotFound without such a network, space or file."""
    with workspace.store.read() as db:
        dataset = datasets.find(db, rows.run.dataset)
    if by != NETWORK:
        return score_by_space(rows, load_spaces(workspace, rows.index, dataset, [by])[0], axis)
    network = {name: sha256 for name, sha256 in packs.pack_hashes(workspace, dataset.organism).items() if name == "edges"}
    edges = packs.read_packs(workspace, network).edges
    if edges is None:
        raise NotFound(f"network: none of {dataset.organism or 'this organism'} in this workspace; expected an imported one")
    return score_by_network(rows, edges, axis)
