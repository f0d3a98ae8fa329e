"""The results of What-if: scores of the fusion, and its weight grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError
from core.plots import rank_scatter, weight_heatmap
from core.scoring import terms
from core.scoring.run_scores import Headline, score_run
from core.scoring.sentences import TWO_WAY, UNSEEN, axes_text, genes_text, interval_text
from core.stats.intervals import p_gt_0
from core.stats.official_score import ScoreIntervals
from core.stats.ranks import ranks_from_top
from core.stats.row_changes import agreement
from core.stats.scores_and_labels import Scores
from core.stats.selection_optimism import Optimism
from core.store.runs import Run
from core.texts import number_text
from core.transfer import weight_grid
from core.transfer.live_fusion import FusionComparison, LiveFusion
from core.transfer.run_cells import describe_scoring, folds_among
from core.ui.shared import loaders, score_box, shell, space_numbers
from core.ui.shared.background import Progress, Result, background
from core.ui.shared.widgets import as_text, flush, show_figure
from core.ui.what_if import cut_noise, fusion_controls
from core.ui.what_if.at_rest import draw_at_rest
from core.ui.what_if.fusion_controls import FusionChoice

_SEARCHES, _MAX_SEARCHES = "_tuned", 8  # session key: the weight searches that were shown last
MOST_ROWS_AT_ONCE = 20_000  # of which the optimism takes seconds; of more it is computed while the page goes on
_P_BETTER = "The probability that the fusion is better than the baseline, by the interval that is shown."
_SCORED = {
    "folds": UNSEEN,
    "loo": "biased if all genes are about equally similar: base claims on folds",
}


@dataclass(frozen=True, slots=True)
class WeightSearch:
    """The weight grid of a component, how to ask for the optimism of choosing on it, and the live kNN's own score.

    None of them changes while only that component's weights move.
    """

    grid: weight_grid.WeightGrid
    ask_optimism: Callable[[], Result]
    knn_sentence: str


def show_comparison(place: DeltaGenerator, choice: FusionChoice, baseline: Run) -> tuple[LiveFusion, FusionComparison]:
    """Show the fusion against its baseline in a container: by its scores, or by ranks without labels. Returns both."""
    prepared = fusion_controls.prepare_fusion(choice, baseline)
    found = prepared.score_at(choice.settings().weights())
    if choice.labelled:
        _show_numbers_in(place, choice, found, baseline)
    else:
        with place.container():
            _show_agreement(choice, found)
    return prepared, found


def _show_numbers_in(place: DeltaGenerator, choice: FusionChoice, found: FusionComparison, baseline: Run) -> None:
    """Show the numbers in a container, at once, and again when their intervals know the noise of the cuts.

    What stands there stays until it is replaced: an emptied place would let the page jump at each move of a slider.
    """
    if not folds_among(fusion_controls.protocols_of(choice)):
        with place.container():
            _show_numbers(choice, found, baseline)
        return
    cuts = cut_noise.kept_cuts(choice)
    if cuts is None:
        place = place.empty()
        with place.container():
            _show_numbers(choice, found, baseline)
        cuts = cut_noise.make_cuts(choice)
    with place.container():
        _show_numbers(choice, cut_noise.add_noise(found, choice, baseline, cuts), baseline, "score-with-noise")
    flush()


def _show_numbers(choice: FusionChoice, found: FusionComparison, baseline: Run, key: str = "score") -> None:
    """Show DE, DIR and mean with intervals and how they were scored, and the change against the baseline.

    key: another one where one run of the page shows them twice.
    """
    scored = describe_scoring(fusion_controls.protocols_of(choice))
    after = ScoreIntervals(found.n, found.n_labelled, found.n_de, found.de.after, found.dir.after, found.mean.after, scored)
    score_box.show_score(after, key)
    change = found.mean.change
    st.markdown(
        f"**Change of the mean {interval_text(change.shown, signed=True)}** against {as_text(baseline.name)} · "
        f"P(better) {p_gt_0(change.shown):.2f}",
        help=_P_BETTER,
    )
    folded = choice.knn.protocol.kind if choice.knn is not None else "folds" if "cells" in scored else ""
    said = f"Interval {axes_text(change.shown)}; by rows alone {interval_text(change.row, signed=True)}. Scored {scored}"
    said += f": {_SCORED[folded]}" if folded in _SCORED else ""
    st.caption(as_text(said), help=terms.explain(said))


def show_caveats(choice: FusionChoice, prepared: LiveFusion, search: WeightSearch | None) -> None:
    """Show what the numbers must be read with: what is in the intervals, and what the neighbours score by themselves."""
    if prepared.cells is not None:
        st.caption("The intervals include how much the numbers vary over ten cuts of the folds.")
    if search is not None and search.knn_sentence:
        sentence = f"{search.knn_sentence[0].upper()}{search.knn_sentence[1:]}."
        st.caption(as_text(sentence), help=terms.explain(sentence))
    task = fusion_controls.live_knn_task(choice) if search is not None else None
    if task is not None:
        space_numbers.show_sentence(task, "Neighbours alone")


def show_remarks(choice: FusionChoice, found: FusionComparison) -> None:
    """Show how the numbers were made."""
    uncovered = int(found.fused.uncovered.sum())
    parts = [f"{choice.base.name}, {found.n:,} rows"]
    if choice.knn is not None:
        parts.append(f"Neighbours: {choice.knn.describe()}")
    if uncovered:
        parts.append(f"Rows that lack a component, scored by the others: {uncovered:,}")
    parts.append(
        "Ranked among these rows: a row's number depends on which other rows there are"
        if choice.reference == "population"
        else "Ranked against labelled rows: a row's number does not depend on the other rows"
    )
    st.caption(as_text(". ".join(parts) + "."))


def search_weights(choice: FusionChoice, position: int, prepared: LiveFusion, baseline: Run) -> WeightSearch | None:
    """The weight grid of the component at a position and its optimism, computed once while only its weights move.

    None with one class only.
    """
    kept: dict[Any, WeightSearch | None] = st.session_state.setdefault(_SEARCHES, {})
    held = tuple(weights[:position] + weights[position + 1 :] for weights in (choice.w_de, choice.w_dir))
    key = (fusion_controls.key_against(choice, baseline), position, held)
    if key not in kept:
        while len(kept) >= _MAX_SEARCHES:
            kept.pop(next(iter(kept)))
        weights = weight_grid.move_one(position, choice.w_de, choice.w_dir)
        try:
            grid = weight_grid.weight_grid(prepared, weights=weights)
            kept[key] = WeightSearch(grid, _ask_optimism(prepared, weights, key), fusion_controls.live_knn_sentence(choice))
        except InputError:
            kept[key] = None
    return kept[key]


def _ask_optimism(prepared: LiveFusion, weights: weight_grid.GridWeights, key: Hashable) -> Callable[[], Result]:
    """How to ask for the optimism of the weights, which is there at once unless there are many rows."""
    if len(prepared.rows) <= MOST_ROWS_AT_ONCE:
        found = Result(ready=True, value=weight_grid.weight_optimism(prepared, weights=weights))
        return lambda: found

    def compute(progress: Progress) -> Optimism:
        return weight_grid.weight_optimism(prepared, weights=weights, progress=progress)

    return lambda: background().ask(("optimism", key), compute)


def show_weight_grid(choice: FusionChoice, position: int, search: WeightSearch) -> None:
    """Show the mean over all weights of a component, and the plateau within a standard error of the best."""
    shell.draw_until_ready(lambda: _draw_weight_grid(choice, position, search), lambda: search.ask_optimism().ready)


def _draw_weight_grid(choice: FusionChoice, position: int, search: WeightSearch) -> None:
    found, asked = search.grid, search.ask_optimism()
    table = weight_heatmap.table(found.grid, found.mean, found.plateau)
    now = choice.w_de[position], choice.w_dir[position]
    best = found.grid[found.best[0]], found.grid[found.best[1]]
    name = fusion_controls.title_of(choice.others[position])
    others = " · the other components keep their weights" if len(choice.others) > 1 else ""
    caption = (
        f"{choice.dataset.name} · {choice.base.name} and {name}{others} · "
        f"best {found.mean[found.best]:.3f} at {best[0]:g}, {best[1]:g} · "
        f"outline: within one standard error of it ({found.se:.3f}, {TWO_WAY})"
    )
    optimism: Optimism | None = asked.value
    if optimism is None:
        state = "could not be" if asked.ready else "is being"
        caption += f" · how much less weights score that were chosen on other perturbations and genes {state} computed"
    elif not math.isnan(optimism.optimism):
        caption += (
            f" · weights chosen on other perturbations and genes score {number_text(optimism.optimism)} less: "
            f"mean of {optimism.cuts} cuts, {number_text(optimism.low)} to {number_text(optimism.high)}"
        )
    show_figure(weight_heatmap.figure(table, now, best, name), table, "weight-plane", f"Weights of {name}", caption)


def _show_agreement(choice: FusionChoice, found: FusionComparison) -> None:
    """Show, without labels, how far the fusion agrees with its base."""
    together = agreement(_base_scores(choice), found.fused.scores())
    st.markdown(
        f"**No labels here**, so no score: rank correlation with {as_text(choice.base.name)} is {together.de:.3f} for DE "
        f"and {together.up:.3f} for DIR. The fusion's numbers are rank scores, no probabilities."
    )


def show_rank_scatter(choice: FusionChoice, found: FusionComparison) -> None:
    """Show, without labels or with one class only, where the fusion ranks the base's rows; a fragment of its own."""

    def draw() -> tuple[pd.DataFrame, go.Figure]:
        ranks = (ranks_from_top(scores.p_de) for scores in (_base_scores(choice), found.fused.scores()))
        rows = loaders.run_rows(choice.base.id)[["pair_id", "pert", "gene", "label"]]
        moved = rows.assign(**dict(zip(("rank_a", "rank_b"), ranks, strict=True)))
        return moved, rank_scatter.figure(moved, choice.base.name, "the fusion", "the DE score")

    def show(drawn: tuple[pd.DataFrame, go.Figure]) -> None:
        moved, chart = drawn
        caption = f"{choice.base.name} and the fusion · {len(moved):,} rows · ranks of the DE score, 1 is the largest"
        show_figure(chart, moved, "mix-ranks", "Ranks before and after the fusion", caption)

    shell.fragment(lambda: draw_at_rest("ranks", (choice.base.id, choice.others), choice, draw, show))()


def show_headline(choice: FusionChoice, found: FusionComparison) -> None:
    """Show, on a dataset that is judged by averages over genes, what the fusion has there; the other numbers are pooled."""
    if choice.dataset.headline == "mean" or not choice.labelled:
        return

    def draw() -> Headline:
        rows = replace(loaders.scored_rows(choice.base.id), scores=found.fused.scores())
        return score_run(rows.under(fusion_controls.protocols_of(choice))).headline

    def show(drawn: Headline) -> None:
        parts = ", ".join(f"{name} {interval_text(part)}" for name, part in (("DE", drawn.de), ("DIR", drawn.dir)))
        st.caption(
            f"{as_text(choice.dataset.name)} is judged by the {drawn.name}: {interval_text(drawn.value)} ({parts}), over "
            f"{genes_text(drawn)}. The other numbers of this page are over all pairs of rows."
        )

    shell.fragment(lambda: draw_at_rest("headline", (choice.base.id, choice.others), choice, draw, show))()


def _base_scores(choice: FusionChoice) -> Scores:
    return loaders.scored_rows(choice.base.id).scores
