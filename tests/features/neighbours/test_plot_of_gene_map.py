"""The map of genes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.features.neighbours.plots import gene_map
from core.plots import drawing

AXES = ("PC 1 (12% of variance)", "PC 2 <b>")
TABLE = pd.DataFrame(
    [
        ("Atf3", 0.0, 0.0, "query", 0.0, ""),
        ("Fos", 1.0, 0.0, "neighbour", 0.05, "up"),
        ("<i>Jun", 1.0, 1.0, "neighbour", 0.40, "mixed"),
        ("Egr1", -1.0, 1.0, "neighbour", 0.25, "down"),
        ("Ier2", -1.0, 2.0, "neighbour", 0.15, "none"),
        ("Ier3", 0.5, 2.0, "neighbour", 0.10, None),
        ("Myc", 0.5, 3.0, "neighbour", 0.04, "de"),
        ("Nowhere", np.nan, 3.0, "neighbour", 0.01, "up"),
        ("Far", 9.0, -9.0, "other", 0.0, ""),
    ],
    columns=["symbol", "x", "y", "kind", "share", "label"],
)


def test_genes_stand_in_their_places_below_the_query() -> None:
    chart = gene_map.figure(TABLE, "Atf3", AXES)
    drawn = {trace.name: (list(trace.x), list(trace.y)) for trace in chart.data}
    assert list(drawn) == ["other", "neighbour", "query"]  # what is drawn last lies on top
    assert drawn["other"] == ([9.0], [-9.0])
    assert drawn["query"] == ([0.0], [0.0])
    assert drawn["neighbour"][0] == [
        1.0,
        -1.0,
        -1.0,
        0.5,
        1.0,
        0.5,
    ]  # the heaviest first, none without a place
    assert {trace.type for trace in chart.data} == {"scatter"}
    assert chart.data[1].hovertext[0] == "&lt;i&gt;Jun<br>40.0% of the prior<br>label mixed"


def test_the_frame_holds_the_marked_genes_so_that_they_can_be_told_apart() -> None:
    # Five neighbours within a hundredth of the map's width: on a map of all genes their marks lie on one spot.
    near = [(f"g{k}", 0.01 * k, 0.01 * k, "neighbour", 0.1, "up") for k in range(5)] + [
        ("q", 0.02, 0.02, "query", 0.0, "")
    ]
    far = [
        ("a", -5.0, 5.0, "other", 0.0, ""),
        ("b", 5.0, -5.0, "other", 0.0, ""),
        ("c", 0.0, 0.01, "other", 0.0, ""),
    ]
    chart = gene_map.figure(
        pd.DataFrame(near + far, columns=["symbol", "x", "y", "kind", "share", "label"]), "q", AXES
    )
    for low, high in (chart.layout.xaxis.range, chart.layout.yaxis.range):
        assert low < 0 < 0.04 < high
        assert high - low == pytest.approx(
            0.05 * 10 * 1.14
        )  # a twentieth of all genes' extent, with room on both sides
    assert chart.layout.xaxis.title.text.endswith("<br>outside the frame: 2 of 9 genes")


def test_areas_are_as_the_shares_and_signs_as_the_labels() -> None:
    marker = gene_map.figure(TABLE, "Atf3", AXES).data[1].marker
    assert marker.size[0] / marker.size[3] == pytest.approx(
        2
    )  # shares of 0.4 and 0.1: four times the area
    assert list(marker.symbol) == [
        "square",
        "triangle-down",
        "circle",
        "circle-open",
        "triangle-up",
        "diamond",
    ]
    assert list(marker.line.color) == [
        drawing.BASELINE,
        drawing.DOWN,
        drawing.NONE,
        drawing.LABEL_COLOURS["unknown"],
        drawing.UP,
        drawing.EFFECT,
    ]


def test_a_query_without_a_place_is_said_to_have_none() -> None:
    chart = gene_map.figure(TABLE[TABLE["kind"] != "query"], "Atf3<", AXES)
    assert chart.layout.xaxis.title.text.split("<br>")[1] == "<i>Atf3&lt;</i> is not on this map"
    assert len(chart.data[2].x) == 0


def test_the_query_alone_and_neighbours_without_a_share() -> None:
    chart = gene_map.figure(TABLE.head(1), "Atf3", AXES)
    low, high = chart.layout.xaxis.range
    assert low < 0 < high
    assert chart.layout.yaxis.title.text == "PC 2 &lt;b&gt;"
    sizes = gene_map.figure(TABLE.assign(share=0.0), "Atf3", AXES).data[1].marker.size
    assert set(sizes) == {min(sizes)}
    assert min(sizes) > 0
