"""The tab Clash of the page Arguments."""

from __future__ import annotations

import pytest
from core.audit.clash import SPEECHES

from core.actions import readings
from core.actions.reading_settings import ReadingSettings
from core.actions.workspace import Workspace
from tests.fakes.scripted import serving
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_points_are_shown_with_how_many_quotations_are_found(small_workspace: Workspace, visit: Visit) -> None:
    with serving() as url:
        readings.start_reading(small_workspace, SPEECHES, "debate", ReadingSettings(endpoint=url))
    app = visit(small_workspace, "arguments", run="debate", tab="Clash")
    assert not app.exception
    left_out = {"passage": "a clash has quotations anyway"}
    check_form(ReadingSettings, app, "reading_", left_out, from_data=("endpoint",))
    assert "All 18 quotations are in the text word for word" in text_of(app)
    assert [len(each.value) for each in app.dataframe if "status" in each.value] == [12]
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    assert not app.exception
    assert "Clash (4)" in [each.label for each in app.expander]
    assert "NULL answers" in text_of(app)
