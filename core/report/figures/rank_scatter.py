"""The ranks of the same rows in two runs; labels are not needed."""

from __future__ import annotations

from collections.abc import Sequence

from core.plots import rank_scatter
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.compare_runs import PairedRuns
from core.stats.ranks import ranks_from_top
from core.stats.row_changes import agreement
from core.store.runs import Run

_TITLE = "Ranks in both runs"


def of_pair(pair: PairedRuns, baseline: Run, run: Run) -> CaptionedFigure:
    """Return the ranks of the DE score in a baseline and a run on the rows of both."""
    moved = pair.a.frame[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(pair.a.scores.p_de), rank_b=ranks_from_top(pair.b.scores.p_de)
    )
    caption = (
        f"{run.name} and {baseline.name} · {len(moved):,} rows of both runs · ranks of the DE score, 1 is the largest; rows "
        "with equal scores share a rank · ranks, so no interval"
    )
    chart = rank_scatter.figure(moved, baseline.name, run.name, "the DE score")
    return CaptionedFigure(_TITLE, f"{run.name} and {baseline.name}", agreement_sentence(pair), caption, chart, moved)


def agreement_sentence(pair: PairedRuns) -> str:
    """Return how far the ranks of two runs agree."""
    agreed = agreement(pair.a.scores, pair.b.scores)
    up = "" if agreed.up != agreed.up else f", for DIR {agreed.up:.2f} over {agreed.n_up:,}"
    return f"Rank correlation for DE {agreed.de:.2f} over {agreed.n:,} rows{up}."


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [of_pair(material.comparison(a.id, b.id).pair, a, b) for a, b in material.comparisons]
    return found or [CaptionedFigure(_TITLE, "", "No two runs were chosen for comparison.")]


FIGURE = FigureKind("rank_scatter", "How runs differ", "The ranks of the same rows in the chosen pairs of runs.", 120, _make)
