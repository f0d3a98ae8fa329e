"""What the texts of a row claim, each once, checked by packs."""

from __future__ import annotations

import pytest

from core.features.arguments import readings, row_panel
from core.features.arguments.claim_knowledge import load_knowledge
from core.features.arguments.claims import CLAIMS
from core.features.arguments.readings import ReadingSettings
from core.runs.workspace import Workspace
from tests.fakes.scripted import Script, serving, write_reply
from tests.features.arguments.test_claims import import_regulation

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
