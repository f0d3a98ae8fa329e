"""What-if without a gene space, and with one that covers no row: runs are fused all the same; a space is built in place."""

from __future__ import annotations

import json

import pytest

from core.features.importing.actions import import_upload
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


def add_descriptions(workspace: Workspace, genes: tuple[str, ...]) -> None:
    """Import descriptions of genes as a knowledge pack."""
    content = json.dumps(dict(zip(genes, WORDS, strict=True))).encode()
    assert import_upload(workspace, content, "descriptions.json").kind == "descriptions"


@pytest.mark.soak
def test_two_imported_runs_are_fused_without_a_space(
    visit: Visit, small_workspace: Workspace
) -> None:
    assert import_upload(small_workspace, SECOND, "second.csv").kind != "failed"
    app = visit(small_workspace, "fuse", run="debate")
    assert not app.exception
    assert not app.error
    assert explorer_view.content_of(app)["names"] == ["debate", "second"]
    assert "Build one from a knowledge pack" in text_of(app)  # neighbours are offered beside it


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "genes", [("Ga", "Gb", "Gc", "Pa", "Pb", "Pc"), ("Xa", "Xb", "Xc", "Ya", "Yb", "Yc")]
)
def test_a_space_is_built_in_place(
    visit: Visit, small_workspace: Workspace, genes: tuple[str, ...]
) -> None:
    add_descriptions(small_workspace, genes)
    app = visit(small_workspace, "fuse", run="debate")
    assert "there is none yet" in text_of(app)
    app.button(key="build-space-text").click().run()
    assert not app.exception
    assert not app.error
    assert "Built text: 6 genes" in text_of(app)
    if genes[0] == "Ga":
        assert explorer_view.content_of(app)["names"] == ["debate", "Neighbours"]
    else:  # a space that covers none of the rows is no error
        assert "covers none of the 4 rows of debate" in text_of(app)


@pytest.mark.soak
def test_a_reader_is_offered_nothing(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_descriptions(small_workspace, ("Ga", "Gb", "Gc", "Pa", "Pb", "Pc"))
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(small_workspace, "fuse", run="debate")
    assert not [button for button in app.button if "Build" in button.label]
    assert "Build one from a knowledge pack" in text_of(app)
