"""A run of external scores that answers one question only, on the pages that show runs."""

from __future__ import annotations

import pytest

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.runs.workspace import Workspace
from tests import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

SCORES = cases.as_csv(["id", "score"], [["Pa_Ga", 3], ["Pa_Gb", -1], ["Pb_Ga", 7], ["Pb_Gb", 2]])


@pytest.fixture
def run(small_workspace: Workspace) -> str:
    assert (
        import_upload(small_workspace, SCORES, "screen.csv", ImportOptions(dir="score")).kind
        == "external_score"
    )
    return the_run(small_workspace, "screen score").id


def test_what_it_does_not_rank_is_said_and_has_no_number(
    visit: Visit, small_workspace: Workspace, run: str
) -> None:
    app = visit(small_workspace, "rows", run=run, row="Pa_Ga")
    assert "DE rank score **–** · DIR rank score **0.60**" in text_of(
        app
    )  # 3 is the third of four: 3 / 5
    assert "no score for an effect" in text_of(app)


@pytest.mark.soak
@pytest.mark.parametrize("page", ["overview", "scores", "compare", "fuse", "share"])
def test_pages_show_it(visit: Visit, small_workspace: Workspace, run: str, page: str) -> None:
    app = visit(small_workspace, page, run=run)
    assert text_of(app)
