"""The labels of a dataset's splits."""

from __future__ import annotations

import pandas as pd

from core.features.sharing.report.figure_kind import FigureKind
from core.plots import label_counts
from core.plots.captioned import CaptionedFigure


def of_dataset(name: str, counts: pd.DataFrame) -> CaptionedFigure:
    """Return the numbers of labels in each split. counts: `store.datasets.counts` of the
    dataset."""
    rows, unlabelled = int(counts["rows"].sum()), int(counts["unlabelled"].sum())
    changed = int(counts[["up", "down", "de"]].to_numpy().sum())
    return CaptionedFigure(
        "Labels of the dataset",
        name,
        f"{rows - unlabelled:,} of {rows:,} rows have a label; {changed:,} of these have an"
        " effect.",
        f"{name} · {rows:,} rows · counts, so no interval",
        label_counts.figure(counts),
        counts.drop(columns="dataset"),
    )


FIGURE = FigureKind(
    "labels",
    "Labels",
    "Numbers of rows by split and label.",
    10,
    lambda material: [of_dataset(material.dataset.name, material.counts)],
)
