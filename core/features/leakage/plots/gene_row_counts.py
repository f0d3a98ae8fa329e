"""Figure: labels of genes against their numbers of rows."""

from __future__ import annotations

from typing import Final

import pandas as pd
from numpy.typing import ArrayLike

from core.plots import scores
from core.plots.captioned import CaptionedFigure
from core.plots.forest_plot import Forest
from core.scoring.report_part import ReportPart
from core.stats.intervals import wilson_interval
from core.stats.scores_and_labels import outcome_of

MOST: Final = 20  # rows of a gene; genes with more rows are counted here


def table(labels: ArrayLike, gene: ArrayLike) -> pd.DataFrame:
    """Return, for genes with 1, 2, … rows, the number of their rows and the share of these with an
    effect.

    labels: of shape (n_rows,); gene: names or codes of the same rows. One row for each number that
    occurs; columns: rows_per_gene ("1" to "20+"), genes, rows, with_effect, share_de with its
    Wilson interval low and high.
    """
    rows = pd.DataFrame({"gene": gene, "has_effect": outcome_of(labels).effect})
    groups = rows.groupby(rows.groupby("gene")["gene"].transform("size").clip(upper=MOST))
    counts = groups.agg(
        genes=("gene", "nunique"), rows=("gene", "size"), with_effect=("has_effect", "sum")
    )
    shares = [
        wilson_interval(hits, n).ends
        for hits, n in zip(counts["with_effect"], counts["rows"], strict=True)
    ]
    counts[["share_de", "low", "high"]] = shares
    return counts.assign(
        rows_per_gene=[f"{n}+" if n == MOST else str(n) for n in counts.index]
    ).reset_index(drop=True)


def figure(table: pd.DataFrame) -> Forest:
    """Return the shares with an effect by rows per gene, and the share over all rows. table: from
    `table`."""
    named = table.rename(columns={"rows_per_gene": "name", "share_de": "estimate", "rows": "n"})
    overall = table["with_effect"].sum() / table["rows"].sum()
    return scores.figure(
        named, "share with an effect, by rows per gene", overall=overall, has_chance=False
    )


_TITLE = "Labels by how often a gene was measured"


def of_dataset(name: str, rows: pd.DataFrame) -> CaptionedFigure:
    """Return the share of rows with an effect by rows per gene. rows: label and gene of every row
    of the dataset."""
    known = rows[rows["label"].notna()]
    if known.empty:
        return CaptionedFigure(
            _TITLE, name, f"No labels here: none of the {len(rows):,} rows has one."
        )
    counts = table(known["label"], known["gene"])
    first, last = counts.iloc[0], counts.iloc[-1]
    sentence = (
        f"{first['share_de']:.0%} of the rows have an effect where the gene was measured"
        f" {_times(first['rows_per_gene'])}, {last['share_de']:.0%} where it was measured"
        f" {_times(last['rows_per_gene'])}."
    )
    caption = f"{name} · {len(known):,} labelled rows · 95% Wilson intervals by rows"
    return CaptionedFigure(_TITLE, name, sentence, caption, figure(counts), counts)


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
