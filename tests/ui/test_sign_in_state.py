"""What stands in the place of the pages where nobody can sign in."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from core.ui import sign_in
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


def test_a_server_without_a_provider_lets_nobody_in(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_SIGN_IN", "yes")
    monkeypatch.setattr(
        sign_in, "is_enforced", lambda: True
    )  # as if it had been started by `serve-app`
    app = visit(small_workspace, "rows")
    assert [error.value for error in app.error] == [
        "Sign-in is required but not configured: the person who runs this server has to add [auth] to secrets.toml."
    ]
    assert text_of(app).splitlines()[0] == "## Sign in"
    assert not app.button
    assert not app.sidebar.children
