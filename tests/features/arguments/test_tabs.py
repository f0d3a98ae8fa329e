"""The tabs Rubrics and Worth of the page Arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from core.features.arguments import readings
from core.features.arguments.findings import CLAIMS, CLASH
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.predicting.page import launchable_methods
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import serving
from tests.features.arguments.reading import RUBRIC
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import text_of, the_run

BY_PATTERN = replace(
    RUBRIC, name="program", pattern="program"
)  # all briefs of tests/cases.py but one speak of a program


@pytest.mark.soak
def test_a_rules_rate_asks_for_no_labels_and_its_texts_are_listed(
    small_workspace: Workspace, visit: Visit
) -> None:
    readings.add_rubric(small_workspace, BY_PATTERN)
    app = visit(small_workspace, "arguments", run="debate", rubric=BY_PATTERN.name)
    assert not app.error
    text = text_of(app)
    check_form(ReadingSettings, app, "reading_", from_data=("endpoint",))
    assert "11 of 12 texts" in text
    assert "which has no error rate" in text
    assert "labels" not in text
    [texts] = [each.value for each in app.dataframe if "text" in each.value]
    assert texts["role"].tolist().count("UP") == 2


@pytest.mark.soak
def test_a_rule_that_says_nothing_of_a_run_shows_no_rate_and_is_not_tried(
    small_workspace: Workspace, visit: Visit
) -> None:
    with small_workspace.store.write() as db:
        db.execute(
            "UPDATE trace_event SET kind = 'answer' WHERE kind = 'brief' OR kind = 'verdict'"
        )
    app = visit(
        small_workspace, "arguments", run="debate"
    )  # the first rubric that asks about whole rows counts briefs
    text = text_of(app)
    assert "Its rule says nothing of debate" in text
    assert "nan" not in text
    text = text_of(visit(small_workspace, "arguments", run="debate", tab="Worth"))
    assert "No rubric is chosen" in text


@pytest.mark.soak
def test_numbers_of_a_built_in_rubric_lead_to_their_rows(
    small_workspace: Workspace, visit: Visit
) -> None:
    app = visit(small_workspace, "arguments", run="debate", rubric="option")
    links = [each.proto for each in app.get("page_link") if "brief=" in each.proto.query_string]
    assert len(links) == 1


@pytest.mark.soak
def test_a_rubric_is_added_from_the_page(small_workspace: Workspace, visit: Visit) -> None:
    app = visit(small_workspace, "arguments", run="debate")
    app.text_input(key="note-rubric-name").input("names-a-program")
    app.text_input(key="note-rubric-question").input(RUBRIC.question)
    app.text_input(key="note-rubric-pattern").input("program")
    stages = app.multiselect(key="note-rubric-stages")
    assert stages.options == ["de", "dir"]  # those of the run
    stages.set_value(["de", "debate"])
    app.run()
    app.button(key="add-rubric-now").click().run()
    assert not app.error
    assert readings.find_rubric(small_workspace, RUBRIC.name) == replace(
        RUBRIC, pattern="program", stages=("de", "debate")
    )
    assert app.query_params["rubric"] == RUBRIC.name


@pytest.mark.soak
def test_worth_compares_rows_with_and_without(small_workspace: Workspace, visit: Visit) -> None:
    readings.add_rubric(small_workspace, BY_PATTERN)
    app = visit(small_workspace, "arguments", run="debate", tab="Worth", tried=[BY_PATTERN.name])
    assert not app.error
    [table] = [each.value for each in app.dataframe if "measure" in each.value]
    assert table["measure"].tolist() == ["hit rate", "DE contribution", "DIR contribution"]
    assert set(table["rows with it"]) == {"3"}


@pytest.mark.soak
def test_claims_are_shown_once_a_model_has_read_them(
    small_workspace: Workspace, visit: Visit
) -> None:
    app = visit(small_workspace, "arguments", run="debate", tab="Findings")
    assert "No model has read the texts of this run yet" in text_of(app)
    assert "plan-reading" in [each.key for each in app.button]  # the form that starts one
    with serving() as url:
        reading = readings.start_reading(
            small_workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(
        small_workspace, "arguments", run="debate", tab="Findings", findings_reader=reading.id
    )
    assert "scripted finds 7 claims" in text_of(app)
    [*_, claims] = [each.value for each in app.dataframe if "quote" in each.value]
    assert len(claims) == 7


@pytest.mark.soak
def test_points_are_shown_with_how_many_quotations_stand_in_the_text(
    small_workspace: Workspace, visit: Visit
) -> None:
    with serving() as url:
        readings.start_reading(
            small_workspace, CLASH.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(small_workspace, "arguments", run="debate", tab="Findings", findings="clash")
    left_out = ("passage",)  # a clash has quotations anyway
    check_form(ReadingSettings, app, "reading_", left_out, from_data=("endpoint",))
    assert "All 18 quotations are in the text word for word" in text_of(app)
    assert len([each.value for each in app.dataframe if "status" in each.value][-1]) == 12
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    assert "Clash (4)" in [each.label for each in app.expander]
    [points] = [each.value for each in app.dataframe if "answer by" in each.value]
    assert "NULL" in set(points["answer by"])


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
