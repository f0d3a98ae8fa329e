"""What-if without a gene space, and with one that covers no row: runs are fused all the same."""

from __future__ import annotations

import json

import pytest

from core.features.importing.actions import import_upload
from core.features.neighbours import spaces
from core.runs.workspace import Workspace
from tests import cases
from tests.features.fuse import explorer_view
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

WORDS = (
    "binds chromatin",
    "binds interferon",
    "chromatin interferon",
    "binds kinase",
    "kinase chromatin",
    "interferon kinase",
)
SECOND = cases.submission(
    [
        (key, up, 0.1, cases.debate_trace())
        for key, up in (("Pa_Ga", 0.1), ("Pa_Gb", 0.5), ("Pb_Ga", 0.3))
    ]
)


@pytest.mark.soak
def test_two_imported_runs_are_fused_without_a_space(
    visit: Visit, small_workspace: Workspace
) -> None:
    assert import_upload(small_workspace, SECOND, "second.csv").kind != "failed"
    app = visit(small_workspace, "fuse", run="debate")
    assert not app.error
    assert explorer_view.content_of(app)["names"] == ["debate", "second"]
    assert "Build one from a knowledge pack" in text_of(app)  # neighbours are offered beside it


@pytest.mark.parametrize(
    "genes", [("Ga", "Gb", "Gc", "Pa", "Pb", "Pc"), ("Xa", "Xb", "Xc", "Ya", "Yb", "Yc")]
)
def test_the_first_space_is_fused_if_it_covers_a_row(
    visit: Visit, small_workspace: Workspace, genes: tuple[str, ...]
) -> None:
    content = json.dumps(dict(zip(genes, WORDS, strict=True))).encode()
    assert import_upload(small_workspace, content, "descriptions.json").kind == "descriptions"
    assert "Build one from a knowledge pack" in text_of(
        visit(small_workspace, "fuse", run="debate")
    )
    spaces.embed(small_workspace, "text", "text", {"columns": 200, "seed": 0})
    app = visit(small_workspace, "fuse", run="debate")
    assert not app.error
    if genes[0] == "Ga":
        assert explorer_view.content_of(app)["names"] == ["debate", "Neighbours"]
    else:  # a space that covers none of the rows is no error
        assert "covers none of the 4 rows of debate" in text_of(app)
