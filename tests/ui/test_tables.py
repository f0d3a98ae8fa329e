"""Tables: how tall their rows are, and their downloads."""

from __future__ import annotations

import io

import pandas as pd
import pytest
import streamlit as st

from core.base.workbook import encode
from core.runs.workspace import Workspace
from core.ui import results, widgets
from tests.ui.conftest import Visit
from tests.ui.views import VIEWS, symbol_of


@pytest.mark.parametrize(
    ("text", "row_height"), [("short", None), ("a long reason " * 10, results.TALL_PX)]
)
def test_long_texts_take_several_lines(
    text: str, row_height: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {}
    monkeypatch.setattr(st, "dataframe", lambda _, **options: given.update(options))
    table = pd.DataFrame(
        {"reason": [None, text], "page": ["./debates?run=0123456789" * 9] * 2, "n": [1, 2]}
    )
    results.show_table(table, None, {"page": results.OPEN})
    assert given.get("row_height") == row_height


FOLDED = {"fuse": {"figures": "true"}}  # what opens the figures of a page that are folded
WITH_TABLES = ("overview", "compare", "neighbours", "scores", "fuse", "data")


@pytest.mark.soak
def test_tables_are_downloaded_as_parquet(
    visit: Visit, little_demo: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = {}

    def offer(table, name, file):
        assert file.startswith("simulated"), file
        offered[name] = pd.read_parquet(io.BytesIO(encode(table, "parquet")))
        assert len(offered[name]) == len(table), name

    monkeypatch.setattr(widgets, "show_parquet_button", offer)
    for view in (view for view in VIEWS if view.page in WITH_TABLES):
        _, parameters = view.address(symbol_of(little_demo))
        visit(little_demo, view.page, **parameters, **FOLDED.get(view.page, {}))
    expected = {
        "runs",
        "slices",
        "rows gained",
        "rows lost",
        "baselines",
        "neighbours",
        "imported files",
        "spaces",
        "rows that move",
    }
    assert {f"table-{name}" for name in expected} <= set(offered)
