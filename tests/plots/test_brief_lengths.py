"""Lengths of briefs: the bars."""

from __future__ import annotations

import pytest

from core.plots import brief_lengths

LENGTHS = [
    {"role": "EFFECT", "a letter": 2, "one line": 0, "a paragraph": 0},
    {"role": "NULL", "a letter": 1, "one line": 2, "a paragraph": 1},
    {"role": "MODERATOR", "a letter": 0, "one line": 0, "a paragraph": 1},
]


def test_bars_are_shares_of_each_role() -> None:
    letter, line, paragraph = brief_lengths.figure(LENGTHS).data
    assert list(letter.y) == ["EFFECT", "NULL", "MODERATOR"]
    assert list(letter.x) == pytest.approx([100, 25, 0])
    assert list(line.x) == pytest.approx([0, 50, 0])
    assert list(paragraph.x) == pytest.approx([0, 25, 100])
