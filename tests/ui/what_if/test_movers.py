"""The rows that move most in What-if wait for the hand to rest, and every component has a plane."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
from streamlit.testing.v1 import AppTest

from core.actions.workspace import Workspace
from core.texts import number_text
from core.ui.what_if import movers
from tests.ui.conftest import KNN, LABELLED, Visit
from tests.ui.test_apptest import text_of, the_run


def listed(app: AppTest) -> pd.DataFrame:
    """The table of the rows that move most."""
    return next(each.value for each in app.dataframe if "places" in each.value)


def test_rows_are_those_drawn_before_until_the_hand_rests(visit: Visit, little_demo: Workspace) -> None:
    app = visit(little_demo, "what_if", run=LABELLED)
    drawn = listed(app)
    assert len(drawn) == movers.LISTED
    app.slider(key="w_de_knn").set_value(0.9).run()
    assert listed(app).equals(drawn)
    assert not listed(visit(little_demo, "what_if", run=LABELLED, w_de_knn="0.9")).equals(drawn)


def test_places_have_separators_and_a_minus_sign_and_stay_numbers(visit: Visit, little_demo: Workspace) -> None:
    app = visit(little_demo, "what_if", run=LABELLED)
    assert pd.api.types.is_numeric_dtype(listed(app)["places"])  # so that a click on the column's head sorts by size
    shown = next(each for each in app.dataframe if "places" in each.value).proto.arrow_data.styler.display_values
    texts = pa.ipc.open_stream(shown).read_pandas().iloc[:, 2].tolist()
    assert texts == [number_text(value, "+,.10g") for value in listed(app)["places"]]
    assert any(text.startswith("−") for text in texts)


def test_ranks_without_labels_wait_for_the_hand_too(visit: Visit, little_demo: Workspace) -> None:
    def ranks(app: AppTest) -> pd.DataFrame:
        """The table of all rows; that of the rows that move most has the same columns."""
        return max((each.value for each in app.dataframe if {"rank_a", "rank_b"} <= set(each.value)), key=len)

    app = visit(little_demo, "what_if", run="simulated debate test")
    drawn = ranks(app)
    app.slider(key="w_de_knn").set_value(0.9).run()
    assert not app.exception
    assert ranks(app).equals(drawn)
    assert not ranks(visit(little_demo, "what_if", run="simulated debate test", w_de_knn="0.9")).equals(drawn)


def test_every_component_has_a_plane_that_the_link_names(visit: Visit, fused_demo: Workspace) -> None:
    other = the_run(fused_demo, KNN).id
    one = visit(fused_demo, "what_if", run=LABELLED)
    assert "Move the weights of" not in text_of(one)
    two = visit(fused_demo, "what_if", run=LABELLED, **{"with": ["knn", other]})
    assert "and Neighbours" in text_of(two).replace("\\", "")
    planes = [
        visit(fused_demo, "what_if", run=LABELLED, plane=plane, w_de_knn="0.2", **{"with": ["knn", other]})
        for plane in ("knn", other)
    ]
    assert planes[1].query_params["plane"] == other
    assert f"and {KNN}" in text_of(planes[1]).replace("\\", "")
    first, second = (next(each.value for each in app.dataframe if "plateau" in each.value) for app in planes)
    assert not first.equals(second)


def test_what_is_left_for_the_base_is_always_said(visit: Visit, little_demo: Workspace) -> None:
    text = text_of(visit(little_demo, "what_if", run=LABELLED, w_de_knn="0.8", w_dir_knn="0.5")).replace("\\", "")
    assert "simulated debate keeps 0.20" in text
    assert "simulated debate keeps 0.50" in text
