"""Evidence tools as an agent may call them: bound to a row's label view, and never raising at the model."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import InputError
from core.evidence.render import render
from core.evidence.tool import Tool
from core.methods.agents.agent_episode import Episode
from core.methods.agents.agent_options import ToolDescription
from core.types import Evidence

TEXT = {"type": "string"}
FAILED = "This tool failed, so it gives no evidence either way."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool of one row's agent; act: from the arguments of a call to the text that the model sees."""

    description: ToolDescription
    act: Callable[[Mapping[str, Any]], Awaitable[str]]


def describe_tool(tool: Tool) -> ToolDescription:
    """An evidence tool as the model is told of it."""
    if tool.together:
        arguments = {str(name): {**TEXT, "description": "a gene symbol; leave it out for all"} for name in tool.takes}
    else:
        arguments = {"symbol": {**TEXT, "description": "a gene symbol"}} if tool.takes else {}
    return ToolDescription(tool.name, tool.description, arguments)


def bind_evidence_tool(episode: Episode, tool: Tool) -> BoundTool:
    """An evidence tool for an agent; what it answers is kept with the row."""

    async def act(given: Mapping[str, Any]) -> str:
        pert, gene = _arguments(tool, given)
        found = await tool.run(pert, gene, episode.context.packs, episode.view, episode.context.web)
        episode.keep_evidence(found)
        text, note = render(found, (episode.pair.pert, episode.pair.gene))
        return text or note

    return BoundTool(describe_tool(tool), act)


async def call_tool(episode: Episode, bound: BoundTool, given: Mapping[str, Any]) -> str:
    """What the model sees of a call, whatever happens in it; only what ends the row is raised."""
    name, arguments = bound.description.name, bound.description.arguments
    episode.count_tool_call(name)
    unknown = [str(argument) for argument in given if argument not in arguments]
    if unknown:
        said = f"{name} takes {', '.join(arguments) or 'no arguments'}, not {', '.join(unknown)}."
        episode.record_observation(name, said, error="arguments")
        return said
    try:
        said = await bound.act(given)
    except InputError as error:
        said = str(error)
        episode.record_observation(name, said, error="arguments")
    except Exception as error:  # whatever a tool does wrong, the model must not see where our files lie
        if episode.failure is not None:  # a colleague's question to the model: not the tool's fault
            raise
        _log.exception("tool %s of row %s", name, episode.pair.pair_id)
        said = FAILED
        episode.keep_evidence(Evidence(name, ", ".join(map(str, given.values())), "error", type(error).__name__, None, {}))
        episode.record_observation(name, said, error=type(error).__name__)
    else:
        episode.record_observation(name, said)
    return said


def _arguments(tool: Tool, given: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The perturbation and the gene that a call names, None for what it leaves out."""
    values = {name: str(value).strip() or None for name, value in given.items() if value is not None}
    if tool.together or not tool.takes:
        return values.get("pert"), values.get("gene")
    symbol = values.get("symbol")
    return (symbol, None) if tool.takes[0] == "pert" else (None, symbol)
