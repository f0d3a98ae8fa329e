"""The ranks of the same rows in two runs; labels are not needed."""

from __future__ import annotations

from collections.abc import Sequence

from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots import rank_scatter
from core.plots.captioned import CaptionedFigure
from core.scoring.compare_runs import RunComparison
from core.stats.ranks import ranks_from_top

_TITLE = "Ranks in both runs"


def of_pair(comparison: RunComparison) -> CaptionedFigure:
    """Return the ranks of the DE score in a baseline and a run on the rows of both."""
    a, b = comparison.names
    moved = comparison.a.frame[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(comparison.a.scores.p_de),
        rank_b=ranks_from_top(comparison.b.scores.p_de),
    )
    caption = (
        f"{b} and {a} · {len(moved):,} rows of both runs · ranks of the DE score, 1 is the largest;"
        " rows with equal scores share a rank · ranks, so no interval"
    )
    chart = rank_scatter.figure(moved, a, b)
    return CaptionedFigure(
        _TITLE, f"{b} and {a}", " ".join(comparison.difference_sentences()), caption, chart, moved
    )


def _make(material: Material) -> Sequence[CaptionedFigure]:
    figures = [of_pair(material.comparison(a.id, b.id)) for a, b in material.comparisons]
    return figures or [CaptionedFigure(_TITLE, "", "No two runs were chosen for comparison.")]


FIGURE = FigureKind(
    "rank_scatter",
    "How runs differ",
    "The ranks of the same rows in the chosen pairs of runs.",
    120,
    _make,
)
