"""Readings on pages: watched on Launch, started elsewhere, and nowhere among the runs that predict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.features.arguments import readings
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.predicting.page import launchable_methods
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import serving
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

RUBRIC = Rubric("names-a-program", "Does the brief name a program?")


@pytest.fixture
def reading(small_workspace: Workspace) -> Iterator[Run]:
    with serving() as url:
        yield readings.start_reading(
            small_workspace, RUBRIC, "debate", ReadingSettings("my reading", endpoint=url)
        )


def test_the_form_offers_no_method_that_needs_a_rubric() -> None:
    assert not {"judge_rubric", "debate_again"} & set(
        launchable_methods()
    )  # they need a rubric, and a row
    assert {"debate", "knn", "prompt_only"} <= set(launchable_methods())


@pytest.mark.soak
def test_a_reading_is_watched_on_launch_and_chosen_nowhere(
    visit: Visit, small_workspace: Workspace, reading: Run
) -> None:
    launch = visit(small_workspace, "run", watched=reading.id, method="judge_rubric")
    assert "done · 3 of 3 rows" in "".join(
        element.proto.text for element in launch.main.get("progress")
    )
    assert "my reading" in text_of(launch)
    [method] = [widget for widget in launch.selectbox if widget.label == "Method"]
    assert not [option for option in method.options if "rubric" in option]
    [run] = [widget for widget in launch.sidebar.selectbox if widget.label == "Run"]
    assert run.options == ["debate"]
    assert "my reading" not in text_of(visit(small_workspace, "overview"))
    named = visit(small_workspace, "rows", run=reading.id)
    assert (
        "reads the texts of another run and predicts nothing; showing another"
        in named.warning[0].value
    )
    assert named.query_params["run"] == the_run(small_workspace, "debate").id
