"""Blends of probabilities, such as replicates under several seeds merged into one run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.actions import launch
from core.actions.workspace import Workspace
from core.engine.request import RunRequest
from core.errors import InputError
from core.methods.blend import build_results
from core.methods.fusion import BaseRow
from core.store import predictions, runs
from core.transfer.fusion import Component, weights_of
from core.types import Flag
from tests import worlds


def test_probabilities_are_averaged_and_named() -> None:
    base = [BaseRow(key, (), None, 5, 1) for key in ("a", "b", "c")]
    components = [
        Component("one", np.array([0.2, 0.4, np.nan]), np.array([0.5, 0.5, np.nan])),
        Component("two", np.array([0.6, np.nan, np.nan]), np.array([0.7, np.nan, np.nan])),
    ]
    a, b, c = build_results(base, components, weights_of([0.5], [0.25]), np.array([300.0, np.nan, 1.0]))
    # (0.2 + 0.6) / 2 and 0.75 · 0.5 + 0.25 · 0.7
    assert (a.prediction.p_de, a.prediction.p_up_given_de) == pytest.approx((0.4, 0.55))
    assert a.prediction.prediction_up == pytest.approx(0.4 * 0.55)
    assert (a.prediction.tokens, b.prediction.tokens) == (300, None)
    assert "0.200000 (one, weight 0.5) and 0.600000 (two, weight 0.5)" in a.events[0].content
    assert (b.prediction.p_de, b.prediction.flags) == (pytest.approx(0.4), (Flag.PARTLY_COVERED,))
    assert Flag.UNCOVERED in c.prediction.flags


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worlds.template(tmp_path_factory.mktemp("furnished"), worlds.furnish)


@pytest.mark.soak
def test_runs_are_merged_with_their_parents(workspace: Workspace, furnished: Path) -> None:
    place = worlds.copied(furnished, workspace)
    knn = launch.start(place, RunRequest("knn", options={"spaces": "near"}, name="knn"))
    merged = launch.start(place, RunRequest("blend", options={"base": "llm train", "with": "knn"}, name="merged"))
    with place.store.read() as db:
        base = runs.find(db, "llm train")
        parts = [predictions.frame(db, run.id).set_index("pair_id") for run in (base, knn, merged)]
    assert merged.parents == (base.id, knn.id)
    one, two, both = (part.loc[parts[2].index] for part in parts)
    plain = [not flags for flags in both["flags"].map(list)]
    assert any(plain)
    assert both["p_de"][plain].to_numpy() == pytest.approx(((one["p_de"] + two["p_de"]) / 2)[plain].to_numpy())
    assert merged.evaluation is not None
    assert (merged.evaluation["protocols"], len(merged.evaluation["cuts"])) == (knn.evaluation["protocols"], 10)  # type: ignore[index]
    again = RunRequest("blend", options={"base": "llm train", "with": "knn", "w_de": "0.5", "w_dir": ".5"}, name="other")
    assert launch.start(place, again).id == merged.id
    launch.start(place, RunRequest("fusion", options={"base": "llm train", "with": "knn"}, name="fused"))
    with pytest.raises(InputError, match="fused: its numbers are ranks, expected probabilities"):
        launch.start(place, RunRequest("blend", options={"base": "llm train", "with": "fused"}))
