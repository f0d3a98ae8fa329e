"""The controls of Fuse: the components fused with the base run, their weights, and the rows among
which percentiles are taken.

Mixes: named weights, set by the explorer's buttons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.base.errors import NotFound
from core.base.fields.record import make, option_of
from core.features.fuse.explorer.content import Mix, starters
from core.features.fuse.explorer.content import prepare_fusion as prepare
from core.features.neighbours.page import neighbour_controls, spaces_tab
from core.methods.cut_scores import fusion_protocols
from core.methods.fusion_components import DatasetPriors
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents
from core.scoring.run_scores import RunRows
from core.store.datasets import Dataset
from core.store.runs import Run, refuse_reading
from core.transfer.fusion import LiveFusion, shares_of
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, rows_to_predict
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex
from core.ui.linked import choose_one, choose_several, keep_one, keep_shares
from core.ui.loaders.cache import cache_by, versions_of
from core.ui.loaders.components import row_index
from core.ui.loaders.records import all_presets, all_runs, count_labelled, shared_row_counts
from core.ui.loaders.scores import run_rows, scored_rows
from core.ui.option_controls import choose_title, names_of_rest, show_settings
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext
from core.ui.widgets import as_text

T = TypeVar("T")
PREFIXES = ("w_de", "w_dir")  # of session keys of weights, before the id of a component
PLANE = "id-plane"  # session key: the component whose weights the weight map changes
# the id of the live kNN among ids of runs, and its title on pages
KNN, NEIGHBOURS = "knn", "Neighbours"
_PREPARED = "_prepared"  # session key: the fusion on screen, with its key
# what the page's run, the explorer and each component's control set
NOT_HERE = ("base", "w_de", "w_dir", "reference_runs")
# fields of settings whose components are still unknown
_UNWEIGHTED: dict[str, Any] = {"others": (), "w_de": (), "w_dir": ()}


@dataclass(frozen=True, slots=True)
class FusionChoice:
    """A choice of what to fuse: the base, the ids of the other components (KNN for the live kNN,
    with settings `knn`), and their weights. w_de, w_dir: one for each other component, with a sum
    of at most 1. how: the other settings, without components. titles: of the other components, by
    id. sliders: the weights of DE (de) and DIR (up) as sliders stand.
    """

    dataset: Dataset
    base: Run
    others: tuple[str, ...]
    knn: KnnSettings | None
    w_de: tuple[float, ...]
    w_dir: tuple[float, ...]
    how: FusionSettings
    labelled: bool
    titles: Mapping[str, str] = field(default_factory=dict)
    sliders: Mapping[str, list[float]] = field(default_factory=dict)

    def settings(self) -> FusionSettings:
        """Return the components, the live kNN given by its settings."""
        parts = tuple(
            self.knn if key == KNN and self.knn is not None else key for key in self.others
        )
        return replace(self.how, base=self.base.id, others=parts, w_de=self.w_de, w_dir=self.w_dir)


@dataclass(frozen=True, slots=True)
class Places:
    """The parts of the page from top to bottom. The settings are drawn first but placed below the
    explorer."""

    components: DeltaGenerator
    baseline: DeltaGenerator
    explorer: DeltaGenerator
    saving: DeltaGenerator
    offers: DeltaGenerator
    settings: DeltaGenerator
    remarks: DeltaGenerator


def make_places() -> Places:
    """Return empty places."""
    components, baseline = st.columns([0.68, 0.32], vertical_alignment="bottom")
    explorer, saving, offers = st.container(), st.container(), st.container()
    settings = st.container()
    return Places(components, baseline, explorer, saving, offers, settings, st.container())


def show_fusion_controls(
    context: PageContext, dataset: Dataset, base: Run, places: Places
) -> FusionChoice | None:
    """Show the controls and return the choice; show a sentence and return None if there is nothing
    to fuse yet."""
    spaces = neighbour_controls.usable_spaces(dataset)
    names = {run.id: run.name for run in context.runs}
    same_rows = {key: names[key] for key in shared_row_counts(base.id) if key in names}
    titles = ({KNN: NEIGHBOURS} if spaces else {}) | same_rows
    if not spaces:
        with places.offers:
            spaces_tab.offer()
    if not titles:
        return None
    with places.components:
        label = f"Fuse {as_text(base.name)} with"
        others = choose_several(
            st.multiselect,
            "with",
            label,
            titles,
            [*titles][:1],
            help=option_of(FusionSettings, "with").about.help,
        )
        if not others:
            st.markdown("Choose at least one component to fuse with it.")
            return None
    with places.settings.expander("Ranks and neighbours: settings", icon=":material/tune:"):
        choice = _show_settings(dataset, base, context.runs, others)
    if KNN in others and choice.knn is None:
        places.components.markdown("Choose at least one gene space, in the settings below.")
        return None
    labelled = bool(run_rows(base.id)["label"].notna().any())
    even = round(1 / (len(others) + 1), 2)
    kept = keep_shares({f"{prefix}_{key}": even for prefix in PREFIXES for key in others})
    values = np.reshape([*kept.values()], (2, -1))  # of DE, of DIR
    w_de, w_dir = map(tuple, shares_of(values).tolist())
    return replace(
        choice,
        others=tuple(others),
        w_de=w_de,
        w_dir=w_dir,
        labelled=labelled,
        titles={key: titles[key] for key in others},
        sliders=dict(zip(("de", "up"), values.tolist(), strict=True)),
    )


def _show_settings(
    dataset: Dataset, base: Run, runs: Sequence[Run], others: Sequence[str]
) -> FusionChoice:
    """Show all settings but the weights; return the choice without weights."""
    first, second, third = st.columns([0.27, 0.45, 0.28], vertical_alignment="bottom")
    reference = choose_title(
        first.segmented_control, option_of(FusionSettings, "reference"), required=True
    )
    how: dict[str, Any] = {"reference": reference}
    if knn_ids() & {*others}:
        how["by_support"] = choose_title(
            second.segmented_control, option_of(FusionSettings, "by_support"), required=True
        )
    with third:
        rest = names_of_rest(FusionSettings, (*NOT_HERE, "with", "reference", "by_support"))
        how |= show_settings(FusionSettings, "", rest)
    knn = None
    if KNN in others:
        training = count_labelled(base.id, "training") > 0
        knn = neighbour_controls.choose_settings(
            dataset, neighbour_controls.usable_spaces(dataset), training=training
        )
    how["reference_runs"] = _show_references(base, others, runs) if reference == "train" else {}
    return FusionChoice(
        dataset, base, (), knn, (), (), make(FusionSettings, how, **_UNWEIGHTED), labelled=False
    )


def knn_ids() -> set[str]:
    """Return the ids of the components that are a kNN: runs, and the live one."""
    return {KNN, *(run.id for run in all_runs() if run.method == "knn")}


def _show_references(base: Run, others: Sequence[str], runs: Sequence[Run]) -> dict[str, str]:
    """Show the choice of a labelled run for every component but a kNN, which has its own priors
    under folds."""
    names = {run.id: run.name for run in runs}
    labelled = {key: name for key, name in names.items() if count_labelled(key, "training")}
    needing = [base.id, *(key for key in others if key not in knn_ids())]
    chosen = {}
    for column, key in zip(st.columns(max(len(needing), 2)), needing, strict=False):
        reference = choose_one(
            column.selectbox,
            f"reference_{key}",
            f"{as_text(names[key])}: percentiles against",
            labelled,
            key if key in labelled else None,
            index=0 if key in labelled else None,
            placeholder="choose a run on labelled rows",
        )
        if reference is not None:
            chosen[key] = reference
    return chosen


def key_against(choice: FusionChoice, baseline: Run) -> tuple[Any, ...]:
    """Return everything that a fusion and its comparison depend on except the weights, as a cache
    key."""
    runs = [choice.base.id, *choice.others, *choice.how.references.values(), baseline.id]
    versions = versions_of(runs)  # of KNN it is always the same
    # its mapping has no hash
    return choice.base.id, choice.others, choice.knn, repr(choice.how), baseline.id, versions


def keep(name: str, choice: FusionChoice, baseline: Run, compute: Callable[[], T]) -> T:
    """Return a value of the fusion on screen, computed again only if more than its weights changed.
    name: its session key."""
    key = key_against(choice, baseline)
    kept: tuple[Any, T] | None = st.session_state.get(name)
    if kept is None or kept[0] != key:
        kept = st.session_state[name] = key, compute()
    return kept[1]


def prepare_fusion(choice: FusionChoice, baseline: Run) -> LiveFusion:
    """Return the prepared fusion, cached while only its weights change.

    Raise InputError as `load_components` does.
    """
    return keep(_PREPARED, choice, baseline, partial(compute_of, choice, baseline, prepare))


def protocols_of(choice: FusionChoice) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols that keep labels away from the components."""
    return fusion_protocols(choice.settings(), CachedComponents(choice.dataset))


def compute_of(
    choice: FusionChoice,
    baseline: Run,
    compute: Callable[[CachedComponents, FusionSettings, RunRows], T],
) -> T:
    """Return what is computed from the components, the settings, and the baseline's predictions for
    the rows of the base. It has all of them."""
    rows = scored_rows(baseline.id)
    if baseline.id != choice.base.id:
        ids = run_rows(choice.base.id)["pair_id"]
        rows = rows.take(pd.Index(rows.frame["pair_id"]).get_indexer(ids))
    return compute(CachedComponents(choice.dataset), choice.settings(), rows)


def moved_component(choice: FusionChoice) -> int:
    """Return the index, among the other components, of the one whose weights the weight map
    changes."""
    return choice.others.index(keep_one("plane", choice.titles, choice.others[0]))


PAGE = "what-if"  # whose presets the saved mixes are


def of_choice(choice: FusionChoice) -> list[Mix]:
    """Return the mixes of the chosen components: the standard ones, and saved ones with the
    settings on screen."""
    mixes = starters(len(choice.others))
    for name, values in all_presets(PAGE).items():
        if (mix := _as_mix(choice, name, values)) is not None:
            mixes.append(mix)
    return mixes


def _as_mix(choice: FusionChoice, name: str, values: Mapping[str, Any]) -> Mix | None:
    """Return a saved preset as a mix; None if its components or settings differ from those on
    screen."""
    keys = [[f"{prefix}_{key}" for key in choice.others] for prefix in PREFIXES]
    weights = {key for part in keys for key in part}
    settings = {key: value for key, value in values.items() if key not in weights}
    if not weights <= values.keys() or any(
        st.session_state.get(key, value) != value for key, value in settings.items()
    ):
        return None
    return Mix(name, *(tuple(float(values[key]) for key in part) for part in keys))


MAX_PRIORS = 48  # cached at a time; the oldest is dropped


@cache_by("spaces", "datasets", entries=50)
def knn_contents(dataset: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the hashes of a kNN's inputs: the spaces of these names and a dataset (id)."""
    return component_loader.hash_contents(read_workspace(), dataset, names)


@cache_by("spaces", "datasets", entries=3, shared=True)
def prior_cache(dataset: str) -> dict[tuple[KnnSettings, int], Priors]:
    """Return a dataset's priors, filled as they are needed: (settings, hash of the pair ids) →
    priors."""
    del dataset  # part of the key only
    return {}


@dataclass(frozen=True, slots=True)
class CachedComponents:
    """Loads components of one dataset through the page's caches; see
    `core.methods.fusion_components.ComponentLoader`."""

    dataset: Dataset

    @property
    def dataset_id(self) -> str:
        return self.dataset.id

    def run(self, name: str) -> Run:
        found = next((run for run in all_runs() if name in (run.id, run.name)), None)
        if found is None:
            raise NotFound(f"run {name!r}: not in this workspace")
        return refuse_reading(found)

    def predictions(self, run: str) -> pd.DataFrame:
        return run_rows(run)

    def index(self) -> RowIndex:
        return row_index(self.dataset.id)

    def priors(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> Priors:
        """Return the priors of these rows (None: all rows that the protocol predicts), from the
        cache if only weights changed."""
        index = self.index()
        rows = pair_ids or [
            index.pair_ids[row] for row in rows_to_predict(index, settings.protocol)
        ]
        cache, key = prior_cache(self.dataset.id), (settings, hash(tuple(rows)))
        if key not in cache:
            while len(cache) >= MAX_PRIORS:
                cache.pop(next(iter(cache)), None)
            live = neighbour_controls.find_neighbours(self.dataset, settings, tuple(rows))
            cache[key] = live.neighbourhood.priors(settings.spaces, settings.similarity)
        return cache[key]

    def predict_knn(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> DatasetPriors:
        return WorkspaceComponents(read_workspace(), self.dataset).predict_knn(settings, pair_ids)

    def contents(self, settings: KnnSettings) -> Mapping[str, Any]:
        return knn_contents(self.dataset.id, settings.spaces)
