"""A fusion and the noise of its cuts, made ready for weights that change: the same for the app, a
command and a report.

Also the explorer's further input: weights, noise of cuts, optimism, mixes; each as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.base.records import to_json
from core.features.fuse.explorer.content import noise_of_cuts
from core.methods.cut_scores import KeptRuns, can_cut_again, fusion_protocols, percentiles_of_cut
from core.methods.fusion_components import ComponentLoader, load_components
from core.methods.fusion_settings import FusionSettings
from core.scoring.compare_runs import scores_of_cuts
from core.scoring.run_scores import RunRows
from core.stats.arrays import Codes, Floats
from core.stats.official_score import point_values
from core.stats.scores_and_labels import Outcome, outcome_of
from core.transfer.cut_priors import SEEDS
from core.transfer.fusion import Percentiles, Weights, fuse, shares_of, weights_of
from core.transfer.live_fusion import LiveFusion, live_fusion
from core.transfer.run_cells import cells_under, folds_among, with_seed


@dataclass(frozen=True, slots=True, eq=False)
class CutNoise:
    """What a fusion and its baseline score under other cuts of the folds; percentiles and cells do
    not depend on weights.

    before: DE and DIR of the baseline under each cut, of shape (n_cuts, 2). percentiles, cells: of
    each cut.
    """

    outcome: Outcome
    before: Floats
    percentiles: tuple[Percentiles, ...]
    cells: tuple[Codes | None, ...]

    def scores_at(self, weights: Weights) -> Floats:
        """Return DE and DIR of the fusion under each cut, of shape (n_cuts, 2)."""
        pairs = zip(self.percentiles, self.cells, strict=True)
        return np.array(
            [
                point_values(self.outcome, fuse(each, weights).scores(), cells)
                for each, cells in pairs
            ]
        )


def prepare_fusion(
    loader: ComponentLoader, settings: FusionSettings, baseline: RunRows
) -> LiveFusion:
    """Return the fusion of these settings, whose weights do not matter.

    baseline: the run that changes are measured against, with the rows of the base in their order.
    Raise InputError as `load_components` does.
    """
    rows, components = load_components(loader, settings)
    index = loader.index()
    positions = index.positions_of(rows["pair_id"].tolist())
    labels = index.labels[positions]
    cells = (
        cells_under(fusion_protocols(settings, loader), index, positions)
        if pd.notna(labels).any()
        else None
    )
    return live_fusion(
        labels, index.rows.take(positions), components, settings.reference, baseline.scores, cells
    )


def prepare_noise(
    loader: ComponentLoader, settings: FusionSettings, baseline: RunRows
) -> CutNoise | None:
    """Return the noise of the cuts of a fusion under folds; None without folds, or if other cuts
    cannot be known.

    baseline: as for `prepare_fusion`.
    """
    loader = KeptRuns(loader)
    protocols = fusion_protocols(settings, loader)
    if not folds_among(protocols) or not can_cut_again(settings, loader):
        return None
    before = scores_of_cuts(baseline, baseline.under(protocols), len(SEEDS))
    if before is None or len(before) != len(SEEDS):
        return None
    ids = [baseline.index.pair_ids[i] for i in baseline.positions.tolist()]
    percentiles = tuple(percentiles_of_cut(settings, ids, loader, seed) for seed in SEEDS)
    cells = tuple(
        cells_under(with_seed(protocols, seed), baseline.index, baseline.positions)
        for seed in SEEDS
    )
    return CutNoise(outcome_of(baseline.labels), before, percentiles, cells)


# Total weight of the other components for DE and for DIR, as in published entries; several
# components share it evenly.
STARTERS = {
    "base run alone": (0.0, 0.0),
    "half and half": (0.5, 0.5),
    "more weight on direction": (0.5, 0.7),
}


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of all components but the base in DE and in DIR as sliders stand, under a name."""

    name: str
    de: tuple[float, ...]
    up: tuple[float, ...]

    def weights(self) -> Weights:
        """Return the weights as they count."""
        return weights_of(shares_of(self.de), shares_of(self.up))


def starters(n_others: int) -> list[Mix]:
    """Return the mixes that every fusion has."""
    return [
        Mix(name, (w_de / n_others,) * n_others, (w_dir / n_others,) * n_others)
        for name, (w_de, w_dir) in STARTERS.items()
    ]


def noise_at(noise: CutNoise | None, weights: Weights) -> dict[str, dict[str, float]] | None:
    """Return the noise of cuts at some weights as the explorer adds it; None where it is
    unknown."""
    return None if noise is None else noise_of_cuts(noise.before, noise.scores_at(weights))


def state_of_file(
    mix: Mix, mixes: Sequence[Mix], noise: CutNoise | None, said: Mapping[str, str]
) -> dict[str, Any]:
    """Return the state of an explorer without a server: it starts at a mix, and each mix has its
    own noise of cuts.

    said: caution, rest (of `describe_rest`) and note, a sentence on how the scores were made.
    """
    return {
        "de": list(mix.de),
        "up": list(mix.up),
        "position": 0,
        "noise": noise_at(noise, mix.weights()),
        "mixes": [to_json(each) | {"noise": noise_at(noise, each.weights())} for each in mixes],
        "links": None,
        **said,
    }
