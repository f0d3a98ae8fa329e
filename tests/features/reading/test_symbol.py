"""The page of one gene."""

from __future__ import annotations

import re

from core.plots import theme
from core.runs.workspace import Workspace
from tests.ui.conftest import Visit


def test_a_symbols_page_names_classes_in_the_order_of_every_page(
    glance: Visit, demo_workspace: Workspace
) -> None:
    with demo_workspace.store.read() as db:
        rows = db.execute(
            "SELECT gene FROM pair WHERE gene IN (SELECT gene FROM pair JOIN prediction USING (pair_id)) "
            "GROUP BY gene HAVING count(DISTINCT label) = 3 ORDER BY gene LIMIT 9"
        ).fetchall()
    pages = (glance(demo_workspace, "gene", name=name) for (name,) in rows)
    app = next(page for page in pages if len(page.dataframe) == 2)  # of a gene that the space holds
    of_rows, similar = (each.value for each in app.dataframe)
    assert [name for name in similar if name in theme.LABEL_SIGNS] == ["up", "down", "none"]
    counts = next(
        caption.value for caption in app.caption if caption.value.startswith("Target gene of")
    )
    assert re.findall(r"up|down|none", counts) == ["up", "down", "none"]
    assert list(of_rows)[:4] == ["pert", "label", "split", "debate"]
