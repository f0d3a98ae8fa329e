"""The tabs Rubrics and Worth of the page Arguments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.features.arguments import readings
from core.features.arguments.readings import ReadingSettings
from core.runs.workspace import Workspace
from tests.features.arguments.reading import RUBRIC
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import text_of

BY_PATTERN = replace(
    RUBRIC, name="program", pattern="program"
)  # all briefs of tests/cases.py but one speak of a program


@pytest.mark.soak
def test_a_rules_rate_asks_for_no_labels_and_its_texts_are_listed(
    small_workspace: Workspace, visit: Visit
) -> None:
    readings.add_rubric(small_workspace, BY_PATTERN)
    app = visit(small_workspace, "arguments", run="debate", rubric=BY_PATTERN.name)
    assert not app.exception
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
    assert not app.exception
    assert not app.error
    [table] = [each.value for each in app.dataframe if "measure" in each.value]
    assert table["measure"].tolist() == ["hit rate", "DE contribution", "DIR contribution"]
    assert set(table["rows with it"]) == {"3"}
