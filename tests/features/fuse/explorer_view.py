"""What the explorer on a page without a browser was sent, and what it shows by that: the browser's numbers are the server's."""

from __future__ import annotations

import base64
import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from core.base.texts import number_text
from core.features.fuse.explorer.content import DIRECTED, EFFECT, LABELLED, METRICS, UP
from core.stats.comparison import Difference
from core.stats.delong import widen
from core.stats.scores_and_labels import Outcome, Scores
from core.transfer.fusion import (
    FusionComparison,
    LiveFusion,
    Percentiles,
    shares_of,
    weights_of,
)
from core.transfer.row_index import Rows
from core.ui.row_list import HASH_BYTES
from tests.ui.conftest import components


def content_of(app: AppTest) -> dict[str, Any]:
    """What the explorer got of the fusion."""
    [found] = components(app, "fusion_explorer")
    return json.loads(found.bytes[HASH_BYTES:])


def opened(app: AppTest, *names: str) -> AppTest:
    """Open popovers of the page, by what their keys say: along, presets, saving, twin."""
    for name in names:
        app.session_state[f"open-{name}"] = True
    return app.run()


def state_of(app: AppTest) -> dict[str, Any]:
    """Its weights and what the server computed, as they were said last."""
    said = [json.loads(each.json) for each in components(app, "fusion_state")]
    return max(said, key=lambda state: state["noise"] is not None)


def shown(app: AppTest) -> FusionComparison:
    """The numbers that the explorer shows; NaN without labels."""
    state, content = state_of(app), content_of(app)
    found = live_of(content).score_at(weights_of(shares_of(state["de"]), shares_of(state["up"])))
    return widened(found, state["noise"])


def widened(found: FusionComparison, noise: dict[str, dict[str, float]] | None) -> FusionComparison:
    """A comparison with the noise of cuts that the explorer was told."""
    return (
        found
        if noise is None
        else replace(found, **{name: _widen(getattr(found, name), noise[name]) for name in METRICS})
    )


def move(app: AppTest, **weights: float) -> AppTest:
    """Let the hand rest at other weights, by their names in the address; the page has run with them."""
    for name, value in weights.items():
        app.session_state[name] = value
    return app.run()


def numbers(app: AppTest) -> dict[str, str]:
    """DE, DIR and their mean as the explorer shows them."""
    return {name: number_text(part.after.value) for name, part in shown(app).parts.items()}


def live_of(content: dict[str, Any]) -> LiveFusion:
    """The fusion that a content was made from."""
    flags = (
        _unpack(content["outcome"], np.uint8)
        if content["outcome"]
        else np.zeros(content["rows"], dtype=np.uint8)
    )
    columns = {
        name: np.array([_unpack(each[name], np.float64) for each in content["components"]])
        for name in ("de", "up")
    }
    scales = [each["scale"] for each in content["components"]]
    ones = np.ones(content["rows"])
    scale = (
        np.array([_unpack(each, np.float64) if each else ones for each in scales])
        if any(scales)
        else None
    )
    return LiveFusion(
        Rows(*(_unpack(content[axis], np.uint32).astype(np.intp) for axis in ("pert", "gene"))),
        Outcome(*((flags & flag > 0) for flag in (LABELLED, EFFECT, UP, DIRECTED))),
        Percentiles(columns["de"], columns["up"], scale),
        "population",
        Scores(*(_unpack(content["before"][name], np.float64) for name in ("de", "up"))),
        _unpack(content["cells"], np.uint32).astype(np.intp) if content["cells"] else None,
    )


def _unpack(text: str, kind: type[np.generic]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=np.dtype(kind).newbyteorder("<"))


def _widen(part: Difference, noise: dict[str, float]) -> Difference:
    limits = {"before": (0.0, 1.0), "after": (0.0, 1.0), "change": (-1.0, 1.0)}
    return Difference(
        *(
            widen(getattr(part, each.name), noise[each.name], limits[each.name])
            for each in fields(part)
        )
    )
