"""What a run scores besides its score: the means of the AUROCs of genes and of perturbations, and
the top of the list.

Each is computed inside the cells that the run is scored inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.base.result import Table, hidden
from core.base.texts import rows_behind
from core.scoring.run_scores import RunRows, RunScore
from core.stats.official_score import ScoreIntervals
from core.stats.scores_and_labels import ScoredRows
from core.stats.top_k import TopK, precision_at
from core.stats.within_axis import Axis, WithinAxis, score_within

Metric = Literal["de", "dir"]
METRICS: Final[dict[str, Metric]] = {"DE": "de", "DIR": "dir"}  # as they are called on screen
GROUPS: Final[dict[Axis, str]] = {"gene": "genes", "pert": "perturbations"}
TOP = (20, 50, 100, 200)  # rows at the top of the list


@dataclass(frozen=True, slots=True)
class OtherScores:
    """A run's other scores.

    macro: over pairs of rows that share the gene, or the perturbation. at_k: the top of DE and of
    DIR. whole: the score itself.
    """

    macro: dict[Axis, WithinAxis]
    at_k: dict[Metric, tuple[TopK, ...]]
    whole: ScoreIntervals = hidden()

    def means(self, question: str) -> list[dict[str, Any]]:
        """Return the AUROC of DE or DIR over all rows, and its means over genes and over
        perturbations, with what each counts."""
        metric = METRICS[question]
        whole = getattr(self.whole, metric)
        rows = [
            {
                "over": "all rows",
                "question": question,
                "AUROC": whole,
                "counted": rows_behind(metric, whole.n),
            }
        ]
        for axis, groups in GROUPS.items():
            task = getattr(self.macro[axis], metric)
            counted = f"{task.groups:,} {groups}"
            rows.append(
                {
                    "over": f"mean over {groups}",
                    "question": question,
                    "AUROC": task.macro,
                    "counted": counted,
                }
            )
        return rows

    def top(self, question: str) -> list[dict[str, Any]]:
        """Return the precision at each k of DE or DIR, and what a random order has."""
        return [
            {
                "top": each.k,
                "question": question,
                "precision": each.precision,
                "base rate": each.base_rate,
            }
            for each in self.at_k[METRICS[question]]
        ]

    def tables(self) -> tuple[Table, ...]:
        """Return the means and the top of the list."""
        means, top = (
            [row for name in METRICS for row in rows(name)] for rows in (self.means, self.top)
        )
        return Table("AUROC, and its means over genes and perturbations", tuple(means)), Table(
            "Top of the list", tuple(top)
        )


def other_scores(whole: ScoreIntervals, rows: ScoredRows, top: Sequence[int] = TOP) -> OtherScores:
    """Return all of them, NaN where one class is missing. whole: the run's score."""
    top_de, top_dir = precision_at(rows, top)
    return OtherScores(
        {axis: score_within(rows, axis) for axis in GROUPS}, {"de": top_de, "dir": top_dir}, whole
    )


def other_scores_of_run(rows: RunRows, score: RunScore) -> OtherScores:
    """Return the other scores of a run."""
    return other_scores(score.whole, rows.arrays)
