"""What a report shows of runs: each part is brought by a feature, and gets what nearly every part
needs; numbers are computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from core.plots.printed import CaptionedFigure
from core.scoring.compare_runs import RunComparison, compare_runs
from core.scoring.kept_scores import KeptScore
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.standing import Standing, standing_of
from core.store.datasets import Dataset
from core.store.runs import Run

R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownRuns:
    """The runs that a report shows.

    comparisons: pairs of a baseline and a run. counts: `datasets.counts` of the dataset;
    dataset_rows: `pairs.frame`. rows: by run, of all that are shown or compared.
    kept: by run, of those whose score is kept.
    """

    dataset: Dataset
    runs: tuple[Run, ...]
    comparisons: tuple[tuple[Run, Run], ...]
    counts: pd.DataFrame
    dataset_rows: pd.DataFrame
    rows: Mapping[str, RunRows]
    kept: Mapping[str, KeptScore] = field(default_factory=dict)
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def score(self, run: str) -> RunScore:
        """Return a run's score."""
        return self.standing(run).score

    def count_score(self, run: str) -> RunScore:
        """Return the score of row counts alone on a run's rows."""
        return self.standing(run).counts

    def standing(self, run: str) -> Standing:
        """Return where a run stands."""
        if run in self.kept:
            return self.kept[run].standing
        return self._once(("standing", run), lambda: standing_of(self.rows[run]))

    def comparison(self, a: str, b: str) -> RunComparison:
        """Run b against run a."""
        return self._once(("comparison", a, b), lambda: compare_runs(self.rows[a], self.rows[b]))

    def _once(self, key: tuple[str, ...], compute: Callable[[], R]) -> R:
        if key not in self._known:
            self._known[key] = compute()
        result: R = self._known[key]
        return result


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A kind of figure that a report can have.

    name: as in `--figures`. order: of the section in a report. make: the figures of the runs and
    comparisons that are shown; it gets the workspace, too. by_default: whether a report shows it by
    default. files: what it reads beside the store, in a form that changes with it.
    """

    name: str
    title: str
    about: str
    order: int
    make: Callable[[Any, ShownRuns], Sequence[CaptionedFigure]]
    by_default: bool = True
    files: Callable[[Any], object] | None = None
