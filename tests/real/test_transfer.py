"""Decomposition of the published fusions; kNN transfer and fusion with the pool: test_runs_of_spaces.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.stats.scores_and_labels import Scores, scores_from_probabilities, submitted_parts
from core.transfer.fusion import (
    Component,
    RecoveredComponent,
    decompose_fusion,
    fuse,
    percentiles_of,
    weights_of,
)

pytestmark = pytest.mark.real


def _submission(data: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(data / "perturbagent" / f"{name}.zip", keep_default_na=False)


def _file_scores(frame: pd.DataFrame) -> Scores:
    up, down = frame["prediction_up"].to_numpy(), frame["prediction_down"].to_numpy()
    return scores_from_probabilities(up + down, up / (up + down))


class Published:
    """The published debate and its fusions, on the debate's rows."""

    def __init__(self, data: Path) -> None:
        debate = _submission(data, "track_b_sharp")
        self.data, self.ids = data, debate["id"]
        traces = [json.loads(trace) for trace in debate["reasoning_trace"]]
        self.base = scores_from_probabilities(
            *([trace[key] for trace in traces] for key in ("P_DE", "P_up_given_DE"))
        )

    def fusion(self, name: str) -> pd.DataFrame:
        return _submission(self.data, name).set_index("id").loc[self.ids]

    def recovered(self, name: str, w_dir: float = 0.5) -> RecoveredComponent:
        return decompose_fusion(self.base, _file_scores(self.fusion(name)), 0.5, w_dir)


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Published:
    return Published(shared_data)


def test_two_fusions_give_the_same_component(published: Published) -> None:
    half, more = (
        published.recovered("track_b_scgpt_fusion"),
        published.recovered("track_b_scgpt_fusion_wdir07", 0.7),
    )
    assert (half.uncovered.sum(), more.uncovered.sum()) == (296, 296)
    np.testing.assert_allclose(half.p_de, more.p_de, atol=2e-6)
    np.testing.assert_allclose(half.p_up, more.p_up, atol=1.5e-4)
    assert max(*half.farthest, *more.farthest) < 0.1


@pytest.mark.parametrize(
    ("name", "uncovered", "w_dir"),
    [
        ("track_b_scgpt_fusion", 296, 0.5),
        ("track_b_scgpt_fusion_wdir07", 296, 0.7),
        ("track_b_knn_fusion", 336, 0.5),
    ],
)
def test_fused_again_it_is_the_published_file(
    published: Published, name: str, uncovered: int, w_dir: float
) -> None:
    found = published.recovered(name, w_dir)
    assert found.uncovered.sum() == uncovered
    components = [
        Component("base", published.base.p_de, published.base.p_up),
        Component("knn", found.p_de, found.p_up),
    ]
    again = fuse(percentiles_of(components), weights_of([0.5], [w_dir]))
    frame = published.fusion(name)
    up, down = submitted_parts(again.p_de, again.p_up)
    np.testing.assert_array_equal(np.round(up, 6), frame["prediction_up"])
    np.testing.assert_array_equal(np.round(down, 6), frame["prediction_down"])
    assert again.uncovered.sum() == uncovered
