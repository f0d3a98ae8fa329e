"""What differs between the code that made a run and the code that reads it."""

from __future__ import annotations

import pytest

from core import __version__
from core.features.importing.lineage import prompts_of
from core.features.submissions.actions import provenance_of
from core.runs.workspace import Workspace
from core.store import runs


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("code_version", "changed"),
    [
        (__version__, ""),
        (f"{__version__}+0123456789", ""),  # another commit of the same version
        ("0.1.0", f"made by version 0.1.0; prompt and tools are those of {__version__}"),
        ("0.1.0+0123456789", f"made by version 0.1.0; prompt and tools are those of {__version__}"),
    ],
)
def test_a_run_of_another_version_is_named(
    small_workspace: Workspace, code_version: str, changed: str
) -> None:
    with small_workspace.store.write() as db:
        db.execute("UPDATE run SET code_version = ?", [code_version])
        line = runs.lineage(db, [runs.find(db, "debate")])
        assert provenance_of(db, line, prompts_of(small_workspace, db, line)).changed == changed
