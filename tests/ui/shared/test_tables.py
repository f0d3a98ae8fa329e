"""Tables: how wide their columns are, and what is said of those out of sight."""

from __future__ import annotations

import io
import re

import pandas as pd
import pytest
import streamlit as st

from core.actions.export import encode
from core.actions.workspace import Workspace
from core.ui.shared import figure_menu, tables
from tests.ui.conftest import Visit
from tests.ui.views import VIEWS, symbol_of


def test_numbers_and_links_are_as_wide_as_they_are_shown() -> None:
    numbers, address = pd.Series([0.123456789, None]), pd.Series(["./debates?run=0123456789&row=Stat1_Mx1"])
    number, link = st.column_config.NumberColumn, st.column_config.LinkColumn
    short = tables.column_width(numbers, "n", number(format="%.2f"))
    assert short < tables.column_width(numbers, "n", number(format="%.8f"))
    assert tables.column_width(address, "page", link(display_text="open")) < tables.column_width(address, "page", link())
    named = pd.Series(["./debates?run=0123456789#a name of its own", "./debates#short"])
    of_name = tables.column_width(pd.Series(["a name of its own"]), "page", {})
    assert tables.column_width(named, "page", link(display_text=r"#(.*)")) == of_name
    assert tables.column_width(pd.Series([1_234_567]), "n", number(format="localized")) > short
    assert tables.column_width(pd.Series([True]), "n", {}) == tables.LEAST_PX


def shown_columns(hint: str, place_px: int) -> str:
    """What a browser shows of a hint in a place of this width: by its rules, without those that hide."""
    hidden = {name for px, name in re.findall(r"min-width: (\d+)px\) \{ \.([\w-]+)", hint) if place_px >= int(px)}
    outer = re.search(r'<div class="([\w-]+)">Scroll', hint)
    assert outer is not None
    if outer[1] in hidden:
        return ""
    return "".join(text for name, text in re.findall(r'<span class="([\w-]+)">([^<]*)', hint) if name not in hidden)


def test_the_hint_names_the_columns_out_of_sight() -> None:
    hint = tables.scroll_hint(["run", "DE", "P(up | <DE>)"], [200, 120, 130], markers=34)
    # They end at 2 px of frame, 34 of markers and 200: 236, then 356, then 486.
    assert shown_columns(hint, 490) == ""
    assert shown_columns(hint, 470) == "P(up | &lt;DE&gt;)."
    assert shown_columns(hint, 340) == "DE, P(up | &lt;DE&gt;)."
    assert shown_columns(hint, 200) == "run, DE, P(up | &lt;DE&gt;)."
    assert tables.scroll_hint([], []) == ""


FOLDED = {"fuse": {"figures": "true"}}  # what opens the figures of a page that are folded
WITH_TABLES = ("overview", "compare", "neighbours", "scores", "fuse", "data")


@pytest.mark.soak
def test_tables_are_downloaded_as_parquet(visit: Visit, little_demo: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    offered: dict[str, pd.DataFrame] = {}

    def offer(table: pd.DataFrame, name: str, file: str) -> None:
        assert file.startswith("simulated"), file
        offered[name] = pd.read_parquet(io.BytesIO(encode(table, "parquet")))
        assert len(offered[name]) == len(table), name

    monkeypatch.setattr(figure_menu, "show_parquet_button", offer)
    for view in (view for view in VIEWS if view.page in WITH_TABLES):
        _, parameters = view.address(symbol_of(little_demo))
        assert not visit(little_demo, view.page, **parameters, **FOLDED.get(view.page, {})).exception, view
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
