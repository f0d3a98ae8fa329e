"""How a model is asked to answer a rubric about the texts of a run, or to read its debates."""

from __future__ import annotations

from dataclasses import dataclass, field

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
class ReadingSettings:
    """The settings of a reading. endpoint: by default that of the workspace; passage makes another run, and is for no reading
    that quotes anyway."""

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
    passage: bool = setting(
        False,
        "The model also copies the sentence on which its answer rests. If the text contains it word for word, it is stored and "
        "marked there. If a row's judge gave no reason, the row's header shows it. A reading with this option is a separate run.",
        title="Copy the sentence that decides",
        command_help="Also copy the deciding sentence; such a reading is a separate run.",
    )
    calls: CallSettings = field(default_factory=CallSettings)
