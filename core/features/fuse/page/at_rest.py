"""The explorer's requests to the server after a weight has changed: the noise of cuts, the
optimism, mixes and links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core.base.records import to_json
from core.features.fuse import weight_grid
from core.features.fuse.cached_components import CachedComponents
from core.features.fuse.explorer import prepare as states
from core.features.fuse.explorer.prepare import CutNoise, prepare_noise
from core.features.fuse.page import explorer, fusion_controls
from core.features.fuse.page.fusion_controls import FusionChoice
from core.stats.selection_optimism import Optimism
from core.store.runs import Run
from core.transfer.live_fusion import LiveFusion
from core.transfer.run_cells import folds_among
from core.ui import links, shell
from core.ui.background import Result, background
from core.ui.widgets import flush

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
        explorer.say_state(version, state, "rest")
        return
    is_known = st.session_state.get(_NOISE, (None,))[0] == fusion_controls.key_against(
        choice, baseline
    )
    if not is_known and folds_among(fusion_controls.protocols_of(choice)):
        explorer.say_state(version, state | {"caution": _COMPUTING}, "first")
        flush()
    state["noise"] = states.noise_at(find_noise(choice, baseline), choice.settings().weights())
    ask = _ask_optimism(choice, baseline, prepared, position)
    shell.draw_until_ready(
        lambda: explorer.say_state(version, state | {"caution": _caution(ask())}, "rest"),
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
