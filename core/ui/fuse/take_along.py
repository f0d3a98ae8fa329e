"""Take the fusion on the screen along: one HTML file in which a colleague weighs it anew."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.actions import machine_names
from core.actions.workspace import Workspace
from core.explorer.component import make_file
from core.explorer.prepare import REST, Mix
from core.explorer.travel import Fusion, data_of_file
from core.store.runs import Run
from core.transfer.live_fusion import LiveFusion
from core.transfer.run_cells import describe_scoring
from core.ui.fuse import at_rest, explorer, fusion_controls, mixes
from core.ui.fuse.fusion_controls import FusionChoice
from core.ui.shared.figure_menu import file_name_of
from core.ui.shared.linked import bind

_NOW = "as on the page"  # the mix that the file begins at


def show_take_along(workspace: Workspace, choice: FusionChoice, baseline: Run, prepared: LiveFusion) -> None:
    """Show whether labels travel, and the button that makes the file."""
    labels = choice.labelled and st.toggle("With the labels of its rows", value=True, **bind("take_labels", default=True))
    weights = fusion_controls.slider_weights(choice)
    now = Mix(_NOW, tuple(weights["de"]), tuple(weights["up"]))
    fusion = Fusion(
        f"{choice.dataset.name} · {choice.base.name} with {', '.join(map(fusion_controls.title_of, choice.others))}",
        prepared,
        explorer.name_rows(choice, baseline),
        at_rest.find_noise(choice, baseline) if choice.labelled else None,
        describe_scoring(fusion_controls.protocols_of(choice)),
        REST[choice.by_support],
    )
    build = partial(_make, workspace, fusion, now, mixes.of_choice(choice), labels=labels)
    st.download_button(
        "HTML file", build, f"{file_name_of('fusion')}.html", key="take-along", on_click="ignore", icon=":material/download:"
    )
    if choice.labelled:
        with_labels = "Scores, intervals and plane follow the hand." if labels else "Labels stay here: ranks follow the hand."
        st.caption(f"{with_labels} It opens in a browser without a network, and asks nothing of any server.")


def _make(workspace: Workspace, fusion: Fusion, now: Mix, saved: list[Mix], *, labels: bool) -> bytes:
    content = make_file(data_of_file(fusion, now, saved, labels=labels))
    machine_names.refuse_secrets(workspace.settings, "the fusion", [content])
    return content
