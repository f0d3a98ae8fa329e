"""The tab Clash of the page Arguments."""

from __future__ import annotations

import pytest

from core.actions import readings
from core.actions.reading_settings import ReadingSettings
from core.actions.workspace import Workspace
from core.audit.clash import SPEECHES
from tests.fakes.scripted import serving
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import text_of


def read_debates(workspace: Workspace, run: str = "debate") -> None:
    with serving() as url:
        readings.start_reading(workspace, SPEECHES, run, ReadingSettings(endpoint=url))


def test_points_are_shown_with_how_many_quotations_are_found(small_workspace: Workspace, visit: Visit) -> None:
    read_debates(small_workspace)
    app = visit(small_workspace, "arguments", run="debate", tab="Clash", clash_side="DOWN")
    assert not app.exception
    left_out = {"passage": "a clash has quotations anyway"}
    check_form(ReadingSettings, app, "reading_", left_out, from_data=("endpoint",))
    assert "All 18 quotations are in the text word for word" in text_of(app)
    assert [len(each.value) for each in app.dataframe if "status" in each.value] == [3]
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    assert not app.exception
    assert "Clash (4)" in [each.label for each in app.expander]
    assert "NULL answers" in text_of(app)


@pytest.mark.soak
def test_a_link_of_points_still_opens_them(small_workspace: Workspace, visit: Visit) -> None:
    """By side and status, and those alone that the judge takes up: here none, since no judge gives a reason."""
    read_debates(small_workspace)
    app = visit(small_workspace, "arguments", run="debate", tab="Clash", clash_side="DOWN", clash_status="ignored")
    assert [set(each.value["side"]) | set(each.value["status"]) for each in app.dataframe if "status" in each.value] == [
        {"DOWN", "ignored"}
    ]
    app = visit(small_workspace, "arguments", run="debate", tab="Clash", clash_decisive="true")
    assert "No point matches the filters." in text_of(app)
