"""The explorer of a fusion on its page: its content, and the weights that it sends back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from core.base.errors import NotFound
from core.base.hashes import sha256_of
from core.base.records import to_json
from core.features.fuse import weight_grid
from core.features.fuse.explorer import content as component
from core.features.fuse.explorer import prepare as states
from core.features.fuse.explorer.content import FusionRows, make_content
from core.features.fuse.explorer.prepare import CutNoise, prepare_noise
from core.features.fuse.page import fusion_controls
from core.features.fuse.page.fusion_controls import FusionChoice
from core.features.neighbours.page import neighbour_controls
from core.methods.fusion_components import DatasetPriors
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents
from core.stats.selection_optimism import Optimism
from core.store.datasets import Dataset
from core.store.runs import Run, refuse_reading
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, rows_to_predict
from core.transfer.live_fusion import LiveFusion
from core.transfer.row_index import RowIndex
from core.transfer.run_cells import folds_among
from core.ui import links, shell
from core.ui.background import Result, background
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import all_runs, row_index
from core.ui.loaders.scores import run_rows
from core.ui.server_workspace import read_workspace
from core.ui.widgets import flush

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
    css=component.style(),
    js=component.app_script(),
)
_state = st.components.v2.component("fusion_state", html="<div></div>", js=_SAY_STATE)


def show_explorer(choice: FusionChoice, baseline: Run, prepared: LiveFusion) -> str:
    """Show the explorer of a fusion without its state (see `say_state`); return the version of its
    content.

    The weights that it sends are stored in the session, which the page reads in its next run.
    """

    def pack() -> bytes:
        """Return the content as JSON behind its hash; app.js reads both."""
        content = json.dumps(make_content(prepared, name_rows(choice, baseline))).encode()
        return sha256_of(content).encode() + content

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
    names = [choice.base.name, *(fusion_controls.title_of(key) for key in choice.others)]
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
    address = {"dataset": choice.base.dataset, "run": choice.base.id}
    pages = {"row": "rows", "neighbours": "neighbours"}
    position = fusion_controls.moved_component(choice)
    state: dict[str, Any] = {
        **fusion_controls.slider_weights(choice),
        "position": position,
        "noise": None,
        "caution": "",
        "mixes": [to_json(mix) for mix in fusion_controls.of_choice(choice)],
        # The addresses of a row's debate and of its neighbours, each to be followed by its id.
        "links": {
            name: f"{links.page_address(page, **address)}&row=" for name, page in pages.items()
        },
        "rest": states.describe_rest(choice.how.by_support, by_agreement=choice.how.by_agreement),
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
    state["noise"] = states.noise_at(find_noise(choice, baseline), choice.settings().weights())
    ask = _ask_optimism(choice, baseline, prepared, position)
    shell.draw_until_ready(
        lambda: say_state(version, state | {"caution": _caution(ask())}, "rest"),
        lambda: ask().ready,
    )


def find_noise(choice: FusionChoice, baseline: Run) -> CutNoise | None:
    """Return the noise of the cuts of the fusion on screen, computed once while only weights
    change; None if unknown."""

    def prepare() -> CutNoise | None:
        rows = fusion_controls.rows_of_baseline(choice, baseline)
        return prepare_noise(CachedComponents(choice.dataset), choice.settings(), rows)

    return fusion_controls.keep(_NOISE, choice, baseline, prepare)


def _caution(asked: Result) -> str:
    found: Optimism | None = asked.value
    if not asked.ready:
        return _COMPUTING
    return found.sentence if found is not None else ""


def _ask_optimism(
    choice: FusionChoice, baseline: Run, prepared: LiveFusion, position: int
) -> Callable[[], Result]:
    """Return the task that computes the optimism of choosing a component's weights."""
    weights = weight_grid.move_one(position, choice.w_de, choice.w_dir)
    held: Sequence[tuple[float, ...]] = [
        part[:position] + part[position + 1 :] for part in (choice.w_de, choice.w_dir)
    ]
    key = ("optimism", fusion_controls.key_against(choice, baseline), position, *held)

    return lambda: background().ask(
        key, lambda progress: weight_grid.weight_optimism(prepared, weights, progress=progress)
    )


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
