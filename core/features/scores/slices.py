"""The score of each slice of a run's rows, and the ways to cut them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from core.base.result import UNMARKED, Figure, LabelMarks, Table, hidden
from core.base.texts import NO_BIOLOGY, number_text
from core.features.scores.slicing import (
    P_BINS,
    QUARTERS,
    SLICES,
)
from core.scoring.other_scores import OtherScores
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.stats.slices import Slice, by_slice
from core.store.predictions import GENE_ROWS

SHOWN = 15  # slices in the figure; the table has them all
GENE_ROWS_KIND = "gene's rows"  # the kind of slice by how often the gene was measured
# on screen, where the kind's name does not do
KINDS = {GENE_ROWS_KIND: "how often the gene was measured"}
# A slice of one cluster has the other axis alone.
INTERVALS = {
    "perturbation": "allowing for shared genes",
    "target gene": "allowing for shared perturbations",
}


@dataclass(frozen=True, slots=True, eq=False)
class SlicesResult:
    """One kind of slice of a run's rows, the costliest first, each scored as the run is.

    by: one of `SLICES`; metric: mean, DE or DIR, which the sentence and the figure are about.
    overall, control: the metric over all rows, of the run and of row counts alone; None if they
    were not computed.
    """

    by: str
    scored: str
    slices: tuple[Slice, ...]
    metric: str = "mean"
    overall: float | None = None
    control: float | None = None
    run: str = hidden(default="")
    label_marks: LabelMarks = UNMARKED

    @classmethod
    def of(
        cls,
        rows: RunRows,
        by: str,
        metric: str = "mean",
        score: RunScore | None = None,
        counts: RunScore | None = None,
    ) -> Self:
        """Return one kind of slice of a run. score: the run's; counts: of row counts alone on its
        rows."""
        slices = sorted(
            score_slices(rows, by), key=lambda part: (math.isnan(part.mean.cost), -part.mean.cost)
        )
        overall, control = (
            None if each is None else each.whole.parts[metric].value for each in (score, counts)
        )
        return cls(
            by, rows.scored, tuple(slices), metric, overall, control, rows.run.name, rows.marks
        )

    @property
    def title(self) -> str:
        """What the score is cut by."""
        return f"{self.metric} by {KINDS.get(self.by, self.by)}"

    @property
    def sentence(self) -> str:
        """The slice that costs most."""
        costs = [(part.parts[self.metric].cost, part) for part in self.slices]
        known = [each for each in costs if not math.isnan(each[0])]
        if not known:
            return f"No slice has both classes, so none has a {self.metric}."
        cost, most = max(known, key=lambda each: each[0])
        score = interval_text(most.parts[self.metric].score.shown)
        name = describe_slice(self.by, most.name)
        rows = f"{most.n_labelled:,} labelled rows"
        return (
            f"“{name}” costs the {self.metric} most, {number_text(cost, '+.4f')}: {score} on its"
            f" {rows}."
        )

    @property
    def scope(self) -> str:
        """The rows, and how the slices are scored."""
        n = len(self.slices)
        drawn = f", drawn: the {SHOWN} that cost most" if n > SHOWN else ""
        rows = f"{n:,} slices of {sum(part.n for part in self.slices):,} rows{drawn}"
        how = (
            f"{self.metric} inside each slice, {scored_text(self.scored)}, interval"
            f" {INTERVALS.get(self.by, TWO_WAY)}"
        )
        return f"{self.run} · {rows} · {how}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is known of the labels."""
        return (self.label_marks.sentence,) if self.label_marks.sentence else ()

    @property
    def in_order(self) -> list[Slice]:
        """The slices in the order of their kind; those that cost the metric most first where it has
        none."""
        order = ORDERS.get(self.by)
        if order is not None:
            return sorted(self.slices, key=lambda part: order.index(part.name))
        costs = {part.name: part.parts[self.metric].cost for part in self.slices}
        return sorted(
            self.slices, key=lambda part: (math.isnan(costs[part.name]), -costs[part.name])
        )

    def frame(self) -> pd.DataFrame:
        """Return the slices in their order: slice, n, n_labelled, estimate, low, high, clusters and
        cost of the metric."""
        scored = [(part, part.parts[self.metric]) for part in self.in_order]
        return pd.DataFrame(
            {
                "slice": describe_slice(self.by, part.name),
                "n": part.n,
                "n_labelled": part.n_labelled,
            }
            | {
                **found.score.shown.columns,
                "clusters": found.score.shown.clusters,
                "cost": found.cost,
            }
            for part, found in scored
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the slices."""
        slices = [
            {
                "slice": describe_slice(self.by, part.name),
                "rows": part.n,
                "labelled rows": part.n_labelled,
            }
            | {name: one.score for name, one in part.parts.items()}
            | {
                "clusters": part.parts[self.metric].score.shown.clusters,
                "cost": part.parts[self.metric].cost,
            }
            for part in self.slices
        ]
        return (Table("Slices, the costliest first", tuple(slices), ("cost",)),)

    def figure(self) -> Figure:
        """Return the slices beside the score of all rows."""
        lines = {"overall": self.overall, "control": self.control, "title": self.metric}
        values = {"table": self.frame(), **lines, "names": "slice", "most": SHOWN}
        return Figure("core.plots.forest_plot:figure", values, self.sentence)


def describe_slice(by: str, name: str) -> str:
    """Return the name of a slice on screen."""
    if by != GENE_ROWS_KIND:
        return name
    return "measured once" if name == "1" else f"measured {name} times"


def score_slices(rows: RunRows, by: str) -> tuple[Slice, ...]:
    """Return every slice of a run's rows by one of `SLICES`, scored as the run is."""
    return by_slice(
        rows.labels, rows.scores, SLICES[by](rows.frame), rows.pert, rows.gene, rows.cells
    )


# The order of the slices of a kind, if it is not the default.
ORDERS: dict[str, tuple[str, ...]] = {
    "gene's rows": tuple(GENE_ROWS),
    **dict.fromkeys(
        ("P(DE)", "P(up | DE)"), (*(f"{low:.1f}–{high:.1f}" for low, high in P_BINS), "missing")
    ),
    "support of neighbours": ("none", *QUARTERS),
}


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
        return (
            None if known.empty else Figure("core.plots.forest_plot:figure", values, self.sentence)
        )

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
