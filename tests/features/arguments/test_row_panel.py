"""What the texts of a row claim, apart from what only answers its question."""

from __future__ import annotations

import pytest

from core.features.arguments import readings
from core.features.arguments.findings import CLAIMS
from core.features.arguments.readings import ReadingSettings
from core.runs.workspace import Workspace
from tests.fakes.scripted import Script, serving, write_reply
from tests.ui.conftest import Visit

SECOND = '{"subject": "Ga", "relation": "binds", "object": "Pa", "quote": "Pa regulates Ga"}'


@pytest.mark.soak
def test_the_page_of_a_row_shows_its_claims(small_workspace: Workspace, visit: Visit) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not any(each.label.startswith("Claims") for each in app.expander)
    script = Script(answer=lambda prompt: write_reply(prompt).replace("[{", f"[{SECOND}, {{"))
    with serving(script) as url:
        readings.start_reading(
            small_workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert "Claims (8)" in [each.label for each in app.expander]  # two in each of four briefs
    [claims] = [each.value for each in app.dataframe if "relation" in each.value]
    assert set(zip(claims["subject"], claims["relation"], claims["object"], strict=True)) == {
        ("Pa", "regulates", "Ga"),
        ("Ga", "binds", "Pa"),
    }
