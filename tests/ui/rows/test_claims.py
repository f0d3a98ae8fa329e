"""What the briefs of a row claim about genes, under each of them."""

from __future__ import annotations

import pytest

from core.actions.workspace import Workspace
from core.ui.rows import claims
from core.ui.shared.background import Result
from tests.test_cli_claims import import_regulation
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

LINE = "*Pa* regulates *Ga* · supported, collectri\\: Pa activates Ga"


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
    assert LINE not in text_of(waiting)
    monkeypatch.setattr(claims, "background", AtOnce)
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not app.exception
    assert text_of(app).count(LINE) == 4


@pytest.mark.soak
def test_without_a_pack_no_claim_is_shown(small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "background", AtOnce)
    assert "*Pa* regulates" not in text_of(visit(small_workspace, "rows", run="debate", row="Pb_Ga"))
