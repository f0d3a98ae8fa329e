"""What a fusion gains over its baseline, and what has to be known of it."""

from __future__ import annotations

from dataclasses import dataclass

from core.base.result import Figure, Table, hidden, inline
from core.scoring.compare_runs import change_sentence
from core.scoring.sentences import scored_text
from core.transfer.live_fusion import FusionComparison


@dataclass(frozen=True, slots=True, eq=False)
class FusionVerdict:
    """A fusion of rows. run: its name. uncovered: rows that a component does not cover. constant:
    sentences on components that change no order. comparison: with the baseline, None for a fusion
    that was only saved. remarks: further caveats.
    """

    run: str
    rows: int
    uncovered: int
    id: str = ""
    constant: tuple[str, ...] = ()
    baseline: str = ""
    scored: str = ""
    comparison: FusionComparison | None = inline(default=None)
    remarks: tuple[str, ...] = hidden(default=())

    @property
    def title(self) -> str:
        """The fusion."""
        return f"What {self.run} gains"

    @property
    def sentence(self) -> str:
        """Whether it is better than its baseline; without labels, how many rows it has."""
        if self.comparison is None or not self.comparison.n_labelled:
            return f"{self.run}: {self.rows:,} rows, {self.uncovered:,} without a component."
        return change_sentence(
            self.comparison.mean.change.shown, "mean of DE and DIR", self.baseline, self.run
        )

    @property
    def scope(self) -> str:
        """Which rows count, and how they are scored."""
        return " · ".join(
            filter(None, (f"{self.rows:,} rows", scored_text(self.scored) if self.scored else ""))
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        return (*self.remarks, *self.constant)

    def tables(self) -> tuple[Table, ...]:
        """Return the scores of the baseline and of the fusion, or how many rows are covered."""
        if self.comparison is None or not self.comparison.n_labelled:
            return (Table("Rows", ({"rows": self.rows, "without a component": self.uncovered},)),)
        rows = [
            {
                "metric": name,
                self.baseline or "before": part.before,
                self.run: part.after,
                "change": part.change,
            }
            for name, part in self.comparison.parts.items()
        ]
        return (Table("Scores", tuple(rows), ("change",)),)

    def figure(self) -> Figure | None:
        """Return None: the explorer draws it."""
        return None
