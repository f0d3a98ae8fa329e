"""What stands below the explorer: what the fusion gains, and its caveats."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from core.base.errors import InputError, NothingCovered
from core.base.hashes import sha256_of
from core.base.records import to_json
from core.base.texts import number_text
from core.features.fuse import weight_grid, weight_heatmap
from core.features.fuse.explorer import content
from core.features.fuse.explorer.content import CutNoise, FusionRows, make_content, prepare_noise
from core.features.fuse.page import fusion_controls
from core.features.fuse.page.fusion_controls import FusionChoice
from core.features.fuse.weight_grid import FusionVerdict
from core.features.neighbours.page import loaders as space_numbers
from core.features.neighbours.page import neighbour_controls
from core.features.neighbours.result import knn_sentence
from core.methods.fusion_components import describe_rest
from core.plots import rank_scatter
from core.plots.printed import CaptionedFigure
from core.scoring.compare_runs import add_cut_noise
from core.scoring.run_scores import score_run
from core.scoring.score_result import constant_sentences
from core.scoring.sentences import CHOSEN, RANK_SCORES, RANKED, TWO_WAY
from core.stats.ranks import ranks_from_top
from core.stats.selection_optimism import Optimism
from core.store.runs import Run
from core.transfer.fusion import FusionComparison, LiveFusion
from core.transfer.permutation_null import KnnNumbers
from core.transfer.run_cells import describe_scoring, folds_among
from core.ui import links, results, shell
from core.ui.background import Result, background
from core.ui.linked import bind
from core.ui.loaders.scores import run_rows, scored_rows
from core.ui.results import show_result
from core.ui.widgets import as_text, flush, label_text, show_captioned, show_figure


def prepare_or_say(choice: FusionChoice, baseline: Run) -> LiveFusion | None:
    """Return the prepared fusion; show a sentence and return None if a component covers none of the
    rows."""
    try:
        return fusion_controls.prepare_fusion(choice, baseline)
    except NothingCovered:
        n = f"{choice.base.total:,} rows of {as_text(choice.base.name)}"
        spaces = f" ({as_text(', '.join(choice.knn.spaces))})" if choice.knn is not None else ""
        st.markdown(
            f"**Nothing to fuse yet.** The choice above{spaces} covers none of the {n}. The space"
            " has none of their genes, or the run none of the rows. Choose another space in the"
            " settings below, or another run above."
        )
        return None


def show_verdict(
    choice: FusionChoice, baseline: Run, prepared: LiveFusion, found: FusionComparison
) -> None:
    """Show what the fusion gains at the weights on screen, with the noise of cuts, and its
    caveats."""
    noise = find_noise(choice, baseline) if choice.labelled else None
    if noise is not None:
        found = add_cut_noise(found, noise.before, noise.scores_at(choice.settings().weights()))
    names = [choice.base.name, *choice.titles.values()]
    constant = constant_sentences(
        names, prepared.percentiles.de, prepared.percentiles.up, prepared.cells
    )
    verdict = FusionVerdict(
        "the fusion",
        found.n,
        int(found.fused.uncovered.sum()),
        constant=tuple(constant),
        baseline=baseline.name,
        scored=describe_scoring(fusion_controls.protocols_of(choice)) if choice.labelled else "",
        comparison=found,
        remarks=tuple(_remarks(choice, prepared, found)),
    )
    show_result(verdict, choice.base.name, "fusion")
    knn, dataset = choice.knn, choice.dataset
    if choice.labelled and knn is not None and knn.protocol.kind == "folds":
        task = space_numbers.task_on_rows(dataset.id, dataset.name, knn, choice.base.id)
        space_numbers.show_sentence(task, "Neighbours alone")


def _remarks(choice: FusionChoice, prepared: LiveFusion, found: FusionComparison) -> Iterator[str]:
    if choice.labelled:
        yield f"{CHOSEN}; the map above says by how much."
        if choice.knn is not None and choice.knn.protocol.kind == "loo":
            yield (
                "Leave-one-out is biased if all genes are about equally similar: base claims on"
                " folds."
            )
        if prepared.cells is not None:
            yield (
                "The intervals include the variation over ten cuts of the folds; while you drag,"
                " that of the last weights is used."
            )
        # under folds, it takes a while and stands below
        if choice.knn is not None and choice.knn.protocol.kind != "folds":
            ids = tuple(run_rows(choice.base.id)["pair_id"])
            live = neighbour_controls.find_neighbours(choice.dataset, choice.knn, ids)
            numbers = KnnNumbers(choice.knn.protocol, neighbour_controls.evaluate_neighbours(live))
            sentence = knn_sentence(numbers)
            yield f"{sentence[0].upper()}{sentence[1:]}."
        if choice.dataset.headline != "mean":
            rows = replace(scored_rows(choice.base.id), scores=found.fused.scores())
            headline = score_run(rows.under(fusion_controls.protocols_of(choice))).headline
            parts = ", ".join(f"{name} {text}" for name, text in headline.texts.items())
            yield (
                f"{choice.dataset.name} is judged by the {headline.name}: {parts}, over"
                f" {headline.counted}. The other numbers of this page are over all pairs of rows."
            )
    if choice.knn is not None:
        yield f"Neighbours: {choice.knn.describe()}."
    if uncovered := int(found.fused.uncovered.sum()):
        yield f"Rows without a component, scored by the others: {uncovered:,}."
    yield f"{RANKED[choice.how.reference]}. {RANK_SCORES}."


LISTED = 20  # rows that move most
MOVED = ("P(DE)", "P(up | DE)")


def show_figures(choice: FusionChoice, prepared: LiveFusion, found: FusionComparison) -> None:
    """Show the explorer's figures in an expander: the weight map or the ranks, and the rows that
    move."""
    folded = st.expander("As figures and tables, to download", **bind("figures", default=False))
    if not folded.open:
        return
    with folded:
        if choice.labelled:
            plane = draw_plane(choice, prepared)
            if plane is not None:
                show_captioned(plane, "weight-plane")
        else:
            before, after = scored_rows(choice.base.id).scores.p_de, found.fused.scores().p_de
            rows = run_rows(choice.base.id)[["pair_id", "pert", "gene", "label"]]
            moved: pd.DataFrame = rows.assign(
                rank_a=ranks_from_top(before), rank_b=ranks_from_top(after)
            )
            caption = (
                f"{choice.base.name} and the fusion · {len(moved):,} rows · ranks of the DE score,"
                " 1 is the largest"
            )
            chart = rank_scatter.figure(moved, choice.base.name, "the fusion")
            show_figure(chart, moved, "mix-ranks", "Ranks before and after the fusion", caption)
        show_movers(choice, found)


def draw_plane(choice: FusionChoice, prepared: LiveFusion) -> CaptionedFigure | None:
    """Return the figure of the mean over all weights of a component, with the plateau. None with
    one class only."""
    position = fusion_controls.moved_component(choice)
    try:
        grid = weight_grid.weight_grid(
            prepared, weight_grid.move_one(position, choice.w_de, choice.w_dir)
        )
    except InputError:
        return None
    table = weight_heatmap.table(weight_grid.GRID, grid.mean, grid.plateau)
    now = choice.w_de[position], choice.w_dir[position]
    best = weight_grid.GRID[grid.best[0]], weight_grid.GRID[grid.best[1]]
    name = choice.titles[choice.others[position]]
    others = " · the other components keep their weights" if len(choice.others) > 1 else ""
    caption = (
        f"{choice.dataset.name} · {choice.base.name} and {name}{others} · "
        f"best {grid.mean[grid.best]:.3f} at {best[0]:g}, {best[1]:g} · "
        f"outline: within one standard error of it ({grid.se:.3f}, {TWO_WAY})"
    )
    return CaptionedFigure(
        f"Weights of {name}", "", "", caption, weight_heatmap.figure(table, now, best, name), table
    )


def show_movers(choice: FusionChoice, found: FusionComparison) -> None:
    """Show the rows whose ranks the fusion moves most against its base, up or down, with links to
    their debates."""
    which = st.segmented_control(
        "Rows that move most in", MOVED, default=MOVED[0], **bind("moved"), required=True
    )
    rows = run_rows(choice.base.id)
    base, fused = (
        (rows["p_de"], found.fused.p_de)
        if which == "P(DE)"
        else (rows["p_up_given_de"], found.fused.p_up)
    )
    before = base.to_numpy(dtype=np.float64)
    table = rows[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(before),
        rank_b=ranks_from_top(np.where(np.isnan(before), np.nan, fused)),
    )
    moved = (table["rank_b"] - table["rank_a"]).abs()
    table = table.loc[moved[moved > 0].nlargest(LISTED).index]
    if table.empty:
        st.markdown("No row moves at these weights.")
        return
    st.caption(f"{as_text(choice.base.name)} · the {len(table)} of {found.n:,} rows that move most")
    address = {"dataset": choice.base.dataset, "run": choice.base.id}
    shown = pd.DataFrame(
        {
            "row": table["pert"] + " ⟶ " + table["gene"],
            "label": [
                label_text(label if isinstance(label, str) else None) for label in table["label"]
            ],
            "places": table["rank_a"] - table["rank_b"],
            "debate": [links.row_address(choice.base, key) for key in table["pair_id"]],
            "neighbours": [
                links.page_address("neighbours", **address, row=key) for key in table["pair_id"]
            ],
        }
    )
    results.show_table(
        # The numbers stay numbers, so that the table can be sorted; a column's format has neither
        # minus sign nor separators.
        shown.style.format({"places": partial(number_text, form="+,.0f")}),
        "rows that move",
        {
            "places": st.column_config.NumberColumn(
                width=80,  # as formatted, which is wider than the bare number
                help=(
                    "How many ranks the row rises (+) or falls (−). Rank 1 is the highest; tied"
                    " rows share a rank."
                ),
            ),
            "debate": results.OPEN,
            "neighbours": results.OPEN,
        },
    )


KEY = "fusion-explorer"
# session key: the explorer's last content, with the key of its fusion
_CONTENT = "_explorer_content"
# The state, which changes with the weights: a few bytes, whereas the content may be a megabyte.
_SAY_STATE = """export default ({ data }) => {
  globalThis.fusionState = data;
  document.dispatchEvent(new CustomEvent("fusion-state", { detail: data }));
};"""
_explorer = st.components.v2.component(
    "fusion_explorer",
    html='<div class="place"></div>',
    css=content.style(),
    js=content.app_script(),
)
_state = st.components.v2.component("fusion_state", html="<div></div>", js=_SAY_STATE)


def show_explorer(choice: FusionChoice, baseline: Run, prepared: LiveFusion) -> str:
    """Show the explorer of a fusion without its state (see `say_state`); return the version of its
    content.

    The weights that it sends are stored in the session, which the page reads in its next run.
    """

    def pack() -> bytes:
        """Return the content as JSON behind its hash; app.js reads both."""
        packed = json.dumps(make_content(prepared, name_rows(choice, baseline))).encode()
        return sha256_of(packed).encode() + packed

    packed = fusion_controls.keep(_CONTENT, choice, baseline, pack)

    def take_weights() -> None:
        sent = st.session_state[KEY]["weights"]
        if sent is not None:
            keep_weights(choice, sent)

    _explorer(key=KEY, data=packed, on_weights_change=take_weights)
    return packed[: hashlib.sha256().digest_size * 2].decode()


def say_state(version: str, state: Mapping[str, Any], key: str) -> None:
    """Send the explorer its weights and the server's results. key: differs if one run sends
    both."""
    _state(key=f"{KEY}-{key}", data={"of": version, **state})


def keep_weights(choice: FusionChoice, sent: Mapping[str, Any]) -> None:
    """Store the weights and the chosen component that a browser sent; ignore invalid ones."""
    n, position = len(choice.others), sent.get("position")
    de, up = (_read_weights(sent.get(name), n) for name in ("de", "up"))
    if de is None or up is None:
        return
    for prefix, values in (("w_de", de), ("w_dir", up)):
        st.session_state.update(
            {f"{prefix}_{key}": value for key, value in zip(choice.others, values, strict=True)}
        )
    if isinstance(position, int) and 0 <= position < n:
        st.session_state[fusion_controls.PLANE] = choice.others[position]


def _read_weights(sent: object, n: int) -> list[float] | None:
    """Return the n weights from 0 to 1 that a browser sent; None for anything else."""
    values = (
        [float(each) for each in sent if isinstance(each, int | float)]
        if isinstance(sent, list)
        else []
    )
    return values if len(values) == n and all(0 <= value <= 1 for value in values) else None


def name_rows(choice: FusionChoice, baseline: Run) -> FusionRows:
    """Return the names of a fusion's rows and components on its page."""
    rows = run_rows(choice.base.id)
    names = [choice.base.name, *choice.titles.values()]
    return FusionRows(
        rows["pair_id"].tolist(),
        rows["pert"].tolist(),
        rows["gene"].tolist(),
        names,
        choice.others,
        baseline.name,
    )


_NOISE = "_cut_noise"  # session key: the cuts of the fusion on screen, with its key
_COMPUTING = "Computing the loss with weights chosen on other perturbations and genes."


def say_all(choice: FusionChoice, baseline: Run, prepared: LiveFusion, version: str) -> None:
    """Send the explorer its weights at once, and slower results when they are ready."""
    address = urlencode({"dataset": choice.base.dataset, "run": choice.base.id})
    position = fusion_controls.moved_component(choice)
    state: dict[str, Any] = {
        **choice.sliders,
        "position": position,
        "noise": None,
        "caution": "",
        "mixes": [*map(to_json, fusion_controls.of_choice(choice))],
        # The addresses of a row's debate and of its neighbours, each to be followed by its id.
        "links": {
            "row": f"./rows?{address}&row=",
            "neighbours": f"./neighbours?{address}&row=",
        },
        "rest": describe_rest(choice.how),
    }
    if not choice.labelled:
        say_state(version, state, "rest")
        return
    is_known = st.session_state.get(_NOISE, (None,))[0] == fusion_controls.key_against(
        choice, baseline
    )
    if not is_known and folds_among(fusion_controls.protocols_of(choice)):
        say_state(version, state | {"caution": _COMPUTING}, "first")
        flush()
    state["noise"] = content.noise_at(find_noise(choice, baseline), choice.settings().weights())
    weights = weight_grid.move_one(position, choice.w_de, choice.w_dir)
    held = (
        *(choice.w_de[:position], choice.w_de[position + 1 :]),
        *(choice.w_dir[:position], choice.w_dir[position + 1 :]),
    )
    key = ("optimism", fusion_controls.key_against(choice, baseline), position, *held)
    ask = partial(
        background().ask,
        key,
        lambda progress: weight_grid.weight_optimism(prepared, weights, progress=progress),
    )
    shell.draw_until_ready(
        lambda: say_state(version, state | {"caution": _caution(ask())}, "rest"),
        lambda: ask().ready,
    )


def find_noise(choice: FusionChoice, baseline: Run) -> CutNoise | None:
    """Return the noise of the cuts of the fusion on screen, computed once while only weights
    change; None if unknown."""
    compute = partial(fusion_controls.compute_of, choice, baseline, prepare_noise)
    return fusion_controls.keep(_NOISE, choice, baseline, compute)


def _caution(asked: Result) -> str:
    optimism: Optimism | None = asked.value
    if not asked.ready:
        return _COMPUTING
    return optimism.sentence if optimism is not None else ""
