"""The parts of the What-if page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.plots import movers as movers_plot
from core.plots import rank_scatter, weight_plane
from core.report.verdict import interval
from core.stats.intervals import p_gt_0
from core.stats.optimism import Optimism
from core.stats.paired import agreement, rank_movement
from core.stats.ranks import midranks
from core.stats.score import ScoreIntervals
from core.store.runs import Run
from core.transfer import plane
from core.transfer.whatif import Live, Verdict
from core.ui import links, loaders, mix, score_box
from core.ui.mix import Mix
from core.ui.shell import View
from core.ui.widgets import as_text, figure, themed

LISTED = 20  # rows that move most
_TUNED = "_tuned"  # session key: the plane and optimism of the mix on screen, which weights do not change
Tuned = tuple[plane.Plane, Optimism]


def choose_baseline(view: View, base: Run) -> Run:
    """The run that changes are told against: the base, or another that has all of its rows."""
    shared = loaders.sharing(base.id)
    options = {base.id: base} | {run.id: run for run in view.runs if shared.get(run.id) == base.total}
    wanted = st.query_params.get("baseline")
    at = list(options).index(wanted) if wanted in options else 0
    chosen = st.selectbox(
        "Change against", list(options), index=at, format_func=lambda key: options[key].name, key=f"baseline-mix-{base.id}"
    )
    links.put("baseline", chosen if chosen != base.id else None)
    return options[chosen]


def numbers(found: Verdict, tuned: Tuned | None, baseline: Run) -> None:
    """DE, DIR and mean with intervals, and the change against the baseline."""
    score_box.show(ScoreIntervals(found.n, found.n_labelled, found.n_de, found.de.after, found.dir.after, found.mean.after))
    change = found.mean.change
    told = f"**Δ mean {interval(change.two_way, signed=True)}** against {as_text(baseline.name)} by perturbations and genes"
    told += f", {interval(change.row, signed=True)} by rows · P(better) {p_gt_0(change.two_way):.2f}"
    if tuned is not None and not math.isnan(tuned[1].optimism):
        told += f" · best weights chosen on these rows: optimism {-tuned[1].optimism:+.3f}"
    st.markdown(told)


def remarks(made: Mix, found: Verdict, prepared: Live) -> None:
    """How the numbers were made, and what they do not say."""
    uncovered = int(found.fused.uncovered.sum())
    said = [f"{made.base.name} · {found.n:,} rows"]
    if made.plan is not None:
        said.append(f"neighbours: {made.plan.words()}")
    if prepared.cells is not None:
        said.append("scored inside the cells of folds")
    elif made.plan is not None and made.plan.protocol.kind == "loo":
        said.append("leave-one-out: a space that knows nothing would not score 0.5 here (see the kNN's null), claim from folds")
    if uncovered:
        said.append(f"{uncovered:,} rows without a neighbour keep the others' weights")
    said.append(
        "percentiles over these rows: a row's number depends on which other rows there are"
        if made.reference == "population"
        else "percentiles against labelled rows: a row's number does not depend on the other rows"
    )
    st.caption(as_text(" · ".join(said)))


def tuned_on(made: Mix, prepared: Live, baseline: Run) -> Tuned | None:
    """The weight plane and what choosing on it is worth; kept while only weights move. None with one class only."""
    shares = mix.shares(made)
    key = (made.base.id, made.others, made.plan, made.reference, made.references, baseline.id, tuple(shares))
    kept: tuple[Any, Tuned | None] | None = st.session_state.get(_TUNED)
    if kept is not None and kept[0] == key:
        return kept[1]
    try:
        optimism, _ = plane.weight_optimism(prepared, mix.folds_of(made), shares=shares)
        found = plane.weight_plane(prepared, shares=shares), optimism
    except InputError:
        found = None
    st.session_state[_TUNED] = key, found
    return found


def surface(made: Mix, tuned: Tuned) -> None:
    """The mean over all weights, with the plateau that a standard error cannot tell from the best."""
    found, optimism = tuned
    table = weight_plane.table(found.grid, found.mean, found.plateau)
    now = sum(made.w_de), sum(made.w_dir)
    best = found.grid[found.best[0]], found.grid[found.best[1]]
    of = "the others together, shared as the sliders do" if len(made.others) > 1 else "the other"
    caption = (
        f"{made.dataset.name} · {made.base.name} · weight of {of} · "
        f"best {found.mean[found.best]:.3f} at {best[0]:g}, {best[1]:g} · "
        f"ring: within one standard error ({found.se:.3f}, by perturbations and genes)"
    )
    if not math.isnan(optimism.optimism):
        caption += (
            f" · weights chosen on other perturbations score {optimism.optimism:.3f} less, over {len(optimism.chosen)} folds"
        )
    figure(themed(weight_plane.figure(table, now, best)), table, "weight-plane", caption)


def movers(made: Mix, found: Verdict) -> None:
    """The rows that the fusion moves most against its base, linked to their debates."""
    which = st.segmented_control("Rows that move most in", ["P(DE)", "P(up | DE)"], default="P(DE)", key="moved", required=True)
    rows = loaders.run_rows(made.base.id)
    base, fused = (rows["p_de"], found.fused.p_de) if which == "P(DE)" else (rows["p_up_given_de"], found.fused.p_up)
    before = base.to_numpy(dtype=np.float64)
    table = rows[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=midranks(before), rank_b=midranks(np.where(np.isnan(before), np.nan, fused)), moved=rank_movement(before, fused)
    )
    table = table.dropna(subset=["moved"]).sort_values("moved", key=np.abs, ascending=False, kind="stable").head(LISTED)
    if table.empty or not table["moved"].any():
        st.markdown("No row moves at these weights.")
        return
    chart, listed = st.columns([0.6, 0.4], gap="medium")
    with chart:
        caption = f"{made.base.name} · the {len(table)} of {found.n:,} rows that move most · ranks, so no interval"
        figure(themed(movers_plot.figure(table, made.base.name, "the fusion", which)), table, "movers", caption)
    address = {"dataset": made.base.dataset, "run": made.base.id}
    shown = pd.DataFrame(
        {
            "row": table["pert"] + " ⟶ " + table["gene"],
            "ranks": table["moved"],
            "debate": [links.address("debates", **address, row=key) for key in table["pair_id"]],
            "neighbours": [links.address("neighbours", **address, row=key) for key in table["pair_id"]],
        }
    )
    link = st.column_config.LinkColumn
    columns = {"ranks": st.column_config.NumberColumn(format="%+.1f"), "debate": link(display_text="open")}
    listed.dataframe(shown, hide_index=True, height=420, column_config={**columns, "neighbours": link(display_text="open")})


def ranks(made: Mix, found: Verdict) -> None:
    """Without labels: how far the fusion agrees with its base."""
    rows = loaders.run_rows(made.base.id)
    base = mix.scores_of(made.base, tuple(rows["pair_id"]))
    after = found.fused.scores()
    together = agreement(base, after)
    st.markdown(
        f"**No labels here**, so no score: rank correlation with {as_text(made.base.name)} is {together.de:.3f} for P(DE) "
        f"and {together.up:.3f} for P(up | DE)."
    )
    moved = rows[["pair_id", "pert", "gene", "label"]].assign(rank_a=midranks(base.p_de), rank_b=midranks(after.p_de))
    caption = f"{made.base.name} and the fusion · {len(moved):,} rows · ranks of P(DE), 1 is lowest"
    figure(themed(rank_scatter.figure(moved, made.base.name, "the fusion")), moved, "mix-ranks", caption)
