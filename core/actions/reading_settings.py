"""How a model is asked to answer a rubric about the texts of a run, or to read its debates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from core.engine.shared_settings import Cached, CallsAtOnce, Model, Seed, Server, TokenBudget
from core.fields.setting import setting
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY
from core.methods.prompts import Effort


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """The settings of a reading. endpoint: by default that of the workspace; passage makes another run, and is for no reading
    that quotes anyway."""

    name: Annotated[
        str | None,
        setting(
            "The reading's name; by default made from rubric, run and model.",
            title="Name of the reading",
            name="reading_name",
            option="--name",
            key="name",
            changes_result=False,
        ),
    ] = None
    effort: Annotated[Effort, setting("Reasoning effort.", title="Reasoning effort")] = ""
    seed: Seed = 0
    concurrency: CallsAtOnce = CONCURRENCY
    token_budget: TokenBudget = None
    cached: Cached = True
    endpoint: Server = None
    model: Model = None
    passage: Annotated[
        bool,
        setting(
            "The model also copies the sentence on which its answer rests. If the text contains it word for word, it is "
            "stored and marked there. If a row's judge gave no reason, the row's header shows it. A reading with this "
            "option is a separate run.",
            title="Copy the sentence that decides",
        ),
    ] = False
    calls: CallSettings = field(default_factory=CallSettings)
