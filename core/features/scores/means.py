"""The AUROC of a run over all rows, and its unweighted means over genes and over perturbations, as
a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from core.base.result import Figure, LabelMarks, Table
from core.base.texts import NO_BIOLOGY
from core.scoring.other_scores import OtherScores
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, interval_text, scored_text

TITLE = "mean over genes and over perturbations"


@dataclass(frozen=True, slots=True, eq=False)
class MeansResult:
    """The means of DE or DIR (`question`) of a run, beside those of row counts alone on its rows,
    which may be left out."""

    run: str
    question: str
    scored: str
    means: tuple[Mapping[str, Any], ...]
    label_marks: LabelMarks

    @classmethod
    def of(
        cls, rows: RunRows, question: str, scores: OtherScores, counts: OtherScores | None = None
    ) -> Self:
        """Return the means of a run. counts: of row counts alone on its rows."""
        of_names = {rows.run.name: scores} | ({} if counts is None else {NO_BIOLOGY: counts})
        means = [
            {
                "over": mean["over"],
                "name": name,
                "AUROC": mean["AUROC"].shown,
                "counted": mean["counted"],
            }
            for name, each in of_names.items()
            for mean in each.means(question)
        ]
        return cls(rows.run.name, question, rows.scored, tuple(means), rows.marks)

    @property
    def has_counts(self) -> bool:
        """Whether row counts alone stand beside the run."""
        return any(each["name"] == NO_BIOLOGY for each in self.means)

    @property
    def title(self) -> str:
        """The question and the means."""
        return f"{self.question}: {TITLE}"

    @property
    def sentence(self) -> str:
        """The mean over genes, the first beside the score itself; over all rows if no gene has both
        classes."""
        known = self._known()
        if known.empty:
            return (
                f"{self.run}, {self.question}: no pair of rows of both classes, so there is no"
                " score."
            )
        groups = known["over"].unique()
        over = groups[min(1, len(groups) - 1)]
        means = [each for each in self.means if each["over"] == over]
        told = ", ".join(
            f"{each['name']} {interval_text(each['AUROC'])} ({each['counted']})" for each in means
        )
        return f"{self.question}, {over}: {told}."

    @property
    def scope(self) -> str:
        """How the run is scored, and what the squares are."""
        counts = (
            f" · squares: how often genes were measured, on the rows of {self.run}"
            if self.has_counts
            else ""
        )
        return (
            f"{self.run} · {self.question}, {scored_text(self.scored)} · 95% intervals"
            f" {TWO_WAY}{counts}"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is known of the labels."""
        return tuple(filter(None, (self.label_marks.sentence,)))

    def tables(self) -> tuple[Table, ...]:
        """Return the means."""
        return (Table("AUROC, and its means over genes and perturbations", self.means),)

    def figure(self) -> Figure | None:
        """Return the means, a block for each; None without a score."""
        known = self._known()
        values = {"table": known, "title": self.question, "by": "over"}
        return None if known.empty else Figure("core.plots.scores:figure", values, self.sentence)

    def _known(self) -> pd.DataFrame:
        """Return the means that are defined, as the figure draws them."""
        frame = pd.DataFrame(
            {
                "over": each["over"],
                "name": each["name"],
                "kind": "here" if each["name"] == self.run else "baseline",
            }
            | {
                "chosen": each["name"] == self.run and self.has_counts,
                "counted": each["counted"],
                **each["AUROC"].columns,
                "n": each["AUROC"].n,
            }
            for each in self.means
        ).dropna(subset="estimate")
        return frame if (frame["kind"] == "here").any() else frame.head(0)
