"""A run asked again under other seeds, with nothing changed: how much of its answers is chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.base.experiment import Arm, Experiment, Kind, Runs
from core.base.result import Table
from core.base.texts import estimate_text
from core.features.experiments.arm_loader import ArmLoader
from core.features.experiments.kinds.asking import AskingSettings, ask_again, missing_run
from core.features.experiments.moved import ANSWERS, read_answers, take_ids
from core.features.experiments.result import ExperimentResult
from core.runs.workspace import Workspace
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.clustered_mean import means_within
from core.stats.delong import Estimate
from core.stats.intervals import Interval

SEEDS_QUESTION = "How much do the answers change when the same is asked again?"


@dataclass(frozen=True, slots=True)
class AnswerVariance:
    """The variance of one answer, by source: between seeds of one row, and between the rows' means;
    below 0 stands for 0."""

    within_rows: Estimate
    between_rows: Estimate


def build_seeds(workspace: Workspace, settings: AskingSettings) -> Experiment:
    """Return the experiment: the run as it is, and again under other seeds."""
    asking = ask_again(workspace, settings)
    return Experiment(
        f"seeds of {asking.run.name}",
        SEEDS_QUESTION,
        asking.run.dataset,
        Arm("as it is", request=asking.request),
        (),
        asking.rows,
        noise_seeds=tuple(range(1, settings.repeats + 1)),
        again=asking.run.id,
    )


def complete_seeds(
    workspace: Workspace, experiment: Experiment, made: Runs, result: ExperimentResult
) -> ExperimentResult:
    """Add the standard deviation of each answer, by asking again and between rows."""
    with workspace.store.read() as db:
        loader = ArmLoader(db, experiment.dataset)
        askings = [loader.rows_of(run) for run in made[experiment.base.name].values()]
    common = set(experiment.rows).intersection(*(rows.frame["pair_id"] for rows in askings))
    lined = [
        take_ids(rows, [pair_id for pair_id in experiment.rows if pair_id in common])
        for rows in askings
    ]
    return with_spread(
        result, {name: answer_variance(lined, column) for name, column in ANSWERS.items()}
    )


def with_spread(
    result: ExperimentResult, variances: Mapping[str, AnswerVariance | None]
) -> ExperimentResult:
    """Return a result with the standard deviations of answers. variances: by answer, None with too
    few."""
    sources = {
        name: {"asking again": _root(one.within_rows), "between rows": _root(one.between_rows)}
        for name, one in variances.items()
        if one is not None
    }
    if not sources:
        return replace(
            result,
            own_sentence=(
                "Too few rows have a readable answer under every seed to say how much it varies."
            ),
        )
    sentences = [
        f"Standard deviation of {name}:"
        f" {', '.join(f'{what} {estimate_text(*root.ends)}' for what, root in of_name.items())}."
        for name, of_name in sources.items()
    ]
    table = Table(
        "Standard deviation of each answer",
        tuple({"answer": name, **of_name} for name, of_name in sources.items()),
    )
    return replace(result, own_sentence=" ".join(sentences), details=(table,))


def answer_variance(askings: list[RunRows], column: str) -> AnswerVariance | None:
    """Return the components of the variance of one answer, each the mean over rows of what the row
    adds to it.

    askings: of the same rows. Rows with an unreadable answer are left out. None if there are too
    few.
    """
    stacked = np.stack([read_answers(rows, column) for rows in askings])
    read = ~np.isnan(stacked).any(axis=0)
    n = int(read.sum())
    if n < 2 or len(askings) < 2:
        return None
    first = askings[0]

    def mean_of(terms: Floats) -> Estimate:
        return means_within(
            terms,
            np.zeros(n, dtype=np.intp),
            first.pert[read],
            first.gene[read],
            (-math.inf, math.inf),
        )[0]

    means, within = stacked[:, read].mean(axis=0), stacked[:, read].var(axis=0, ddof=1)
    # less what asking leaves in a row's mean
    of_rows = (means - means.mean()) ** 2 * n / (n - 1) - within / len(askings)
    return AnswerVariance(mean_of(within), mean_of(of_rows))


def _root(variance: Estimate) -> Interval:
    """Return the root of a variance with its limits, 0 for one below 0."""
    shown = variance.shown
    estimate, low, high = (
        math.nan if math.isnan(end) else math.sqrt(max(end, 0.0)) for end in shown.ends
    )
    return replace(shown, estimate=estimate, low=low, high=high, se=math.nan)


SEEDS = Kind(
    "seeds", "Other seeds", SEEDS_QUESTION, AskingSettings, build_seeds, missing=missing_run, complete=complete_seeds
)
