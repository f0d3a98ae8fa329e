"""The figures of What-if, folded below its explorer: the rows that move most, and a plane for every component."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from core.base.texts import number_text
from core.features.fuse.page import results
from core.runs.workspace import Workspace
from tests.features.fuse import explorer_view
from tests.features.fuse.explorer_view import move
from tests.ui.conftest import KNN, LABELLED, Visit
from tests.ui.test_apptest import text_of, the_run


def listed(app: AppTest) -> pd.DataFrame:
    """The table of the rows that move most."""
    return next(each.value for each in app.dataframe if "places" in each.value)


@pytest.mark.soak
def test_places_have_separators_and_a_minus_sign_and_stay_numbers(
    glance: Visit, little_demo: Workspace
) -> None:
    app = glance(little_demo, "fuse", run=LABELLED, figures="true")
    assert pd.api.types.is_numeric_dtype(
        listed(app)["places"]
    )  # so that a click on the column's head sorts by size
    shown = next(
        each for each in app.dataframe if "places" in each.value
    ).proto.arrow_data.styler.display_values
    texts = pa.ipc.open_stream(shown).read_pandas().iloc[:, 2].tolist()
    assert texts == [number_text(value, "+,.0f") for value in listed(app)["places"]]
    assert any(text.startswith("−") for text in texts)


@pytest.mark.soak
def test_figures_are_those_of_the_weights(glance: Visit, little_demo: Workspace) -> None:
    app = glance(little_demo, "fuse", run=LABELLED)
    assert not [each for each in app.dataframe if "places" in each.value]  # folded
    app = glance(little_demo, "fuse", run=LABELLED, figures="true")
    drawn = listed(app)
    assert len(drawn) == results.LISTED
    assert not listed(move(app, w_de_knn=0.9)).equals(drawn)


def test_without_labels_the_figures_show_ranks(glance: Visit, little_demo: Workspace) -> None:
    app = glance(little_demo, "fuse", run="simulated debate test", figures="true")
    assert (
        max(len(each.value) for each in app.dataframe if {"rank_a", "rank_b"} <= set(each.value))
        > results.LISTED
    )


@pytest.mark.soak
def test_every_component_has_a_plane_that_the_link_names(
    glance: Visit, fused_demo: Workspace
) -> None:
    other = the_run(fused_demo, KNN).id
    assert explorer_view.content_of(glance(fused_demo, "fuse", run=LABELLED))["names"] == [
        LABELLED,
        "Neighbours",
    ]
    planes = [
        glance(
            fused_demo,
            "fuse",
            run=LABELLED,
            plane=plane,
            w_de_knn="0.2",
            figures="true",
            **{"with": ["knn", other]},
        )
        for plane in ("knn", other)
    ]
    assert planes[1].query_params["plane"] == other
    assert [explorer_view.state_of(app)["position"] for app in planes] == [0, 1]
    assert f"and {KNN}" in text_of(planes[1]).replace("\\", "")
    first, second = (
        next(each.value for each in app.dataframe if "plateau" in each.value) for app in planes
    )
    assert not first.equals(second)
