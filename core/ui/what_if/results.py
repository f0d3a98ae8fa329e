"""The results of What-if: scores of the fusion, its weight grid, and the rows that move."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError
from core.plots import rank_movers as movers_plot
from core.plots import rank_scatter, weight_heatmap
from core.scoring.sentences import TWO_WAY, axes_text, interval_text
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
from core.ui.shared import links, loaders, score_box, space_numbers
from core.ui.shared.linked import linked
from core.ui.shared.widgets import as_text, label_text, show_figure
from core.ui.what_if import cut_noise, fusion_controls
from core.ui.what_if.fusion_controls import FusionChoice

LISTED = 20  # rows that move most
MOVED = ("P(DE)", "P(up | DE)")
MOVED_PX = 340
DRAWN_S = 0.04  # so that the browser draws the numbers before figures reach it, which take it longer
_SEARCH = "_tuned"  # session key: the weight search of the fusion on screen, which weights do not change


@dataclass(frozen=True, slots=True)
class WeightSearch:
    """The weight grid, the optimism of choosing on it, and the live kNN's own score; none changes while only weights move."""

    grid: weight_grid.WeightGrid
    optimism: Optimism
    knn_sentence: str


def show_numbers_in(place: DeltaGenerator, choice: FusionChoice, found: FusionComparison, baseline: Run) -> None:
    """Show the numbers in a place of the page, at once, and again when their intervals know the noise of the cuts."""
    if not folds_among(fusion_controls.protocols_of(choice)):
        with place.container():
            show_numbers(choice, found, baseline)
        return
    cuts = cut_noise.kept_cuts(choice)
    if cuts is None:
        with place.container():
            show_numbers(choice, found, baseline)
        cuts = cut_noise.make_cuts(choice)
    with place.container():
        show_numbers(choice, cut_noise.add_noise(found, choice, baseline, cuts), baseline, "score-with-noise")
    time.sleep(DRAWN_S)


def show_numbers(choice: FusionChoice, found: FusionComparison, baseline: Run, key: str = "score") -> None:
    """Show DE, DIR and mean with intervals and how they were scored, and the change against the baseline.

    key: another one where one run of the page shows them twice.
    """
    scored = describe_scoring(fusion_controls.protocols_of(choice))
    after = ScoreIntervals(found.n, found.n_labelled, found.n_de, found.de.after, found.dir.after, found.mean.after, scored)
    score_box.show_score(after, key)
    st.caption(as_text(f"Scored {scored}"))
    change = found.mean.change
    text = f"**Δ mean {interval_text(change.shown, signed=True)}** against {as_text(baseline.name)} {axes_text(change.shown)}"
    text += f", {interval_text(change.row, signed=True)} by rows · P(better) {p_gt_0(change.shown):.2f}"
    st.markdown(text)


def show_caveats(choice: FusionChoice, prepared: LiveFusion, search: WeightSearch | None) -> None:
    """Show what the numbers must be read with: how labels were masked, and what the neighbours score by themselves."""
    parts = [] if prepared.cells is None else ["the noise of ten cuts of the folds is in the intervals"]
    if search is not None and search.knn_sentence:
        parts.append(search.knn_sentence)
    if choice.knn is not None and choice.knn.protocol.kind == "loo":
        parts.append("leave-one-out is biased if similarities are flat: base claims on folds")
    if parts:
        st.caption(as_text("; ".join(parts)))
    task = fusion_controls.live_knn_task(choice) if search is not None else None
    if task is not None:
        space_numbers.show_sentence(task, "Neighbours alone")


def show_remarks(choice: FusionChoice, found: FusionComparison) -> None:
    """Show how the numbers were made."""
    uncovered = int(found.fused.uncovered.sum())
    parts = [f"{choice.base.name} · {found.n:,} rows"]
    if choice.knn is not None:
        parts.append(f"neighbours: {choice.knn.describe()}")
    if uncovered:
        parts.append(f"rows that lack a component, scored by the others: {uncovered:,}")
    parts.append(
        "percentiles over these rows: a row's number depends on which other rows there are"
        if choice.reference == "population"
        else "percentiles against labelled rows: a row's number does not depend on the other rows"
    )
    st.caption(as_text(" · ".join(parts)))


def search_weights(choice: FusionChoice, prepared: LiveFusion, baseline: Run) -> WeightSearch | None:
    """The weight grid and its optimism, computed once while only weights move; None with one class only."""
    shares = fusion_controls.weight_shares(choice)
    key = (choice.base.id, choice.others, choice.knn, choice.reference, choice.references, baseline.id, tuple(shares))
    kept: tuple[Any, WeightSearch | None] | None = st.session_state.get(_SEARCH)
    if kept is not None and kept[0] == key:
        return kept[1]
    found: WeightSearch | None
    try:
        grid = weight_grid.weight_grid(prepared, shares=shares)
        optimism = weight_grid.weight_optimism(prepared, shares=shares)
        found = WeightSearch(grid, optimism, fusion_controls.live_knn_sentence(choice))
    except InputError:
        found = None
    st.session_state[_SEARCH] = key, found
    return found


def show_weight_grid(choice: FusionChoice, search: WeightSearch) -> None:
    """Show the mean over all weights, and the plateau within a standard error of the best."""
    found, optimism = search.grid, search.optimism
    table = weight_heatmap.table(found.grid, found.mean, found.plateau)
    now = sum(choice.w_de), sum(choice.w_dir)
    best = found.grid[found.best[0]], found.grid[found.best[1]]
    of = "the others together, shared as the sliders do" if len(choice.others) > 1 else "the other"
    caption = (
        f"{choice.dataset.name} · {choice.base.name} · weight of {of} · "
        f"best {found.mean[found.best]:.3f} at {best[0]:g}, {best[1]:g} · "
        f"ring: within one standard error ({found.se:.3f}, {TWO_WAY})"
    )
    if not math.isnan(optimism.optimism):
        caption += (
            f" · weights chosen on other perturbations and genes score {number_text(optimism.optimism)} less: "
            f"mean of {optimism.cuts} cuts, {number_text(optimism.low)} to {number_text(optimism.high)}"
        )
    show_figure(weight_heatmap.figure(table, now, best), table, "weight-plane", caption)


def _select_movers(choice: FusionChoice, found: FusionComparison) -> tuple[pd.DataFrame, str]:
    """The rows whose ranks move most, up or down, and the probability that is ranked."""
    which: str = st.session_state.get("moved", MOVED[0])
    rows = loaders.run_rows(choice.base.id)
    base, fused = (rows["p_de"], found.fused.p_de) if which == MOVED[0] else (rows["p_up_given_de"], found.fused.p_up)
    before = base.to_numpy(dtype=np.float64)
    table = rows[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(before), rank_b=ranks_from_top(np.where(np.isnan(before), np.nan, fused))
    )
    moved = (table["rank_b"] - table["rank_a"]).abs()
    most = moved[moved > 0].nlargest(LISTED)
    return table.loc[most.index], which


def show_movers(choice: FusionChoice, found: FusionComparison) -> None:
    """Show the rows that the fusion moves most against its base, with links to their debates."""
    st.segmented_control("Rows that move most in", MOVED, default=MOVED[0], **linked("moved"), required=True)
    table, _ = _select_movers(choice, found)
    if table.empty:
        st.markdown("No row moves at these weights.")
        return
    address = {"dataset": choice.base.dataset, "run": choice.base.id}
    link = st.column_config.LinkColumn
    st.dataframe(
        pd.DataFrame(
            {
                "row": table["pert"] + " ⟶ " + table["gene"],
                "label": [label_text(label if isinstance(label, str) else None) for label in table["label"]],
                "places": table["rank_a"] - table["rank_b"],
                "debate": [links.page_address("debates", **address, row=key) for key in table["pair_id"]],
                "neighbours": [links.page_address("neighbours", **address, row=key) for key in table["pair_id"]],
            }
        ),
        hide_index=True,
        height=MOVED_PX,
        column_config={
            "places": st.column_config.NumberColumn(
                format="%+d", help="How many ranks the row rises (+) or falls (−); 1 is the largest."
            ),
            "debate": link(display_text="open"),
            "neighbours": link(display_text="open"),
        },
    )


def show_movers_chart(choice: FusionChoice, found: FusionComparison) -> None:
    """Show the same rows before and after."""
    table, which = _select_movers(choice, found)
    if len(table):
        caption = f"{choice.base.name} · the {len(table)} of {found.n:,} rows that move most · ranks, so no interval"
        score = {MOVED[0]: "the DE score", MOVED[1]: "the DIR score"}[which]  # the fusion's are rank scores
        show_figure(movers_plot.figure(table, choice.base.name, "the fusion", score), table, "movers", caption)


def show_agreement(choice: FusionChoice, found: FusionComparison) -> None:
    """Shows, without labels, how far the fusion agrees with its base."""
    together = agreement(_base_scores(choice), found.fused.scores())
    st.markdown(
        f"**No labels here**, so no score: rank correlation with {as_text(choice.base.name)} is {together.de:.3f} for DE "
        f"and {together.up:.3f} for DIR. The fusion's numbers are rank scores, no probabilities."
    )


def show_rank_scatter(choice: FusionChoice, found: FusionComparison) -> None:
    """Shows, without labels or with one class only, where the fusion ranks the base's rows."""
    rows = loaders.run_rows(choice.base.id)
    moved = rows[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(_base_scores(choice).p_de), rank_b=ranks_from_top(found.fused.scores().p_de)
    )
    caption = f"{choice.base.name} and the fusion · {len(moved):,} rows · ranks of the DE score, 1 is the largest"
    show_figure(rank_scatter.figure(moved, choice.base.name, "the fusion", "the DE score"), moved, "mix-ranks", caption)


def _base_scores(choice: FusionChoice) -> Scores:
    return loaders.scored_rows(choice.base.id).scores
