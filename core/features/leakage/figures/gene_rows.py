"""What the number of a gene's rows reveals about its labels."""

from __future__ import annotations

import pandas as pd

from core.features.leakage.plots import gene_row_counts
from core.plots.captioned import CaptionedFigure
from core.scoring.report_part import ReportPart

_TITLE = "Labels by how often a gene was measured"


def of_dataset(name: str, rows: pd.DataFrame) -> CaptionedFigure:
    """Return the share of rows with an effect by rows per gene. rows: label and gene of every row
    of the dataset."""
    known = rows[rows["label"].notna()]
    if known.empty:
        return CaptionedFigure(
            _TITLE, name, f"No labels here: none of the {len(rows):,} rows has one."
        )
    table = gene_row_counts.table(known["label"], known["gene"])
    first, last = table.iloc[0], table.iloc[-1]
    sentence = (
        f"{first['share_de']:.0%} of the rows have an effect where the gene was measured"
        f" {_times(first['rows_per_gene'])}, {last['share_de']:.0%} where it was measured"
        f" {_times(last['rows_per_gene'])}."
    )
    caption = f"{name} · {len(known):,} labelled rows · 95% Wilson intervals by rows"
    return CaptionedFigure(_TITLE, name, sentence, caption, gene_row_counts.figure(table), table)


def _times(rows: str) -> str:
    return (
        "once"
        if rows == "1"
        else f"{rows.removesuffix('+')} times" + (" or more" if rows.endswith("+") else "")
    )


PART = ReportPart(
    "gene_rows",
    "How often genes were measured",
    "What row counts alone reveal of the labels.",
    20,
    lambda _, shown: [of_dataset(shown.dataset.name, shown.dataset_rows)],
)
