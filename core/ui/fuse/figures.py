"""The explorer's plane and rows as figures with their tables, to download; drawn once somebody opens them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.plots import rank_scatter, weight_heatmap
from core.report.captioned import CaptionedFigure
from core.scoring.sentences import TWO_WAY
from core.stats.ranks import ranks_from_top
from core.transfer import weight_grid
from core.transfer.live_fusion import FusionComparison, LiveFusion
from core.ui.fuse import fusion_controls, movers
from core.ui.fuse.fusion_controls import FusionChoice
from core.ui.shared import loaders
from core.ui.shared.linked import bind
from core.ui.shared.widgets import show_figure


def show_figures(choice: FusionChoice, prepared: LiveFusion, found: FusionComparison) -> None:
    """Show what the explorer draws as figures, folded until somebody opens it: the plane or the ranks, and the rows that move."""
    folded = st.expander("As figures and tables, to download", **bind("figures", default=False))
    if not folded.open:
        return
    with folded:
        if choice.labelled:
            _show_weight_grid(choice, prepared)
        else:
            _show_rank_scatter(choice, found)
        movers.show_movers(choice, found)


def _show_weight_grid(choice: FusionChoice, prepared: LiveFusion) -> None:
    found = draw_plane(choice, prepared)
    if found is not None and found.chart is not None:
        show_figure(found.chart, found.table, "weight-plane", found.title, found.caption)


def draw_plane(choice: FusionChoice, prepared: LiveFusion) -> CaptionedFigure | None:
    """The mean over all weights of a component, and the plateau within a standard error of the best; None for one class only."""
    position = fusion_controls.moved_component(choice)
    try:
        found = weight_grid.weight_grid(prepared, weights=weight_grid.move_one(position, choice.w_de, choice.w_dir))
    except InputError:
        return None
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
    return CaptionedFigure(f"Weights of {name}", "", "", caption, weight_heatmap.figure(table, now, best, name), table)


def _show_rank_scatter(choice: FusionChoice, found: FusionComparison) -> None:
    """Show, without labels, where the fusion ranks the base's rows."""
    before, after = loaders.scored_rows(choice.base.id).scores.p_de, found.fused.scores().p_de
    rows = loaders.run_rows(choice.base.id)[["pair_id", "pert", "gene", "label"]]
    moved: pd.DataFrame = rows.assign(rank_a=ranks_from_top(before), rank_b=ranks_from_top(after))
    caption = f"{choice.base.name} and the fusion · {len(moved):,} rows · ranks of the DE score, 1 is the largest"
    chart = rank_scatter.figure(moved, choice.base.name, "the fusion", "the DE score")
    show_figure(chart, moved, "mix-ranks", "Ranks before and after the fusion", caption)
