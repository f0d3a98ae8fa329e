"""What holds for every figure: it is drawn and says of what."""

from __future__ import annotations

import importlib
from types import ModuleType

import pandas as pd
import plotly.graph_objects as go
import pytest

from core.plots import drawing
from core.plots.drawing import PageFigure

# The arguments after the table, which is TABLE of the figure's own test file.
ARGUMENTS = {
    "cumulative_share": ("prior", "gene"),
    "curves": ("k", "recall"),
    "gene_map": ("Atf3", ("PC 1", "PC 2")),
    "paired_changes": (0.02,),
    "rank_scatter": ("a", "b"),
    "reliability": ("P(DE)",),
    "roc_curves": (),
    "score_histograms": ("P(DE)",),
    "scores": ("mean",),
    "weight_heatmap": ((0.2, 0.9), (0.5, 1.0), "text"),
}


# The figures of features.
FEATURES = {
    "cumulative_share": "neighbours",
    "gene_map": "neighbours",
    "reliability": "scores",
    "roc_curves": "scores",
    "score_histograms": "scores",
    "weight_heatmap": "fuse",
}


def module_of_test(name: str) -> str:
    return (
        f"tests.features.{FEATURES[name]}.test_plot_of_{name}"
        if name in FEATURES
        else f"tests.plots.test_{name}"
    )


def table_of(name: str) -> pd.DataFrame:
    table = importlib.import_module(module_of_test(name)).TABLE
    assert isinstance(table, pd.DataFrame)
    return table


def draw(name: str, table: pd.DataFrame) -> go.Figure:
    """The figure that its test file imports the module of."""
    imported = vars(importlib.import_module(module_of_test(name))).values()
    [draw_it] = {
        each.figure
        for each in imported
        if isinstance(each, ModuleType)
        and hasattr(each, "figure")
        and (each is not drawing or name == "curves")  # others take colours from it
    }
    drawn = draw_it(table, *ARGUMENTS[name])
    chart = drawn.chart if isinstance(drawn, PageFigure) else drawn
    assert isinstance(chart, go.Figure)
    return chart


@pytest.mark.parametrize("name", ARGUMENTS)
def test_it_is_drawn_and_its_axis_says_of_what(name: str) -> None:
    chart = draw(name, table_of(name))
    assert chart.data
    assert chart.layout.xaxis.title.text or chart.layout.yaxis.title.text
    chart.to_json()
