"""The numbers of spaces on Neighbours and What-if: at first what is there at once, then what the background computed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.features.neighbours.page import loaders as space_numbers
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.workspace import Workspace
from core.transfer.knn_settings import KnnSettings
from core.transfer.permutation_null import PermutationNull
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import cut_values
from core.ui import background
from tests.features.fuse.explorer_view import move
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

pytestmark = pytest.mark.soak

NULL = PermutationNull(np.column_stack((np.linspace(0.4, 0.6, 99), np.full(99, 0.25))), 0)
LABELLED = "simulated debate"


@pytest.fixture
def computing(monkeypatch: pytest.MonkeyPatch, visit: Visit) -> Iterator[Visit]:
    """Pages whose server computes in the background, at once; a null takes no time and is `NULL`."""
    results = background.Background()
    monkeypatch.setattr(background, "QUIET_S", 0.0)
    monkeypatch.setattr(background, "REST_S", 0.0)  # these tests draw a page again and again
    monkeypatch.setattr(space_numbers, "background", lambda: results)
    monkeypatch.setattr(component_loader, "permutation_null", lambda *_: NULL)
    yield visit
    while results._thread is not None:
        time.sleep(0.01)


def run_until(app: AppTest, words: str) -> str:
    end = time.monotonic() + 60
    while words not in shown(app):
        assert time.monotonic() < end, shown(app)
        time.sleep(0.05)
        app.run()
    return shown(app)


def shown(app: AppTest) -> str:
    """All text and all tables of a page, without what escapes Markdown."""
    tables = " ".join(table.value.to_csv() for table in app.dataframe)
    return f"{text_of(app)} {tables}".replace("\\", "").replace("\u2060", "")


def expected(workspace: Workspace, power: float) -> tuple[float, float]:
    dataset = default_dataset(workspace, None)
    found = WorkspaceComponents(workspace, dataset).predict_knn(
        KnnSettings(("simulated",), EvaluationProtocol()), None
    )
    similarity = replace(
        found.inputs.similarity, weighting=replace(found.inputs.similarity.weighting, power=power)
    )
    de, direction = cut_values(replace(found.inputs, similarity=similarity), found.labels).mean(
        axis=0
    )
    return float(de), float(direction)


def test_neighbours_and_what_if_say_what_the_neighbours_score_by_themselves(
    computing: Visit, little_copy: Workspace
) -> None:
    de, direction = expected(little_copy, 3.0)
    text = run_until(computing(little_copy, "neighbours", power="3.0"), "permuted vectors 0.250")
    assert f"These settings: DE {de:.3f} (permuted" in text
    assert f"DIR {direction:.3f} (permuted" in text
    assert "mean of ten cuts (seeds 0–9), inside 5×5 cells" in text
    [kept] = (little_copy.settings.cache / "permuted").glob("*.npy")
    np.testing.assert_allclose(np.load(kept), NULL.values)
    app = computing(little_copy, "fuse", run=LABELLED)
    text = run_until(app, "permuted vectors 0.250 ± 0.000, one-sided p = 0.01)")
    assert "Neighbours alone: DE " in text


def test_until_they_are_there_the_page_says_so(visit: Visit, little_copy: Workspace) -> None:
    for page, words in (("neighbours", "These settings"), ("fuse", "Neighbours alone")):
        text = shown(visit(little_copy, page, run=LABELLED))
        assert f"{words}: the mean of ten cuts (seeds 0–9) is being computed" in text


def test_a_weight_asks_for_nothing_new(
    computing: Visit, little_copy: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = computing(little_copy, "fuse", run=LABELLED)
    run_until(app, "permuted vectors 0.250")
    monkeypatch.setattr(space_numbers, "content_key", None)  # whoever makes a new task now fails
    move(app, w_de_knn=0.8)
    assert "permuted vectors 0.250" in shown(app)


def test_failing_is_said(
    computing: Visit, little_copy: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_numbers.run_cells, "predict_cuts", None)
    run_until(computing(little_copy, "neighbours"), "could not be computed: the log says why")
