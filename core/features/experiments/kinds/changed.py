"""What the kinds have in common that ask a run's rows again with something changed: how they are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from core.base.experiment import Arm, Experiment, Measure, Metric
from core.errors import InputError
from core.features.experiments.kinds.asking import Asking, AskingSettings
from core.features.experiments.result import METRICS
from core.fields.setting import Effect, setting
from core.methods.base import method_named

MEASURES = {"score": "scores, on labelled rows", "answers": "answers, which need no label"}


DecidingMetric = Annotated[Metric, setting("The score that decides.", title="Score that decides", words=METRICS)]
SmallestEffect = Annotated[Effect, setting("The smallest change of it that matters.", title="Smallest effect that matters")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSettings(AskingSettings):
    """A run that is asked again with something changed, and what decides."""

    measure: Annotated[
        Measure, setting("What is compared: scores, or how far answers move.", title="Compared", words=MEASURES)
    ] = "score"
    metric: DecidingMetric = "mean"
    smallest_effect: SmallestEffect = 0.01


def compare_changed(asking: Asking, settings: ChangedSettings, question: str, arms: Iterable[Arm]) -> Experiment:
    """Return the experiment that compares arms with the run as it is, asked again under other seeds.

    Raise InputError without an arm.
    """
    listed, run = tuple(arms), asking.run
    if not listed:
        raise InputError(f"run {run.name}: nothing would be changed; expected settings that differ from the run's")
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
