"""Pages of a workspace whose disk becomes full while they are open: what was typed stays, and is saved when there is space."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.base.config import Settings
from core.runs.workspace import Workspace, open_workspace
from core.store import notes
from tests import mounts
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, the_run


def test_a_note_that_does_not_fit_is_not_lost(
    visit: Visit, small_workspace: Workspace, tmp_path: Path
) -> None:
    with mounts.small_disk(tmp_path / "disk", 16 << 20) as disk:
        place = disk / "workspace"
        shutil.copytree(small_workspace.settings.workspace, place)
        workspace = open_workspace(Settings(workspace=place))
        app = visit(workspace, "rows", run="debate", row="Pa_Gb")
        filler = mounts.fill(disk)
        app.text_area(key="note_text").input("typed by hand")
        app.text_input(key="note_author").input("Ada")
        press(app, "Add note")
        [error] = app.error
        assert "no space left on the disk" in error.value
        assert "free some space" in error.value
        assert app.text_area(key="note_text").value == "typed by hand"
        with workspace.store.read() as db:
            assert notes.of_row(db, the_run(workspace).id, "Pa_Gb").empty
        filler.unlink()
        press(app, "Add note")
        assert not app.error
        with workspace.store.read() as db:
            found = notes.of_row(db, the_run(workspace).id, "Pa_Gb")
        assert found["text"].tolist() == ["typed by hand"]
