"""The explorer of a fusion on its page: its content, and the weights that it sends back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.base.hashes import sha256_of
from core.base.records import to_json
from core.features.fuse import weight_grid
from core.features.fuse.cached_components import CachedComponents
from core.features.fuse.explorer import content, prepare
from core.features.fuse.explorer.content import FusionRows, make_content
from core.features.fuse.explorer.prepare import CutNoise, prepare_noise
from core.features.fuse.page import fusion_controls
from core.features.fuse.page.fusion_controls import FusionChoice
from core.methods.fusion_components import describe_rest
from core.stats.selection_optimism import Optimism
from core.store.runs import Run
from core.transfer.live_fusion import LiveFusion
from core.transfer.run_cells import folds_among
from core.ui import links, shell
from core.ui.background import Result, background
from core.ui.loaders.scores import run_rows
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
    state["noise"] = prepare.noise_at(find_noise(choice, baseline), choice.settings().weights())
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
    optimism: Optimism | None = asked.value
    if not asked.ready:
        return _COMPUTING
    return optimism.sentence if optimism is not None else ""


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
