"""A fusion and the noise of its cuts, made ready for weights that change: the same for the app, a command and a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.methods.cut_scores import KeptRuns, can_cut_again, fusion_protocols, percentiles_of_cut
from core.methods.fusion_components import ComponentLoader, load_components
from core.methods.fusion_settings import FusionSettings
from core.scoring.compare_runs import scores_of_cuts
from core.scoring.run_scores import RunRows
from core.stats.arrays import Codes, Floats
from core.stats.official_score import point_values
from core.stats.scores_and_labels import Outcome, outcome_of
from core.transfer.cut_priors import SEEDS
from core.transfer.fusion import Percentiles, Weights, fuse
from core.transfer.live_fusion import LiveFusion, live_fusion
from core.transfer.run_cells import cells_under, folds_among, with_seed


@dataclass(frozen=True, slots=True, eq=False)
class CutNoise:
    """What a fusion and its baseline score under other cuts of the folds; percentiles and cells do not depend on weights.

    before: DE and DIR of the baseline under each cut, of shape (n_cuts, 2). percentiles, cells: of each cut.
    """

    outcome: Outcome
    before: Floats
    percentiles: tuple[Percentiles, ...]
    cells: tuple[Codes | None, ...]

    def scores_at(self, weights: Weights) -> Floats:
        """DE and DIR of the fusion under each cut, of shape (n_cuts, 2)."""
        pairs = zip(self.percentiles, self.cells, strict=True)
        return np.array([point_values(self.outcome, fuse(each, weights).scores(), cells) for each, cells in pairs])


def prepare_fusion(loader: ComponentLoader, settings: FusionSettings, baseline: RunRows) -> LiveFusion:
    """The fusion of these settings, whose weights do not matter. baseline: the run that changes are measured against, with the
    rows of the base in their order. Raises InputError as `load_components` does.
    """
    rows, components = load_components(loader, settings)
    index = loader.index()
    at = index.positions_of(rows["pair_id"].tolist())
    labels = index.labels[at]
    cells = cells_under(fusion_protocols(settings, loader), index, at) if pd.notna(labels).any() else None
    return live_fusion(labels, index.rows.take(at), components, settings.reference, baseline.scores, cells)


def prepare_noise(
    loader: ComponentLoader, settings: FusionSettings, baseline: RunRows, progress: Callable[[float], object] = lambda _: None
) -> CutNoise | None:
    """The noise of the cuts of a fusion under folds; None without folds, or if other cuts cannot be known.

    baseline: as for `prepare_fusion`. progress: is called after each cut, with the share that is done.
    """
    loader = KeptRuns(loader)
    protocols = fusion_protocols(settings, loader)
    if not folds_among(protocols) or not can_cut_again(settings, loader):
        return None
    before = scores_of_cuts(baseline, baseline.under(protocols), len(SEEDS))
    if before is None or len(before) != len(SEEDS):
        return None
    ids = [baseline.index.pair_ids[i] for i in baseline.positions.tolist()]
    percentiles: list[Percentiles] = []
    for seed in SEEDS:
        percentiles.append(percentiles_of_cut(settings, ids, loader, seed))
        progress(len(percentiles) / len(SEEDS))
    cells = tuple(cells_under(with_seed(protocols, seed), baseline.index, baseline.positions) for seed in SEEDS)
    return CutNoise(outcome_of(baseline.labels), before, tuple(percentiles), cells)
