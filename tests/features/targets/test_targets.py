"""The page Targets, without a browser: empty, trained, its tabs, links, another evaluation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import EvaluationRequest
from core.features.targets.tables import TargetTable
from core.runs.jobs.state import record_ending
from core.runs.workspace import Workspace
from tests.features.targets import cases
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import press, text_of


@pytest.fixture
def trained(workspace: Workspace) -> Iterator[Workspace]:
    """A workspace with a target ranking, evaluated twice: on averaged conditions, and last on cells with masked targets."""
    with cases.registered():
        target_ranking.train(workspace, cases.request(), lambda _line: None)
        target_ranking.evaluate_saved(workspace, "small", EvaluationRequest("targets", "cell"))
        yield workspace


def test_an_empty_page_says_what_it_is_for(visit: Visit, workspace: Workspace) -> None:
    app = visit(workspace, "targets")
    assert "Target ranking is the reverse problem" in text_of(app)
    assert [button.label for button in app.button] == ["Start training"]


@pytest.mark.soak
def test_the_table_stands_beside_random_and_ceiling(visit: Visit, trained: Workspace) -> None:
    app = visit(
        trained, "targets", evaluation="averaged conditions, no mask", metric="relevant_hit"
    )
    table, published = (
        each.value for each in app.dataframe if "curve" not in each.value
    )  # without the figure's
    assert table["model"].tolist() == [
        "fallen",
        "fallen_trained",
        "random ranking",
        "ceiling, trained genes only",
    ]
    values = table["relevant hit@10"].str.partition(" ")[0].tolist()
    assert [float(value) for value in values[:2]] == [1.0, 0.625]
    assert float(values[3]) == 0.625
    assert published["model"].tolist() == ["scGPT", "pca_knn", "random_forest", "xgboost"]
    text = text_of(app).replace("\\", "")
    assert "relevant 5/8 from k = 1" in text
    assert "recall 2.5/8 from k = 1, 3.5/8 from k = 2" in text
    assert "exact 0/8 from k = 1, 2/8 from k = 2" in text


@pytest.mark.soak
def test_the_latest_evaluation_is_shown_and_another_is_a_choice(
    visit: Visit, trained: Workspace
) -> None:
    app = visit(trained, "targets")
    [choice] = [box for box in app.selectbox if box.label == "Evaluation"]
    assert choice.options == ["single cells, all targets masked", "averaged conditions, no mask"]
    assert "rankings of 8 conditions" in text_of(app)


@pytest.mark.soak
def test_the_training_is_shown_with_its_curves(visit: Visit, trained: Workspace) -> None:
    app = visit(trained, "targets", tab="Training")
    assert "900 cells, 80 genes" in text_of(app).replace("\\", "")
    assert len(app.get("plotly_chart")) == 2
    assert [button.label for button in app.button] == ["Start training"]


def test_a_failed_training_says_why_and_can_be_resumed(visit: Visit, workspace: Workspace) -> None:
    with cases.registered():
        folder = target_ranking.create(workspace, cases.request())
        record_ending(folder, "failed", "no memory")
        app = visit(workspace, "targets", tab="Training")
        [bar] = app.main.get("progress")
        assert bar.proto.text.replace("\\", "") == "failed; can be resumed"
        assert app.error[0].value == "no memory"
        assert "Resume" in [button.label for button in app.button]
        visit(workspace, "targets")


@pytest.mark.soak
def test_another_mask_is_evaluated_and_shown(visit: Visit, trained: Workspace) -> None:
    app = visit(trained, "targets")
    check_form(EvaluationRequest, app, "")
    [mask] = [box for box in app.selectbox if box.label == "Mask"]
    mask.select("strongest")
    app = press(app, "Evaluate")
    [choice] = [box for box in app.selectbox if box.label == "Evaluation"]
    assert "averaged conditions, 10 strongest genes masked" in choice.options
    assert choice.value == target_ranking.find(trained).evaluations()[-1].key


def test_curves_start_with_the_best_model_and_end_with_the_references() -> None:
    values = [("knn", 0.2, 0.3), ("trees", 0.1, 0.4)]
    names = ("model", "metric", "k", "estimate", "low", "high", "random", "ceiling")
    rows = [
        (model, "recall", k, y, y, y, 0.0, 0.5)
        for model, *by_k in values
        for k, y in zip((1, 10), by_k, strict=True)
    ]
    figure = TargetTable(
        rows=tuple(dict(zip(names, row, strict=True)) for row in rows), metric="recall"
    ).figure()
    curves = figure.values["table"]
    assert curves["curve"].unique().tolist() == [
        "trees",
        "knn",
        "random ranking",
        "ceiling, trained genes only",
    ]
    assert curves["x"].tolist() == ["1", "10"] * 4
    assert curves[curves["curve"] == "trees"]["y"].tolist() == [0.1, 0.4]
