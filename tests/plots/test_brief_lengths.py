"""Lengths of briefs: the counts and their bars."""

from __future__ import annotations

import pandas as pd
import pytest

from core.plots import brief_lengths

# With bare = 3 and short = 120 a letter has at most 3 characters and a line at most 119.
LENGTHS = pd.DataFrame(
    [
        ("NULL", 1),  # a letter
        ("NULL", 4),  # one line
        ("NULL", 119),  # one line
        ("NULL", 120),  # a paragraph
        ("EFFECT", 0),  # a letter
        ("EFFECT", 3),  # a letter
        ("MODERATOR", 5000),  # a paragraph
    ],
    columns=["role", "length"],
)


def test_counts_by_hand() -> None:
    table = brief_lengths.length_classes(LENGTHS, 3, 120)
    assert list(table.columns) == ["role", "a letter", "one line", "a paragraph"]
    assert table.to_numpy().tolist() == [["EFFECT", 2, 0, 0], ["NULL", 1, 2, 1], ["MODERATOR", 0, 0, 1]]


def test_bars_are_shares_of_each_role() -> None:
    figure = brief_lengths.figure(brief_lengths.length_classes(LENGTHS, 3, 120))
    letter, line, paragraph = figure.data
    assert list(letter.y) == ["EFFECT", "NULL", "MODERATOR"]
    assert list(letter.x) == pytest.approx([100, 25, 0])
    assert list(line.x) == pytest.approx([0, 50, 0])
    assert list(paragraph.x) == pytest.approx([0, 25, 100])
