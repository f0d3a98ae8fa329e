"""What the texts of a row claim, each once, checked by packs."""

from __future__ import annotations

import pytest

from core.features.arguments import readings, row_panel
from core.features.arguments.claims import CLAIMS, load_knowledge
from core.features.arguments.readings import ReadingSettings
from core.runs.workspace import Workspace
from tests.fakes.scripted import Script, serving, write_reply
from tests.features.arguments.test_claims import import_regulation
from tests.ui.conftest import Visit

SECOND = '{"subject": "Ga", "relation": "binds", "object": "Pa", "quote": "Pa regulates Ga"}'


@pytest.mark.soak
def test_each_claim_comes_once_with_what_is_known(small_workspace: Workspace) -> None:
    import_regulation(small_workspace)
    script = Script(answer=lambda prompt: write_reply(prompt).replace("[{", f"[{SECOND}, {{"))
    with serving(script) as url:
        reading = readings.start_reading(
            small_workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    knowledge = load_knowledge(small_workspace, reading.dataset)
    with small_workspace.store.read() as db:
        rows = row_panel.findings_of_row(db, reading.id, "Pb_Ga", CLAIMS, knowledge)
        assert row_panel.findings_of_row(db, reading.id, "Pb_Gb", CLAIMS, knowledge) == []
    found = {(row["subject"], row["relation"], row["object"], row["status"]) for row in rows}
    assert found == {("Pa", "regulates", "Ga", "supported"), ("Ga", "binds", "Pa", "not known")}
    assert len(rows) == 8  # in each of four briefs


@pytest.mark.soak
def test_the_page_of_a_row_shows_its_claims_checked_by_the_packs_there_are(
    small_workspace: Workspace, visit: Visit
) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not any(each.label.startswith("Claims") for each in app.expander)
    with serving() as url:
        readings.start_reading(
            small_workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    for status in ("not known", "supported"):
        app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
        assert "Claims (4)" in [each.label for each in app.expander]
        [claims] = [each.value for each in app.dataframe if "relation" in each.value]
        assert set(claims["status"]) == {status}
        import_regulation(small_workspace)
