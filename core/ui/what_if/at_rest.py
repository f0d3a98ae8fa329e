"""What the explorer of a fusion asks of the server once the hand rests: the noise of cuts, the optimism, mixes and links."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from core.explorer.content import noise_of_cuts
from core.stats.selection_optimism import Optimism
from core.store.runs import Run
from core.texts import number_text
from core.transfer import weight_grid
from core.transfer.live_fusion import LiveFusion
from core.transfer.run_cells import folds_among
from core.ui.shared import shell
from core.ui.shared.background import Progress, Result, background
from core.ui.shared.widgets import flush
from core.ui.what_if import cut_noise, explorer, fusion_controls, mixes
from core.ui.what_if.fusion_controls import FusionChoice

_COMPUTING = "How much less weights score that were chosen on other perturbations and genes is being computed."
_REST = {  # of what is left for the base, by `FusionChoice.by_support`
    "no": "",
    "more": "more in rows where neighbours have less support",
    "less": "more in rows where neighbours have more support",
}


def say_all(choice: FusionChoice, baseline: Run, prepared: LiveFusion, version: str) -> None:
    """Tell the explorer its weights at once, and what takes longer when it is there."""
    state = _state_at_once(choice)
    if not choice.labelled:
        explorer.say_state(version, state, "rest")
        return
    cuts = cut_noise.kept_cuts(choice)
    if cuts is None and folds_among(fusion_controls.protocols_of(choice)):
        explorer.say_state(version, state | {"caution": _COMPUTING}, "first")
        flush()
        cuts = cut_noise.make_cuts(choice)
    scores = None if cuts is None else cut_noise.scores_under(choice, baseline, cuts)
    state["noise"] = None if scores is None else noise_of_cuts(*scores)
    ask = _ask_optimism(choice, baseline, prepared, state["position"])
    shell.draw_until_ready(lambda: explorer.say_state(version, state | {"caution": caution(ask())}, "rest"), lambda: ask().ready)


def _state_at_once(choice: FusionChoice) -> dict[str, Any]:
    return {
        **fusion_controls.slider_weights(choice),
        "position": fusion_controls.moved_component(choice),
        "noise": None,
        "caution": "",
        "mixes": mixes.of_choice(choice),
        "links": explorer.row_links(choice),
        "rest": _REST[choice.by_support],
    }


def caution(asked: Result) -> str:
    """How optimistic the best weights of the plane are, in a sentence; "" where nothing can be chosen."""
    if not asked.ready:
        return _COMPUTING
    found: Optimism | None = asked.value
    if found is None or math.isnan(found.optimism):
        return ""
    return (
        f"Weights chosen on other perturbations and genes score {number_text(found.optimism)} less than the best of the plane: "
        f"mean of {found.cuts} cuts, {number_text(found.low)} to {number_text(found.high)}."
    )


def _ask_optimism(choice: FusionChoice, baseline: Run, prepared: LiveFusion, position: int) -> Callable[[], Result]:
    """How to ask for the optimism of choosing a component's weights, which is there at once unless there are many rows."""
    weights = weight_grid.move_one(position, choice.w_de, choice.w_dir)
    held: Sequence[tuple[float, ...]] = [part[:position] + part[position + 1 :] for part in (choice.w_de, choice.w_dir)]
    key = ("optimism", fusion_controls.key_against(choice, baseline), position, *held)

    def compute(progress: Progress) -> Optimism:
        return weight_grid.weight_optimism(prepared, weights=weights, progress=progress)

    return lambda: background().ask(key, compute)
