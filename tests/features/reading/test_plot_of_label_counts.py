"""What the labels of a dataset are, as bars."""

from __future__ import annotations

import re

import pandas as pd

from core.features.reading import report_parts
from core.plots import drawing

COUNTS = pd.DataFrame(
    {
        "split": ["train", "test"],
        "up": [1200, 0],
        "down": [34, 0],
        "de": [0, 0],
        "none": [6000, 0],
        "unlabelled": [0, 1813],
    }
)


def test_one_bar_a_label_that_there_is() -> None:
    bars = {bar.text[0] or bar.text[1]: bar for bar in report_parts.LabelBars(COUNTS).chart.data}
    assert list(bars) == [
        "▲ up 1,200",
        "▼ down 34",
        "● none 6,000",
        "○ no label 1,813",
    ]  # none is "de"
    assert {text: list(bar.x) for text, bar in bars.items()} == {
        "▲ up 1,200": [1200, 0],
        "▼ down 34": [34, 0],
        "● none 6,000": [6000, 0],
        "○ no label 1,813": [0, 1813],
    }
    assert [bar.marker.color for bar in bars.values()] == [
        drawing.UP,
        drawing.DOWN,
        drawing.NONE,
        drawing.NULL,
    ]
    assert list(bars["▲ up 1,200"].text) == [
        "▲ up 1,200",
        "",
    ]  # nothing is written on a bar of no rows


def test_a_page_shows_the_same_bars() -> None:
    shown = report_parts.LabelBars(COUNTS.replace({"train": "<b>"})).html()
    assert re.findall(r'style="flex:(\d+);border-color:(#\w+)"', shown) == [
        ("1200", drawing.UP),
        ("34", drawing.DOWN),
        ("6000", drawing.NONE),
        ("1813", drawing.NULL),
    ]
    assert re.findall(r"width:([\d.]+)%", shown) == ["100.00", f"{100 * 1813 / 7234:.2f}"]
    assert "&lt;b&gt;" in shown
    assert "▼ down 34<" in shown
