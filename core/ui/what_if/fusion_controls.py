"""The controls of What-if: what is fused with the base run, by which weights, and over what percentiles are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.methods.cut_scores import fusion_protocols
from core.methods.fusion_components import load_components
from core.methods.fusion_settings import BySupport, FusionSettings
from core.scoring import sentences
from core.scoring.run_scores import RunRows
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.fusion import Reference
from core.transfer.knn_numbers import KnnNumbers
from core.transfer.knn_settings import KnnSettings
from core.transfer.live_fusion import LiveFusion, live_fusion
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import cells_under
from core.ui.shared import loaders, neighbour_controls, space_numbers
from core.ui.shared.cached_components import CachedComponents
from core.ui.shared.linked import bind, choose_one, choose_several
from core.ui.shared.space_numbers import SpaceTask
from core.ui.shared.widgets import as_text

WEIGHTS = (("P(DE)", "w_de"), ("P(up | DE)", "w_dir"))
KNN, NEIGHBOURS = "knn", "Neighbours"  # the live kNN among the ids of runs, and what pages call it
_PREPARED = "_prepared"  # session key: the fusion on screen, with its key
_CHOSEN, _MOVED = "_chosen", "_moved"  # session keys: the choice on screen with its baseline; set once a weight has moved
REFERENCES: dict[str, Reference] = {"these rows": "population", "labelled rows": "train"}
BY_SUPPORT: dict[str, BySupport] = {"even": "no", "more with support": "more", "less with support": "less"}
HELP = {
    "by_support": (
        "Even: the share below, in every row. More with support: from 0 in the row whose neighbours are least alike, by the "
        "sum of their weights, to the share below in the row with the most; less with support the other way round."
    ),
    "over": (
        "A component's percentile is taken among the rows of this run, or against its scores on labelled rows. Among "
        "these rows, a row's number changes when other rows are dropped; against labelled rows it does not."
    ),
    "with": "Runs on the same rows, and neighbours in gene spaces with settings that can be changed here.",
}


@dataclass(frozen=True, slots=True)
class FusionChoice:
    """What to fuse: the base, the ids of others (KNN for the live one, with its settings `knn`), and their weights.

    w_de, w_dir: one for each other, at most 1 together. references: id → the run on labelled rows that its percentiles are
    taken against if `reference` is "train". by_support: as of `FusionSettings`.
    """

    dataset: Dataset
    base: Run
    others: tuple[str, ...]
    knn: KnnSettings | None
    w_de: tuple[float, ...]
    w_dir: tuple[float, ...]
    reference: Reference
    references: tuple[tuple[str, str], ...]
    labelled: bool
    by_support: BySupport = "no"

    def settings(self) -> FusionSettings:
        """What to fuse, the live kNN by its settings."""
        parts = tuple(self.knn if key == KNN and self.knn is not None else key for key in self.others)
        return FusionSettings(self.base.id, parts, self.w_de, self.w_dir, self.reference, dict(self.references), self.by_support)


def show_fusion_controls(dataset: Dataset, base: Run, runs: Sequence[Run], labelled: bool) -> FusionChoice | None:
    """Show the controls and return the choice; None, with a sentence on the page, if there is nothing to fuse yet."""
    spaces = neighbour_controls.usable_spaces(dataset)
    names = {run.id: run.name for run in runs}
    same_rows = {key: names[key] for key in loaders.shared_row_counts(base.id) if key in names}
    options = ([KNN] if spaces else []) + list(same_rows)
    if not options:
        neighbour_controls.show_no_space()
        return None
    titles = {KNN: NEIGHBOURS, **same_rows}
    first, second, weighting = st.columns([0.4, 0.24, 0.36], vertical_alignment="bottom")
    label = f"Fuse {as_text(base.name)} with"
    others = choose_several(
        first.multiselect, "with", label, {key: titles[key] for key in options}, options[:1], help=HELP["with"]
    )
    over = second.segmented_control(
        "Rank among",
        list(REFERENCES),
        default="these rows",
        **bind("over"),
        help=HELP["over"],
        required=True,
    )
    if not others:
        st.markdown("Choose something to fuse it with.")
        return None
    of_knn, of_references = st.container(), st.container()  # what comes and goes leaves the weights in their place
    with of_knn:
        training = bool(loaders.labelled_counts().set_index("run")["training"].get(base.id, 0))
        knn = neighbour_controls.choose_settings(dataset, spaces, training=training) if KNN in others else None
    if KNN in others and knn is None:
        return None
    reference = REFERENCES[over]
    methods = {run.id: run.method for run in runs}
    has_knn = any(key == KNN or methods[key] == "knn" for key in others)
    by_support = _show_by_support(weighting) if has_knn else "no"
    with of_references:
        references = _show_references(base, others, runs, titles) if reference == "train" else ()
    w_de, w_dir = _show_weights(base.name, others, titles, by_support)
    return FusionChoice(dataset, base, tuple(others), knn, w_de, w_dir, reference, references, labelled, by_support)


def _show_by_support(place: DeltaGenerator) -> BySupport:
    """Show whether the weight of neighbours is the same in every row."""
    chosen = place.segmented_control(
        "Neighbours' weight", list(BY_SUPPORT), default="even", **bind("by_support"), help=HELP["by_support"], required=True
    )
    return BY_SUPPORT[chosen]


def keep_choice(choice: FusionChoice, baseline: Run) -> None:
    """Keep what is on screen for `moved_choice`."""
    st.session_state[_CHOSEN] = choice, baseline


def moved_choice(base: Run) -> tuple[FusionChoice, Run] | None:
    """The choice on screen and its baseline, with the weights as they are now, if only weights have moved; else None.

    It is known before the controls are drawn, which takes as long as its numbers.
    """
    kept: tuple[FusionChoice, Run] | None = st.session_state.get(_CHOSEN)
    if not st.session_state.pop(_MOVED, False) or kept is None or kept[0].base != base:
        return None
    choice, baseline = kept
    keys = [[f"{prefix}_{other}" for other in choice.others] for _, prefix in WEIGHTS]
    if not all(key in st.session_state for part in keys for key in part):
        return None
    w_de, w_dir = (_shared_out([st.session_state[key] for key in part]) for part in keys)
    return replace(choice, w_de=w_de, w_dir=w_dir), baseline


def _note_move() -> None:
    st.session_state[_MOVED] = True


def _shared_out(values: Sequence[float]) -> tuple[float, ...]:
    """Weights that sum to more than 1 are scaled to 1."""
    return tuple(value / max(sum(values), 1.0) for value in values)


def _share_of(name: str, number: str) -> str:
    """What a slider sets, "Neighbours' share in P(DE)"."""
    return f"{as_text(name)}'{'' if name.endswith('s') else 's'} share in {number}"


def _show_weights(
    base: str, others: Sequence[str], titles: dict[str, str], by_support: BySupport
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Show two sliders for each other component, and what is left for the base: always one line, so that nothing jumps."""
    even = round(1 / (len(others) + 1), 2)
    found: list[tuple[float, ...]] = []
    for column, (number, prefix) in zip(st.columns(2, gap="medium"), WEIGHTS, strict=True):
        values = [
            column.slider(
                _share_of(titles[key], number), 0.0, 1.0, even, 0.05, on_change=_note_move, **bind(f"{prefix}_{key}", even)
            )
            for key in others
        ]
        total = sum(values)
        left = f"sum to {total:.2f}: scaled to 1, so {base} has none" if total > 1 else f"{base} keeps {1 - total:.2f}"
        left += (
            ""
            if by_support == "no"
            else f", more in rows where neighbours have {'less' if by_support == 'more' else 'more'} support"
        )
        column.caption(as_text(left))
        found.append(_shared_out(values))
    return found[0], found[1]


def _show_references(
    base: Run, others: Sequence[str], runs: Sequence[Run], titles: dict[str, str]
) -> tuple[tuple[str, str], ...]:
    """Show the choice of a labelled run for every component but a kNN, which has its own priors under folds."""
    known = loaders.labelled_counts().set_index("run")["training"]
    labelled = {run.id: run.name for run in runs if known.get(run.id, 0) > 0}
    methods = {run.id: run.method for run in runs}
    needing = [base.id, *(key for key in others if key != KNN and methods[key] != "knn")]
    chosen = []
    for column, key in zip(st.columns(max(len(needing), 2)), needing, strict=False):
        found = choose_one(
            column.selectbox,
            f"reference_{key}",
            f"{as_text(titles.get(key, base.name))}: percentiles against",
            labelled,
            key if key in labelled else None,
            index=0 if key in labelled else None,
            placeholder="choose a run on labelled rows",
        )
        if found is not None:
            chosen.append((key, found))
    return tuple(chosen)


def key_of(choice: FusionChoice) -> tuple[Any, ...]:
    """All that a fusion is made from but its weights: what is computed under one key stays while only weights move."""
    runs = [choice.base.id, *choice.others, *(run for _, run in choice.references)]
    versions = loaders.versions_of(run for run in runs if run != KNN)
    return choice.base.id, choice.others, choice.knn, choice.reference, choice.references, choice.by_support, versions


def key_against(choice: FusionChoice, baseline: Run) -> tuple[Any, ...]:
    """The same of a fusion and the run that its changes are measured against."""
    return key_of(choice), baseline.id, loaders.versions_of([baseline.id])


def prepare_fusion(choice: FusionChoice, baseline: Run) -> LiveFusion:
    """The fusion, ready for its weights to be moved, and kept while only they move.

    Raises InputError as `load_components` does.
    """
    key = key_against(choice, baseline)
    kept: tuple[Any, LiveFusion] | None = st.session_state.get(_PREPARED)
    if kept is None or kept[0] != key:
        kept = st.session_state[_PREPARED] = key, _make_fusion(choice, baseline)
    return kept[1]


def _make_fusion(choice: FusionChoice, baseline: Run) -> LiveFusion:
    loader = CachedComponents(choice.dataset)
    rows, components = load_components(loader, choice.settings())
    index = loader.index()
    at = index.positions_of(rows["pair_id"].tolist())
    return live_fusion(
        index.labels[at],
        index.rows.take(at),
        components,
        choice.reference,
        rows_of_baseline(choice, baseline).scores,
        cells_under(protocols_of(choice), index, at) if choice.labelled else None,
    )


def protocols_of(choice: FusionChoice) -> tuple[EvaluationProtocol, ...]:
    """The protocols that keep labels away from the components."""
    return fusion_protocols(choice.settings(), CachedComponents(choice.dataset))


def rows_of_baseline(choice: FusionChoice, baseline: Run) -> RunRows:
    """The rows of the base as the baseline predicts them, which has all of them."""
    rows = loaders.scored_rows(baseline.id)
    ids = loaders.run_rows(choice.base.id)["pair_id"]
    return rows if baseline.id == choice.base.id else rows.take(pd.Index(rows.frame["pair_id"]).get_indexer(ids))


def live_knn_sentence(choice: FusionChoice) -> str:
    """The score of the live kNN by itself, in a sentence; "" without one, and under folds (see `live_knn_task`)."""
    if choice.knn is None or choice.knn.protocol.kind == "folds":
        return ""
    ids = tuple(loaders.run_rows(choice.base.id)["pair_id"])
    evaluation = neighbour_controls.evaluate_neighbours(neighbour_controls.find_neighbours(choice.dataset, choice.knn, ids))
    return sentences.knn_sentence(KnnNumbers(choice.knn.protocol, evaluation))


def live_knn_task(choice: FusionChoice) -> SpaceTask | None:
    """The numbers of the live kNN by itself under folds, which take a while; None without one."""
    if choice.knn is None or choice.knn.protocol.kind != "folds":
        return None
    return space_numbers.task_on_rows(choice.dataset.id, choice.dataset.name, choice.knn, choice.base.id)


def title_of(key: str) -> str:
    """What pages call a component: its run's name, or the neighbours."""
    return next((run.name for run in loaders.all_runs() if run.id == key), NEIGHBOURS)


def choose_component(choice: FusionChoice) -> int:
    """Show the choice of the component whose weights the plane moves, if there are several; its place among the others."""
    if len(choice.others) == 1:
        return 0
    titles = {key: title_of(key) for key in choice.others}
    chosen = choose_one(st.segmented_control, "plane", "Move the weights of", titles, choice.others[0], required=True)
    return choice.others.index(str(chosen))
