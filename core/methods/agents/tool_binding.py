"""Evidence tools bound to one row of an agent: to its label view, and so that the model never sees
an exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.base.errors import DeskError, InputError
from core.base.log import record_error
from core.base.types import Evidence
from core.evidence.render import render
from core.evidence.tool import Tool
from core.methods.agents.agent_episode import Episode, ToolDescription

TEXT = {"type": "string"}
FAILED = "This tool failed, so it gives no evidence either way."


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool of one row's agent; act: takes the arguments of a call and returns the text that the
    model sees."""

    description: ToolDescription
    act: Callable[[Mapping[str, Any]], Awaitable[str]]


def describe_tool(tool: Tool) -> ToolDescription:
    """Return how an evidence tool is described to the model."""
    if tool.takes_both:
        arguments = {
            str(name): {**TEXT, "description": "a gene symbol; leave it out for all"}
            for name in tool.takes
        }
    else:
        arguments = {"symbol": {**TEXT, "description": "a gene symbol"}} if tool.takes else {}
    return ToolDescription(tool.name, tool.description, arguments)


def bind_evidence_tool(episode: Episode, tool: Tool) -> BoundTool:
    """Return an evidence tool for an agent; its answers are recorded with the row."""

    async def act(arguments: Mapping[str, Any]) -> str:
        pert, gene = _arguments(tool, arguments)
        found = await tool.run(pert, gene, episode.context.packs, episode.view, episode.context.web)
        episode.keep_evidence(found)
        text, note = render(found, (episode.pair.pert, episode.pair.gene))
        return text or note

    return BoundTool(describe_tool(tool), act)


async def call_tool(episode: Episode, bound: BoundTool, values: Mapping[str, Any]) -> str:
    """Call a tool and returns the text that the model sees, even if the call fails. Raise only what
    ends the row."""
    name, arguments = bound.description.name, bound.description.arguments
    episode.count_tool_call(name)
    unknown = [str(argument) for argument in values if argument not in arguments]
    if unknown:
        observation = (
            f"{name} takes {', '.join(arguments) or 'no arguments'}, not {', '.join(unknown)}."
        )
        episode.record_observation(name, observation, error="arguments")
        return observation
    try:
        observation = await bound.act(values)
    except InputError as error:
        observation = str(error)
        episode.record_observation(name, observation, error="arguments")
    except Exception as error:  # the model must not see a traceback, which names our files
        # a colleague's call of the model ended the row: not the tool's fault
        if episode.failure is not None:
            raise
        # The first error of a kind goes to the workspace's log; ours are in the trace.
        kinds = episode.context.notes.setdefault("kinds of tool errors", set())
        kind = (name, type(error).__name__)
        if not isinstance(error, DeskError) and kind not in kinds:
            kinds.add(kind)
            record_error(f"tool {name} of row {episode.pair.pair_id}", error)
        observation = FAILED
        episode.keep_evidence(
            Evidence(
                name, ", ".join(map(str, values.values())), "error", type(error).__name__, None, {}
            )
        )
        episode.record_observation(name, observation, error=type(error).__name__)
    else:
        episode.record_observation(name, observation)
    return observation


def _arguments(tool: Tool, call: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the perturbation and the gene that a call names, None for one that it leaves out."""
    values = {name: str(value).strip() or None for name, value in call.items() if value is not None}
    if tool.takes_both or not tool.takes:
        return values.get("pert"), values.get("gene")
    symbol = values.get("symbol")
    return (symbol, None) if tool.takes[0] == "pert" else (None, symbol)
