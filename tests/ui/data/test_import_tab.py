"""What the tab Import of Data may read of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st

from core.actions.workspace import Workspace
from tests import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


def test_a_path_outside_is_refused_and_one_inside_is_imported(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "test2.csv").write_bytes(cases.as_csv(["id", "pert", "gene"], [["Pd_Gd", "Pd", "Gd"]]))
    (inside / "passwd").write_bytes(b"root:x:0:0:open-sesame\n")
    monkeypatch.setenv("PERTURBDESK_IMPORT_ROOTS", str(inside))
    app = visit(small_workspace, "data")
    assert f"Inside {inside}" in text_of(app).replace("\\", "").replace("\u2060", "")
    for path, words in (
        ("/etc/passwd", "outside the folders from which pages may import"),
        (str(inside / "passwd"), "its content is not recognised"),
    ):
        app.text_input(key="import_path").set_value(path).run()
        next(button for button in app.button if button.label == "Import path").click().run()
        assert [words in error.value.replace("\\", "") for error in app.error] == [True]
        assert "open-sesame" not in text_of(app)
        assert "root:" not in text_of(app)
    app.text_input(key="import_path").set_value(str(inside / "test2.csv")).run()
    next(button for button in app.button if button.label == "Import path").click().run()
    assert not app.error
    assert "✓ Imported test2.csv: challenge test, 1 row in bmdm." in text_of(app)


def test_it_is_off_when_the_app_listens_beyond_this_machine(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else real(name))
    app = visit(small_workspace, "data")
    assert "off, since other machines can reach this app." in text_of(app)
    assert not [field for field in app.text_input if field.key == "import_path"]
