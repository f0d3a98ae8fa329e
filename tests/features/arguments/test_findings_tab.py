"""The tab Findings of the page Arguments: claims and clash, by the same part."""

from __future__ import annotations

import pytest

from core.features.arguments import findings_tab, readings
from core.features.arguments.claims import CLAIMS
from core.features.arguments.clash import CLASH
from core.features.arguments.readings import ReadingSettings
from core.runs.workspace import Workspace
from tests.fakes.scripted import serving
from tests.features.arguments.test_claims import import_regulation
from tests.features.reading.test_row import AtOnce
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import text_of


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tab shows is computed at once."""
    monkeypatch.setattr(findings_tab, "background", AtOnce)


@pytest.mark.soak
def test_claims_are_shown_once_a_model_has_read_them(
    small_workspace: Workspace, visit: Visit
) -> None:
    import_regulation(small_workspace)
    app = visit(small_workspace, "arguments", run="debate", tab="Findings")
    assert not app.exception
    assert "No model has read the texts of this run yet" in text_of(app)
    assert "plan-reading" in [each.key for each in app.button]  # the form that starts one
    with serving() as url:
        reading = readings.start_reading(
            small_workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(
        small_workspace, "arguments", run="debate", tab="Findings", findings_reader=reading.id
    )
    assert not app.exception
    assert "scripted finds 7 claims" in text_of(app)
    [*_, claims] = [each.value for each in app.dataframe if "quote" in each.value]
    assert len(claims) == 7
    assert set(claims["pack entry"]) == {"collectri: Pa activates Ga"}
    app = visit(small_workspace, "arguments", run="debate", tab="Label", rubric="right_claim")
    assert not app.exception
    assert "Listed by claims of debate by scripted" in text_of(app)


@pytest.mark.soak
def test_points_are_shown_with_how_many_quotations_stand_in_the_text(
    small_workspace: Workspace, visit: Visit
) -> None:
    with serving() as url:
        readings.start_reading(
            small_workspace, CLASH.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(small_workspace, "arguments", run="debate", tab="Findings", findings="clash")
    assert not app.exception
    left_out = ("passage",)  # a clash has quotations anyway
    check_form(ReadingSettings, app, "reading_", left_out, from_data=("endpoint",))
    assert "All 18 quotations are in the text word for word" in text_of(app)
    assert len([each.value for each in app.dataframe if "status" in each.value][-1]) == 12
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    assert not app.exception
    assert "Clash (4)" in [each.label for each in app.expander]
    [points] = [each.value for each in app.dataframe if "answer by" in each.value]
    assert "NULL" in set(points["answer by"])
