"""Summaries: of a dataset that was made of cells."""

from __future__ import annotations

from collections.abc import Sequence

from core.base.result import Result
from core.features.cells.label_record import summarize_labels
from tests.features.cells.test_label_record import RECORD


def examples() -> Sequence[Result]:
    return (summarize_labels("lab", RECORD),)
