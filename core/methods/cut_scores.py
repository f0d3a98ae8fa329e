"""What a run that is made from labels records of its evaluation: its protocols, and its scores
under ten cuts of the folds.

How perturbations and genes are cut into folds is part of a score's noise: ten cuts vary by some
hundredths in DIR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from core.base.errors import NotFound, StateError
from core.base.types import JsonObject
from core.methods.fusion_components import (
    ComponentLoader,
    DatasetPriors,
    SourceRun,
    load_components,
)
from core.methods.fusion_settings import FusionSettings, read_fusion_settings
from core.stats.official_score import point_values
from core.stats.scores_and_labels import outcome_of
from core.transfer.cut_priors import SEEDS
from core.transfer.fusion import Percentiles, fuse, percentiles_of
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, read_knn_settings
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex
from core.transfer.run_cells import (
    cells_of_cuts,
    cut_values,
    distinct_protocols,
    folds_among,
    protocols_of,
)


def evaluate_knn(
    settings: KnnSettings, pair_ids: Sequence[str], loader: ComponentLoader
) -> JsonObject:
    """Return the evaluation of a kNN, as `core.base.types.RunRecord.evaluation` holds it."""
    values: list[list[float]] = []
    if settings.protocol.kind == "folds":
        found = loader.predict_knn(settings, pair_ids)
        values = cut_values(found.inputs, found.labels, settings.protocol.k).tolist()
    return _record([settings.protocol], values)


def evaluate_fusion(
    settings: FusionSettings, pair_ids: Sequence[str], loader: ComponentLoader
) -> JsonObject:
    """Return the evaluation of a fusion, as `core.base.types.RunRecord.evaluation` holds it.

    The cuts are unknown if a run that is fused saw labels by folds and cannot be made again here.
    """
    loader = KeptRuns(loader)
    protocols = fusion_protocols(settings, loader)
    values: list[list[float]] = []
    if folds_among(protocols) and can_cut_again(settings, loader):
        index, weights = loader.index(), settings.weights()
        positions = index.positions_of(pair_ids)
        outcome = outcome_of(index.labels[positions])
        of_cuts = zip(SEEDS, cells_of_cuts(protocols, index, positions, SEEDS), strict=True)
        try:
            for seed, cells in of_cuts:
                fused = fuse(percentiles_of_cut(settings, pair_ids, loader, seed), weights)
                values.append([*point_values(outcome, fused.scores(), cells)])
        # a space that was deleted or changed: other cuts cannot be known any more
        except (NotFound, StateError):
            values = []
    return _record(protocols, values)


def fusion_protocols(
    settings: FusionSettings, loader: ComponentLoader
) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols that keep labels away from the parts of a fusion."""
    found: list[EvaluationProtocol] = []
    for part in (settings.base, *settings.others):
        found += (
            [part.protocol]
            if isinstance(part, KnnSettings)
            else protocols_of(loader.run(part), _finder(loader))
        )
    return distinct_protocols(found)


def can_cut_again(settings: FusionSettings, loader: ComponentLoader) -> bool:
    """Return whether every part of a fusion that saw labels by folds can be made by another cut."""
    return all(
        isinstance(part, KnnSettings) or _is_made_again(loader.run(part), loader)
        for part in (settings.base, *settings.others)
    )


def percentiles_of_cut(
    settings: FusionSettings, pair_ids: Sequence[str], loader: ComponentLoader, seed: int
) -> Percentiles:
    """Return the percentiles of every part of a fusion on these rows of its base, if the folds were
    cut with this seed."""
    rows, components = load_components(CutLoader(loader, seed), settings)
    order = pd.Index(rows["pair_id"]).get_indexer(pair_ids)
    return percentiles_of(components, settings.reference).take(order)


def _record(protocols: Sequence[EvaluationProtocol], cuts: list[list[float]]) -> JsonObject:
    used = [asdict(each) for each in distinct_protocols(protocols)]
    return {"protocols": used, "cuts": cuts if np.isfinite(cuts).all() else []}


class KeptRuns:
    """Loads components as another loader does, every run and its rows once: all of the cuts ask for
    the same."""

    def __init__(self, loader: ComponentLoader) -> None:
        self.dataset_id, self.run, self.predictions = (
            loader.dataset_id,
            cache(loader.run),
            cache(loader.predictions),
        )
        self.index, self.priors, self.predict_knn = loader.index, loader.priors, loader.predict_knn
        self.contents = loader.contents


@dataclass(frozen=True, slots=True)
class CutLoader:
    """Loads components as another loader does, with every kNN under folds, and fusions of it,
    computed with another cut."""

    loader: ComponentLoader
    seed: int

    @property
    def dataset_id(self) -> str:
        return self.loader.dataset_id

    def run(self, name: str) -> SourceRun:
        return self.loader.run(name)

    def predictions(self, run: str) -> pd.DataFrame:
        """Return a run's rows; p_de and p_up_given_de are NaN where the other cut has none."""
        found, frame = self.loader.run(run), self.loader.predictions(run)
        if found.method == "knn" and read_knn_settings(found.spec).protocol.kind == "folds":
            priors = self.priors(read_knn_settings(found.spec), frame["pair_id"].tolist())
            return frame.assign(p_de=priors.de, p_up_given_de=priors.up)
        if found.method == "fusion":
            settings_of_fusion = read_fusion_settings(found.spec["options"])
            _, components = load_components(self, settings_of_fusion)
            percentiles = percentiles_of(components, settings_of_fusion.reference)
            fused = fuse(percentiles, settings_of_fusion.weights())
            return frame.assign(p_de=fused.p_de, p_up_given_de=fused.p_up)
        return frame

    def index(self) -> RowIndex:
        return self.loader.index()

    def priors(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> Priors:
        return self.loader.priors(_with_seed(settings, self.seed), pair_ids)

    def predict_knn(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> DatasetPriors:
        return self.loader.predict_knn(_with_seed(settings, self.seed), pair_ids)

    def contents(self, settings: KnnSettings) -> Mapping[str, Any]:
        return self.loader.contents(settings)


def _with_seed(settings: KnnSettings, seed: int) -> KnnSettings:
    """Return the settings with another cut of the folds, if they cut any."""
    if settings.protocol.kind != "folds":
        return settings
    return replace(settings, protocol=replace(settings.protocol, seed=seed))


def _is_made_again(run: SourceRun, loader: ComponentLoader) -> bool:
    """Return whether another cut of a run can be made here: it saw no labels by folds, or it is a
    kNN or fused from some."""
    if run.method == "knn":
        return True
    if run.method == "fusion":
        return all(
            parent is not None and _is_made_again(parent, loader)
            for parent in map(_finder(loader), run.parents)
        )
    return not folds_among(protocols_of(run, _finder(loader)))


def _finder(loader: ComponentLoader) -> Callable[[str], SourceRun | None]:
    def find(run: str) -> SourceRun | None:
        try:
            return loader.run(run)
        except NotFound:
            return None

    return find
