"""How a model is asked to answer a rubric about the texts of a run, or to read its debates."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.audit.clash import PointsRequest
from core.engine.shared_settings import (
    cached_answers,
    calls_at_once,
    most_tokens,
    one_model,
    one_server,
    random_seed,
)
from core.fields.record import setting
from core.llm.call_settings import CallSettings
from core.methods.prompts import EFFORTS


@dataclass(frozen=True, slots=True)
class ModelReading:
    """How a model is asked to read texts. endpoint: by default that of the settings."""

    name: str | None = setting(
        None,
        "The reading's name; by default made from rubric, run and model.",
        name="reading_name",
        title="Name of the reading",
        flag="--name",
        key="name",
        changes_result=False,
    )
    effort: str = setting("", "Reasoning effort.", kind="choice", choices=EFFORTS, title="Reasoning effort")
    seed: int = random_seed()
    concurrency: int = calls_at_once()
    token_budget: int | None = most_tokens()
    cached: bool = cached_answers()
    endpoint: str | None = one_server()
    model: str | None = one_model()
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class ReadingSettings(ModelReading):
    """The settings of a reading for a rubric. passage makes another run."""

    passage: bool = setting(
        False,
        "The model also copies the sentence on which its answer rests. If the text contains it word for word, it is stored and "
        "marked there. If a row's judge gave no reason, the row's header shows it. A reading with this option is a separate run.",
        title="Copy the sentence that decides",
        command_help="Also copy the deciding sentence; such a reading is a separate run.",
    )


@dataclass(frozen=True, slots=True)
class ClashRequest:
    """The clash of a run's debates as a person asks for it: how a model reads them, and which points are shown.

    A model always copies what the debaters say about a point, so there is no `ReadingSettings.passage`.
    """

    points: PointsRequest = field(default_factory=PointsRequest)
    reading: ModelReading = field(default_factory=ModelReading)
