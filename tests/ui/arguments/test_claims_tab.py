"""The tab Claims of the page Arguments."""

from __future__ import annotations

import pytest
from core.audit.rules.claims import RULE

from core.actions import readings
from core.actions.reading_settings import ReadingSettings
from core.actions.workspace import Workspace
from core.ui.arguments import claims_tab
from tests.fakes.scripted import serving
from tests.test_cli_claims import import_regulation
from tests.ui.conftest import Visit
from tests.ui.rows.test_claims import AtOnce
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_claims_by_rules_and_by_a_model_are_shown_apart(
    small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_regulation(small_workspace)
    monkeypatch.setattr(claims_tab, "background", AtOnce)
    with serving() as url:
        reading = readings.start_reading(small_workspace, RULE.rubric, "debate", ReadingSettings(endpoint=url))
    app = visit(small_workspace, "arguments", run="debate", tab="Claims")
    assert not app.exception
    assert "rules find 7 claims about genes in 12 briefs" in text_of(app)
    assert "Nobody has labelled a brief" in text_of(app)
    [claims] = [each.value for each in app.dataframe if "known" in each.value]
    assert set(claims["known"]) == {"collectri: Pa activates Ga"}
    app = visit(small_workspace, "arguments", run="debate", tab="Claims", claims_reader=reading.id)
    assert not app.exception
    assert "both find 7" in text_of(app)
    [claims] = [each.value for each in app.dataframe if "quote" in each.value]
    assert len(claims) == 7
    app = visit(small_workspace, "arguments", run="debate", tab="Label", rubric="right_claim")
    assert not app.exception
    assert "Listed by claims of debate by scripted" in text_of(app)
