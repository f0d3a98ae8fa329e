"""A person's question about one pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from core.base.fields.setting import Whole, setting
from core.llm.call_settings import CallSettings
from core.runs.spec import DatasetName, Model, Server

SCRIPTED = "scripted"  # instead of an address: the simulated server that ships with the demo


@dataclass(frozen=True, slots=True)
class Question:
    """A person's question. endpoint: of a model server, or "scripted" for the simulated one; None
    for that of the settings.

    options: of the method, name → value. again: ask again under the next repeat, even if it was
    asked before. calls: call options of the server.
    """

    pert: str
    gene: str
    method: Annotated[
        str,
        setting("One that asks a model row by row, such as debate or prompt_only.", title="Method"),
    ] = "debate"
    dataset: DatasetName = None
    endpoint: Annotated[
        Server, setting(f"A model server's address ending in /v1; {SCRIPTED}: a simulated one.")
    ] = None
    model: Model = None
    seed: Annotated[Whole, setting("The random seed of the calls.", where="command")] = 0
    options: Mapping[str, object] = field(default_factory=dict)
    again: Annotated[bool, setting("Ask again, even if it was asked before.", where="command")] = (
        False
    )
    calls: CallSettings = field(default_factory=CallSettings)
