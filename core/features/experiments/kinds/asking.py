"""What the kinds have in common that ask the rows of a run again: their settings, the request for
an arm, and how arms that change something are compared; and the kind that changes nothing, which
shows how much of the answers is chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from core.base.errors import InputError, StateError
from core.base.experiment import Arm, Experiment, Kind, Measure, Metric, Runs
from core.base.fields.setting import Effect, setting
from core.base.result import Table
from core.base.texts import estimate_text
from core.features.experiments.arm_rows import ANSWERS, ArmLoader, read_answers, take_ids
from core.features.experiments.arms import answered_rows
from core.features.experiments.result import METRICS, ExperimentResult
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY
from core.methods.base import method_named
from core.runs.request import RunRequest
from core.runs.spec import CallsAtOnce, LabelViewSpec, Server
from core.runs.workspace import Workspace
from core.scoring.run_scores import RunRows
from core.stats.clustered_mean import means_within
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from core.store import runs
from core.store.runs import Run

MOST_REPEATS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSettings:
    """A run that is asked again. endpoint: by default that of the settings. calls: how it is asked,
    by default as for the run."""

    run: Annotated[str, setting("The run that is asked again.", names="run", where="elsewhere")]
    rows: Annotated[
        str | tuple[str, ...],
        setting(
            'Which of the run\'s rows, such as "sample=100" or "split=train"; by default all.',
            title="Rows",
        ),
    ] = ""
    repeats: Annotated[
        int,
        Ge(1),
        Le(MOST_REPEATS),
        setting(
            "How often the run is asked again unchanged, each time under other seeds.",
            title="Repeats",
        ),
    ] = 1
    endpoint: Server = None
    concurrency: CallsAtOnce = CONCURRENCY
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class Asking:
    """A run, those of its rows that are asked again, and the request that asks them as the run
    did."""

    run: Run
    rows: tuple[str, ...]
    request: RunRequest

    def changed(self, **options: Any) -> RunRequest:
        """Return the request with other values of some options."""
        return replace(self.request, options={**self.request.options, **options})


def ask_again(workspace: Workspace, settings: AskingSettings) -> Asking:
    """Return what settings ask. Raise NotFound, InputError for impossible rows, and StateError for
    a run whose questions are unknown, or whose rows were asked one by one."""
    with workspace.store.read() as db:
        run = runs.find_predicting(db, settings.run)
    if not (isinstance(run.spec.get("options"), Mapping) and "view" in run.spec):
        raise StateError(
            f"run {run.name} ({run.method}, {run.origin}): cannot be asked again, expected a run"
            " made here by a model"
        )
    if run.is_asked:
        raise StateError(
            f"run {run.name}: an ad-hoc run of one row; expected a run of a dataset's rows. Rows"
            " asks one again"
        )
    rows = answered_rows(workspace, run, settings.rows)
    request = RunRequest(
        method=run.method,
        dataset=run.dataset,
        options=run.spec["options"],
        rows=rows,
        model=run.model or "",
        labels=LabelViewSpec(**run.spec["view"]),
        seed=int(run.spec.get("seed", 0)),
        repeat=int(run.spec.get("repeat", 0)),
        calls=settings.calls.over_run(run.spec),
        endpoint=settings.endpoint,
        concurrency=settings.concurrency,
    )
    return Asking(run, rows, request)


MEASURES = {"score": "scores, on labelled rows", "answers": "answers, which need no label"}


DecidingMetric = Annotated[
    Metric, setting("The score that decides.", title="Score that decides", words=METRICS)
]
SmallestEffect = Annotated[
    Effect, setting("The smallest change of it that matters.", title="Smallest effect that matters")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSettings(AskingSettings):
    """A run that is asked again with something changed, and what decides."""

    measure: Annotated[
        Measure,
        setting(
            "What is compared: scores, or how far answers move.", title="Compared", words=MEASURES
        ),
    ] = "score"
    metric: DecidingMetric = "mean"
    smallest_effect: SmallestEffect = 0.01


def compare_changed(
    asking: Asking, settings: ChangedSettings, question: str, arms: Iterable[Arm]
) -> Experiment:
    """Return the experiment that compares arms with the run as it is, asked again under other
    seeds.

    Raise InputError without an arm.
    """
    listed, run = tuple(arms), asking.run
    if not listed:
        raise InputError(
            f"run {run.name}: nothing would be changed; expected settings that differ from the"
            " run's"
        )
    again = tuple(range(1, settings.repeats + 1)) if method_named(run.method).needs_model else ()
    by_answers = settings.measure == "answers"
    remark = f"{run.method} calls no model: asked again, it would answer the same."
    return Experiment(
        f"{run.name}: {', '.join(arm.name for arm in listed)}",
        question,
        run.dataset,
        Arm("as it is", request=asking.request),
        listed,
        asking.rows,
        seeds=again if by_answers else (0,),
        noise_seeds=(0,) if by_answers else again,
        measure=settings.measure,
        metric=settings.metric,
        smallest_effect=settings.smallest_effect,
        remarks=() if again else (remark,),
        again=run.id,
    )


SEEDS_QUESTION = "How much do the answers change when the same is asked again?"


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
    spreads = {name: spread_of(lined, column) for name, column in ANSWERS.items()}
    return with_spread(result, spreads)


def with_spread(
    result: ExperimentResult, spreads: Mapping[str, Mapping[str, Interval]]
) -> ExperimentResult:
    """Return a result with the standard deviations of answers. spreads: by answer, as of
    `spread_of`."""
    known = {name: spread for name, spread in spreads.items() if spread}
    sentences = [
        f"Standard deviation of {name}:"
        f" {', '.join(f'{what} {estimate_text(*root.ends)}' for what, root in spread.items())}."
        for name, spread in known.items()
    ]
    if not sentences:
        sentences = ["Too few rows have a readable answer under every seed to say how it varies."]
    rows = tuple({"answer": name, **spread} for name, spread in known.items())
    details = (Table("Standard deviation of each answer", rows),) if rows else ()
    return replace(result, own_sentence=" ".join(sentences), details=details)


def spread_of(askings: list[RunRows], column: str) -> dict[str, Interval]:
    """Return the standard deviation of one answer by asking again, and between the means of rows;
    nothing with too few.

    Each is the root of a component of the variance, which is the mean over rows of what the row
    adds to it; one below 0 stands for 0. askings: of the same rows. Rows with an unreadable answer
    are left out.
    """
    stacked = np.stack([read_answers(rows, column) for rows in askings])
    read = ~np.isnan(stacked).any(axis=0)
    n, first = int(read.sum()), askings[0]
    if n < 2 or len(askings) < 2:
        return {}
    means, within = stacked[:, read].mean(axis=0), stacked[:, read].var(axis=0, ddof=1)
    parts = {
        "asking again": within,
        # less what asking leaves in a row's mean
        "between rows": (means - means.mean()) ** 2 * n / (n - 1) - within / len(askings),
    }
    axes, anywhere = (first.pert[read], first.gene[read]), (-math.inf, math.inf)
    one_group = np.zeros(n, dtype=np.intp)
    return {
        name: _root(means_within(terms, one_group, *axes, anywhere)[0])
        for name, terms in parts.items()
    }


def _root(variance: Estimate) -> Interval:
    """Return the root of a variance with its limits, 0 for one below 0."""
    shown = variance.shown
    estimate, low, high = (
        math.nan if math.isnan(end) else math.sqrt(max(end, 0.0)) for end in shown.ends
    )
    return replace(shown, estimate=estimate, low=low, high=high, se=math.nan)


SEEDS = Kind(
    "seeds",
    "Other seeds",
    SEEDS_QUESTION,
    AskingSettings,
    build_seeds,
    complete=complete_seeds,
)
