"""More scores of a run: of each gene or perturbation, of three classes, by distance to the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.actions.replicate_scores import scale_to_replicate
from core.actions.training_distance import Labels, label_at_thresholds, list_distances, score_by_distance
from core.scoring.abstaining import Curves
from core.scoring.abstaining import abstain_curves as _abstain_curves
from core.scoring.class_scores import ClassScores
from core.scoring.class_scores import score_classes as _score_classes
from core.scoring.distance_scores import DistanceScores
from core.scoring.group_scores import GroupScores
from core.scoring.group_scores import score_groups as _score_groups
from core.scoring.other_scores import Metric
from core.scoring.score_scale import RunScale
from core.scoring.sensitivity import labels_of_pairs as _labels_of_pairs
from core.stats.within_axis import Axis
from core.store import pairs
from core.ui.shared.loaders.cache import cache_by, reading
from core.ui.shared.loaders.scores import scored_rows
from core.ui.shared.loaders.spaces import row_index
from core.ui.shared.server_workspace import read_workspace


@cache_by("run:{0}", "datasets", entries=20)
def group_scores(run: str, axis: Axis, metric: Metric) -> GroupScores:
    """Return the AUROC of each gene or perturbation of a run."""
    return _score_groups(scored_rows(run), axis, metric)


@cache_by("run:{0}", "datasets", entries=12)
def class_scores(run: str) -> ClassScores:
    """Return a run's scores as three classes."""
    return _score_classes(scored_rows(run))


@cache_by("run:{0}", "datasets", entries=12)
def abstain_curves(run: str) -> Curves:
    """Return a run's risk against coverage."""
    return _abstain_curves(scored_rows(run))


@cache_by("datasets", entries=8)
def labels_of_pairs(dataset: str, other: str) -> NDArray[np.object_]:
    """Return another dataset's (name) labels of the rows of a dataset (id), None if it has none."""
    index = row_index(dataset)
    with reading() as db:
        return _labels_of_pairs(db, other, index)


@cache_by("datasets", entries=4)
def labels_at_thresholds(dataset: str) -> Labels:
    """Return the labels of the rows of a dataset (id) at other thresholds; empty unless it was made from cells."""
    return label_at_thresholds(read_workspace(), dataset, row_index(dataset))


@cache_by("datasets", entries=8)
def datasets_sharing(dataset: str) -> list[tuple[str, int]]:
    """Return the other datasets with labels of a dataset's (id) labelled pairs: name, number of pairs."""
    with reading() as db:
        return pairs.datasets_sharing(db, dataset)


@cache_by("run:{0}", "datasets", entries=12)
def run_scale(run: str, replicate: str) -> RunScale:
    """Return a run's score between no biology and a replicate (a dataset's name)."""
    return scale_to_replicate(read_workspace(), scored_rows(run), replicate)


@cache_by("datasets", "spaces", entries=20)
def distances(dataset: str) -> list[str]:
    """Return the spaces in which distances to the training rows can be measured."""
    return list_distances(read_workspace(), dataset)


@cache_by("run:{0}", "datasets", "spaces", entries=12)
def distance_scores(run: str, by: str, axis: Axis) -> DistanceScores:
    """Return a run's score by distance to the training rows."""
    return score_by_distance(read_workspace(), scored_rows(run), by, axis)
