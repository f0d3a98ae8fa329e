"""One row of an agent: its calls of the model and of tools, its limits, and its events in order.

Rows share nothing here, so the calls of concurrent rows are never counted together.

The options that agents share, and the outline of their prompts.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from core.base.errors import DeskError, InputError
from core.base.fields.setting import Count, setting
from core.base.log import record_error
from core.base.texts import replace_surrogates
from core.base.types import Evidence, Options, Pair, TraceEvent
from core.evidence.label_view import LabelView
from core.evidence.render import render
from core.evidence.tool import Tool
from core.llm.answers import AnswerSchema, letter_schema, percent_schema
from core.llm.kept_answer import TokenCount
from core.llm.logprobs import LETTERS
from core.llm.messages import Message, Reply
from core.methods.base import Context
from core.methods.coded_names import ShownNames
from core.methods.conversation import CallSpec, RowConversation
from core.methods.prompts import (
    B_PROMPT_TOKENS,
    B_TOOL_CALLS,
    B_TOOLS,
    CellContext,
    Effort,
    Literature,
    Shots,
    Sources,
    Structured,
    fill,
    prompt_text,
)

Steps = Annotated[
    int, Ge(1), Le(1_000), setting("The most steps of one agent; then it answers from what it has.")
]
PROBABILITIES = (
    ("p_de", "how probable it is, from 0 to 100, that the target gene's expression changes at all"),
    ("p_up_given_de", "how probable it is, from 0 to 100, that it goes up, should it change"),
)
LETTER = (("answer", "A) up, B) down or C) none: the letter alone"),)
IN_WORDS = (("answer", "the answer in a few sentences"),)


@dataclass(frozen=True)
class AgentSettings:
    """The options that agents share."""

    answers: Annotated[
        Literal["probabilities", "letter"],
        setting("What is asked for in the end: two numbers, or a letter."),
    ] = "probabilities"
    max_steps: Steps = 12
    max_tokens: Annotated[Count, setting("The longest reply in tokens, reasoning included.")] = (
        3_000
    )
    effort: Effort = ""
    sources: Sources = "packs"
    literature: Literature = "passage"
    context: CellContext = "kit"
    shots: Shots = 0
    structured: Structured = False
    names: ShownNames = ""


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool as the model sees it; arguments: name → JSON schema."""

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PromptOutline:
    """The parts of an agent's prompts that are the same for every row.

    input_fields: their names. output_fields: (name, description) of each. schema: of the answer,
    None for any text.
    """

    instructions: str
    tools: tuple[ToolDescription, ...]
    input_fields: tuple[str, ...]
    output_fields: tuple[tuple[str, str], ...]
    schema: AnswerSchema | None = None


class TrackLimitExceeded(DeskError):
    """A row would exceed a limit of track B: 250 tool calls, 100 distinct tools, or 16,384 tokens
    of system prompt."""


class Episode:
    """Everything that the agents of one row do; stage: of its trace events.

    events, evidence: in order. tool_calls: of all its agents together. failure: the error that ends
    the row; it is stored because DSPy continues after some errors.
    """

    def __init__(self, context: Context, pair: Pair, stage: str, agent: str) -> None:
        self.context, self.pair, self.stage = context, pair, stage
        self.view: LabelView = context.view_of(pair)
        self.conversation = RowConversation(context, pair)
        self.events: list[TraceEvent] = []
        self.evidence: dict[tuple[str, str], Evidence] = {}
        self.tool_calls = 0
        self.tools: set[str] = set()
        self.failure: Exception | None = None
        self.last: tuple[tuple[Message, ...], Reply] | None = None
        self._agents = [agent]
        self._steps = [0]
        self._chosen: list[list[str]] = [[]]
        self._unrecorded: list[Reply] = []

    @property
    def agent(self) -> str:
        """The agent that is working now."""
        return self._agents[-1]

    @property
    def chosen(self) -> Sequence[str]:
        """The tools that the current agent has chosen so far, one for each step."""
        return self._chosen[-1]

    @contextmanager
    def consult_as(self, agent: str) -> Iterator[None]:
        """Make another agent the current one for the duration of the context."""
        self._agents.append(agent)
        self._steps.append(0)
        self._chosen.append([])
        try:
            yield
        finally:
            self._agents.pop()
            self._steps.pop()
            self._chosen.pop()

    @property
    def most_steps(self) -> int:
        """The most steps that the current agent may take; those of agents that another one asks may
        be others."""
        options = self.context.options
        own: int = options["max_steps"]
        return options.get("specialist_steps") or own if len(self._agents) > 1 else own

    async def ask_model(
        self, messages: Sequence[Mapping[str, Any]], schema: AnswerSchema | None = None
    ) -> Reply:
        """Return the model's reply to these messages. Raise what the client raises, or the error
        that already ended the row."""
        if self.failure is not None:
            raise self.failure
        sent = tuple(
            Message(str(message["role"]), replace_surrogates(str(message["content"])))
            for message in messages
        )
        try:
            options = self.context.options
            limits = options["max_tokens"], options["effort"]
            reply = await self.conversation.ask(
                CallSpec(self.stage, self.agent, self.context.seed, *limits, schema=schema), sent
            )
        except DeskError as error:
            self.failure = error
            raise
        self.last = sent, reply
        self._unrecorded.append(reply)
        return reply

    def record_step(self, thought: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Record an agent's thought and the tool call that it decided on."""
        self._chosen[-1].append(tool)
        self.record_event(self.agent, "thought", thought)
        if tool != "finish":
            self.record_event(tool, "tool_call", json.dumps(dict(arguments), ensure_ascii=False))

    def record_observation(self, tool: str, observation: str, **meta: Any) -> None:
        """Record a tool's answer, which ends a step."""
        self.record_event(tool, "observation", observation, **meta)
        self._steps[-1] += 1

    def record_event(self, role: str, kind: str, content: str, **meta: Any) -> None:
        """Add an event; the replies since the last event count as its cost."""
        replies, self._unrecorded = self._unrecorded, []
        tokens = (
            sum(reply.usage.prompt_tokens + reply.usage.completion_tokens for reply in replies)
            if replies
            else None
        )
        latency = round(sum(reply.latency_ms for reply in replies), 1) if replies else None
        where = {"depth": len(self._agents) - 1, "agent": self.agent, "step": self._steps[-1]}
        self.events.append(
            TraceEvent(
                self.stage,
                role,
                kind,
                replace_surrogates(content),
                tokens,
                latency,
                {**where, **meta},
            )
        )

    def keep_evidence(self, item: Evidence) -> None:
        """Store a tool's evidence; an answer replaces a failure under the same key."""
        before = self.evidence.get((item.tool, item.key))
        if before is None or before.status in ("error", "offline"):
            self.evidence[item.tool, item.key] = item
            if self.context.feed:
                self.context.feed.tool_answered(item)

    def count_tool_call(self, tool: str) -> None:
        """Count a call of a tool. Raise TrackLimitExceeded, which ends the row, if it exceeds a
        limit."""
        self.tool_calls += 1
        self.tools.add(tool)
        if self.tool_calls > B_TOOL_CALLS:
            self.end_row(f"call {self.tool_calls:,} of a tool, expected at most {B_TOOL_CALLS}")
        if len(self.tools) > B_TOOLS:
            self.end_row(f"{len(self.tools)} distinct tools, expected at most {B_TOOLS}")

    def check_prompt(self, counted: TokenCount) -> None:
        """Raise TrackLimitExceeded if the system prompt, tool definitions included, is longer than
        allowed."""
        if counted.tokens > B_PROMPT_TOKENS:
            self.end_row(f"system prompt of {counted.words}, expected at most {B_PROMPT_TOKENS:,}")

    def end_row(self, why: str) -> None:
        """End the row with TrackLimitExceeded; the model is not asked again."""
        self.failure = TrackLimitExceeded(f"{self.pair.pair_id}: {why}")
        raise self.failure


def outline_of_answerer(
    options: Options, tools: Sequence[ToolDescription], *more: str
) -> PromptOutline:
    """Return the outline of the agent that predicts the pair; more: further paragraphs of
    instructions."""
    letter = options["answers"] == "letter"
    answer_format = prompt_text("agent_letter" if letter else "agent_probabilities")
    instructions = fill(prompt_text("agent"), measure=prompt_text("measure"), format=answer_format)
    input_fields = (
        "cells",
        "perturbed_gene",
        "target_gene",
        *(("measured_pairs",) if options["shots"] else ()),
    )
    output_fields = LETTER if letter else PROBABILITIES
    schema = None
    if options.get("structured"):
        names = [name for name, _ in output_fields]
        schema = letter_schema(LETTERS, reasoned=True) if letter else percent_schema(*names)
    return PromptOutline(
        "\n\n".join((instructions, *more)), tuple(tools), input_fields, output_fields, schema
    )


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
