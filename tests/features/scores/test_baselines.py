"""What knows no biology, beside a run's score."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from tests.commands import core_json
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_the_table_shows_what_the_command_prints(glance: Visit, demo_workspace: Workspace) -> None:
    app = glance(demo_workspace, "scores", run="simulated debate", part="Baselines")
    assert not app.exception
    printed = core_json(demo_workspace.settings.workspace, "controls", "simulated debate")
    controls, fingerprint = (
        each.value.set_index("name") for each in app.dataframe if {"name", "DE"} <= set(each.value)
    )
    assert list(controls.index) == [
        "simulated debate",
        *(each["name"] for each in printed["controls"]),
    ]
    for each in printed["controls"]:
        if each["de"] is not None:
            assert controls.loc[each["name"], "DE"].startswith(f"{each['de']:.3f} [")
    assert list(fingerprint.index) == [each["name"] for each in printed["fingerprint"]]
    assert {"DE reversed", "DIR reversed"} <= set(fingerprint)
    assert r"no\-biology baseline" in text_of(app)
