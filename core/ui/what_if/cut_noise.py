"""The noise of the cut of folds in What-if's intervals: the same fusion under ten cuts, made once while weights move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.methods.cut_scores import can_cut_again, percentiles_of_cut
from core.scoring.compare_runs import scores_of_cuts
from core.stats.arrays import Codes, Floats
from core.stats.official_score import point_values
from core.stats.scores_and_labels import outcome_of
from core.store.runs import Run
from core.transfer.cut_priors import SEEDS
from core.transfer.fusion import Percentiles, fuse
from core.transfer.run_cells import cells_under, with_seed
from core.ui.shared import loaders
from core.ui.shared.cached_components import CachedComponents
from core.ui.what_if import fusion_controls
from core.ui.what_if.fusion_controls import FusionChoice

_CUTS = "_cuts"  # session key: the cuts of the fusion on screen
_BASELINE = "_cuts_of_baseline"  # session key: its scores under them, which weights do not change either


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Each cut's percentiles and cells; they do not depend on the weights. Empty if other cuts cannot be made."""

    percentiles: tuple[Percentiles, ...]
    cells: tuple[Codes | None, ...]


def kept_cuts(choice: FusionChoice) -> Cuts | None:
    """The cuts of this choice, if they were made before; None if not."""
    kept: tuple[Any, Cuts] | None = st.session_state.get(_CUTS)
    return kept[1] if kept is not None and kept[0] == fusion_controls.key_of(choice) else None


def make_cuts(choice: FusionChoice) -> Cuts:
    """The cuts of this choice, kept for the next run of the page."""
    loader, settings = CachedComponents(choice.dataset), choice.settings()
    cuts = Cuts((), ())
    if can_cut_again(settings, loader):
        ids = loaders.run_rows(choice.base.id)["pair_id"].tolist()
        index, protocols = loader.index(), fusion_controls.protocols_of(choice)
        positions = index.positions_of(ids)
        cuts = Cuts(
            tuple(percentiles_of_cut(settings, ids, loader, seed) for seed in SEEDS),
            tuple(cells_under(with_seed(protocols, seed), index, positions) for seed in SEEDS),
        )
    st.session_state[_CUTS] = fusion_controls.key_of(choice), cuts
    return cuts


def scores_under(choice: FusionChoice, baseline: Run, cuts: Cuts) -> tuple[Floats, Floats] | None:
    """DE and DIR of the baseline and of the fusion under each cut, each of shape (n_cuts, 2); None if they are not known."""
    before = _scores_of_baseline(choice, baseline, len(cuts.cells))
    return None if before is None or len(before) != len(cuts.cells) else (before, _scores(choice, cuts))


def _scores_of_baseline(choice: FusionChoice, baseline: Run, n_cuts: int) -> Floats | None:
    """DE and DIR of the baseline under each cut, of shape (n_cuts, 2), computed once; None if they are not known."""
    key = fusion_controls.key_against(choice, baseline)
    kept: tuple[Any, Floats | None] | None = st.session_state.get(_BASELINE)
    if kept is not None and kept[0] == key:
        return kept[1]
    rows = fusion_controls.rows_of_baseline(choice, baseline)
    found = scores_of_cuts(rows, rows.under(fusion_controls.protocols_of(choice)), n_cuts)
    st.session_state[_BASELINE] = key, found
    return found


def _scores(choice: FusionChoice, cuts: Cuts) -> Floats:
    """DE and DIR under each cut at the weights of the choice, of shape (n_cuts, 2)."""
    outcome, weights = outcome_of(loaders.scored_rows(choice.base.id).labels), choice.settings().weights()
    pairs = zip(cuts.percentiles, cuts.cells, strict=True)
    return np.array([point_values(outcome, fuse(percentiles, weights).scores(), cells) for percentiles, cells in pairs])
