"""What a page offers where the chosen run cannot show it."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from core.runs.workspace import Workspace
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run


@pytest.mark.few(1)
@pytest.mark.parametrize("page", ["scores", "compare"])
def test_without_labels_a_page_offers_a_run_that_has_some(
    glance: Visit, demo_workspace: Workspace, page: str
) -> None:
    app = glance(demo_workspace, page, run=the_run(demo_workspace, "simulated debate test").id)
    [link] = [
        element.proto
        for element in app.main.get("page_link")
        if "rows have labels" in element.proto.label
    ]
    labelled = dict(parse_qsl(link.query_string))["run"]
    assert "No labels here" in text_of(app) or page == "compare"
    assert "rows have labels" not in text_of(glance(demo_workspace, page, run=labelled))
