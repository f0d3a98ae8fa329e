"""The findings in the texts of a row, on its page."""

from __future__ import annotations

import pytest

from core.features.arguments import readings, row_panel
from core.features.arguments.claims import CLAIMS
from core.features.arguments.readings import ReadingSettings
from core.runs.workspace import Workspace
from core.ui.background import Result
from tests.fakes.scripted import serving
from tests.features.arguments.test_claims import import_regulation
from tests.ui.conftest import Visit


class AtOnce:
    """Computes what is asked for before it answers."""

    def ask(self, _key: object, compute: object) -> Result:
        return Result(ready=True, value=compute(lambda _share: None))  # type: ignore[operator]


def read_claims(workspace: Workspace) -> None:
    """A model reads the claims of the small debate."""
    with serving() as url:
        readings.start_reading(
            workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )


@pytest.mark.soak
def test_a_row_shows_its_claims_once_the_packs_are_read(
    small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_regulation(small_workspace)
    read_claims(small_workspace)
    waiting = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not waiting.exception
    assert "Claims (4)" not in [each.label for each in waiting.expander]
    monkeypatch.setattr(row_panel, "background", AtOnce)
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not app.exception
    assert "Claims (4)" in [each.label for each in app.expander]


@pytest.mark.soak
def test_without_a_reading_no_claim_is_shown_and_without_a_pack_none_is_known(
    small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_panel, "background", AtOnce)
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not any(each.label.startswith("Claims") for each in app.expander)
    read_claims(small_workspace)
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    [claims] = [each.value for each in app.dataframe if "relation" in each.value]
    assert set(claims["status"]) == {"not known"}
