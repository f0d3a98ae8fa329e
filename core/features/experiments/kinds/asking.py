"""What the kinds have in common that ask the rows of a run again: their settings, the request for
an arm, and how arms that change something are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from annotated_types import Ge, Le

from core.base.errors import InputError, StateError
from core.base.experiment import Arm, Experiment, Measure, Metric
from core.base.fields.setting import Effect, setting
from core.features.experiments.arms import answered_rows
from core.features.experiments.result import METRICS
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY
from core.methods.base import method_named
from core.runs.component_loader import default_dataset
from core.runs.request import RunRequest
from core.runs.spec import CallsAtOnce, LabelViewSpec, Server
from core.runs.workspace import Workspace
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
    if not _can_be_asked(run):
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


def missing_run(workspace: Workspace, dataset: str | None) -> list[str]:
    """Return what a dataset lacks for asking a run again, in words."""
    with workspace.store.read() as db:
        here = runs.list_predicting(db, default_dataset(workspace, dataset).id)
    return [] if any(map(_can_be_asked, here)) else ["a run made here by asking a model"]


def _can_be_asked(run: Run) -> bool:
    return isinstance(run.spec.get("options"), Mapping) and "view" in run.spec


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
