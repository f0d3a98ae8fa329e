"""The standing of a dataset's runs, and sentences on the best run and on whether any beats the
no-biology baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from core.base.hashes import sha256_of
from core.base.texts import number_text
from core.scoring.controls import Verdicts, judge_run
from core.scoring.run_scores import RunRows, RunScore, score_counts, score_run
from core.scoring.sentences import interval_text
from core.stats.intervals import Z95
from core.transfer.run_cells import ALL_ROWS

CHANCE = 0.5
_MOST_WORDS = 3  # of a run's name in a headline


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of a run among others.

    verdicts: against baselines without biology. counts: the score of row counts on its rows.
    rows: equal for runs on the same labelled rows.
    """

    score: RunScore
    verdicts: Verdicts
    counts: RunScore
    rows: str


def standing_of(rows: RunRows) -> Standing:
    """Return the standing of a run."""
    labelled = np.sort(rows.positions[rows.arrays.outcome.labelled])
    return Standing(
        score_run(rows), judge_run(rows), score_counts(rows), sha256_of(labelled.tobytes())
    )


def headline(standings: Mapping[str, Standing]) -> str:
    """Return whether any of these runs (by name) is known to beat the baselines without biology, in
    at most twenty words."""
    axes = {}
    for name, standing in standings.items():
        if not math.isnan(standing.score.headline.value.estimate):
            verdicts = (("DE", standing.verdicts.de), ("DIR", standing.verdicts.dir))
            axes[name] = [axis for axis, verdict in verdicts if verdict.beats]
    if not axes:
        return "No run has a score yet: none has labelled rows."
    beating = [name for name in axes if axes[name]]
    best = max(beating or axes, key=lambda name: standings[name].score.headline.value.estimate)
    best_headline = standings[best].score.headline
    rival = CHANCE if best_headline.genes is not None else standings[best].counts.whole.mean.value
    numbers = f"mean {interval_text(best_headline.value)} against {number_text(rival)}"
    if not beating:
        return f"No run beats the baselines without biology yet: best {_name(best)}, {numbers}."
    on = f"on {' and '.join(axes[best])}{' alone' if len(axes[best]) == 1 else ''}: {numbers}."
    if len(beating) == 1:
        return f"{_name(best)} beats the baselines without biology {on}"
    return f"{len(beating)} runs beat the baselines without biology, {_name(best)} {on}"


def _name(run: str) -> str:
    """Return a run's name for a headline, at most three words."""
    words = run.split()
    return (
        run
        if len(words) <= _MOST_WORDS
        else " ".join((*words[: _MOST_WORDS - 1], f"{words[_MOST_WORDS - 1]}…"))
    )


# of the rows without a label: leaderboards publish the score of a half; no file says which rows
PUBLIC_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class PublicNoise:
    """The standard error of a public score on `rows` rows, the median of what `runs` labelled runs
    have on as many."""

    se: float
    rows: int
    runs: int

    @property
    def half(self) -> float:
        """Half the width of a 95% interval."""
        return Z95 * self.se

    def describe(self) -> str:
        """Describe the computation."""
        whose = "the labelled run" if self.runs == 1 else f"{self.runs} labelled runs (median)"
        return (
            f"± {self.half:.3f}: the standard error of {whose}, for {self.rows:,} rows (half of"
            f" those without a label), is {self.se:.3f}"
        )


def public_noise(scores: Iterable[RunScore], n_unlabelled: int) -> PublicNoise | None:
    """Return the noise of one public score of a dataset; None without rows to be scored on, or
    without a labelled run.

    scores: of the dataset's runs; n_unlabelled: its rows without a label. Runs that are scored over
    all rows count, others only if there are none: the noise of a cut of folds is not part of a
    public score.
    """
    rows = round(PUBLIC_SHARE * n_unlabelled)
    intervals = [
        score.whole
        for score in scores
        if score.whole.n_labelled and not math.isnan(score.whole.mean.shown.se)
    ]
    chosen = [score for score in intervals if score.scored == ALL_ROWS] or intervals
    if not rows or not chosen:
        return None
    on_as_many = [score.mean.shown.se * math.sqrt(score.n_labelled / rows) for score in chosen]
    return PublicNoise(median(on_as_many), rows, len(chosen))
