"""The standing of a dataset's runs, and sentences on the best run and on whether any beats the
no-biology baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.base.hashes import sha256_of
from core.base.texts import number_text
from core.scoring.controls import Verdicts, judge_run
from core.scoring.run_scores import RunRows, RunScore, score_counts, score_run
from core.scoring.sentences import interval_text

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
    known = {
        name: each
        for name, each in standings.items()
        if not math.isnan(each.score.headline.value.estimate)
    }
    if not known:
        return "No run has a score yet: none has labelled rows."
    axes = {
        name: [
            axis
            for axis, verdict in (("DE", each.verdicts.de), ("DIR", each.verdicts.dir))
            if verdict.beats
        ]
        for name, each in known.items()
    }
    beating = [name for name in known if axes[name]]
    best = max(beating or known, key=lambda name: known[name].score.headline.value.estimate)
    found = known[best].score.headline
    rival = CHANCE if found.genes is not None else known[best].counts.whole.mean.value
    numbers = f"mean {interval_text(found.value)} against {number_text(rival)}"
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
