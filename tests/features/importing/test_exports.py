"""A run's rows as files, from the page: the same bytes as the command writes."""

from __future__ import annotations

import pytest

from core.features.importing.export import export
from core.features.importing.page import import_tabs
from core.runs.workspace import Workspace
from tests.ui.conftest import Visit
from tests.ui.test_apptest import the_run


@pytest.mark.soak
def test_the_page_offers_what_the_command_writes(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = {}
    monkeypatch.setattr(
        import_tabs.st, "download_button", lambda *button, **_: built.update({button[2]: button[1]})
    )
    run = the_run(small_workspace)
    visit(small_workspace, "data", tab="Runs and notes", run=run.id)
    expected = {
        f"debate_{part}.{form}": export(
            small_workspace, run.id, form, with_traces=part == "traces"
        )[0]
        for part in ("predictions", "traces")
        for form in ("csv", "parquet", "jsonl")
    }
    expected["debate_log.eval"] = export(small_workspace, run.id, "eval")[0]
    assert {file: build() for file, build in built.items() if file in expected} == expected
