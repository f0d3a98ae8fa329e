"""The findings in the texts of a row, on its page."""

from __future__ import annotations

import pytest

from core.actions.workspace import Workspace
from core.features.arguments import row_panel
from core.ui.shared.background import Result
from tests.features.arguments.test_claims import import_regulation
from tests.ui.conftest import Visit


class AtOnce:
    """Computes what is asked for before it answers."""

    def ask(self, _key: object, compute: object) -> Result:
        return Result(ready=True, value=compute(lambda _share: None))  # type: ignore[operator]


@pytest.mark.soak
def test_a_row_shows_its_claims_once_the_packs_are_read(
    small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_regulation(small_workspace)
    waiting = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not waiting.exception
    assert "Claims (4)" not in [each.label for each in waiting.expander]
    monkeypatch.setattr(row_panel, "background", AtOnce)
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not app.exception
    assert "Claims (4)" in [each.label for each in app.expander]


@pytest.mark.soak
def test_without_a_pack_no_claim_is_shown(small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_panel, "background", AtOnce)
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not any(each.label.startswith("Claims") for each in app.expander)
