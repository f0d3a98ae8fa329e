"""How far labels can be trusted stands on every page with scores."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from tests.base.test_label_marks import MARKED, mark
from tests.features.sharing.test_report import LABELLED
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_it_stands_on_pages_with_scores(visit: Visit, demo_copy: Workspace) -> None:
    with demo_copy.store.write() as db:
        mark(db, MARKED)
    said = MARKED.sentence.partition(";")[0]
    for page in ("overview", "scores", "compare", "fuse", "neighbours", "share"):
        app = visit(demo_copy, page, run=LABELLED)
        assert [said in each.value.replace("\\", "") for each in app.warning] == [True], page
        assert said not in text_of(app).replace("\\", "").replace(
            app.warning[0].value.replace("\\", ""), ""
        ), page
