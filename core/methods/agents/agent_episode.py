"""One row of an agent: every call it makes, what it may not exceed, and what happened, in order.

Nothing here is shared between rows, so that what concurrent rows do is never counted together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import DeskError
from core.evidence.label_view import LabelView
from core.llm.answers import well_formed
from core.llm.messages import Message, Reply
from core.llm.tokens import TokenCount
from core.methods.base import Context
from core.methods.conversation import CallSpec, RowConversation
from core.methods.track_limits import B_PROMPT_TOKENS, B_TOOL_CALLS, B_TOOLS
from core.types import Evidence, Pair, TraceEvent


class TrackLimitExceeded(DeskError):
    """An agent would exceed what a row of track B may use: 250 tool calls, 100 distinct tools, 16,384 tokens of prompt."""


class Episode:
    """What one row's agents do. stage: of its events.

    events and evidence: what happened and what was found, in order. tool_calls: of all of its agents. failure: what ends
    the row, kept because DSPy goes on after some errors.
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
        self._unwritten: list[Reply] = []

    @property
    def agent(self) -> str:
        """Who is at work."""
        return self._agents[-1]

    @property
    def chosen(self) -> Sequence[str]:
        """The tools that the agent at work has chosen so far, one a step."""
        return self._chosen[-1]

    @contextmanager
    def consult_as(self, agent: str) -> Iterator[None]:
        """While another agent is at work."""
        self._agents.append(agent)
        self._steps.append(0)
        self._chosen.append([])
        try:
            yield
        finally:
            self._agents.pop()
            self._steps.pop()
            self._chosen.pop()

    def call_spec(self) -> CallSpec:
        """Who asks the model now, and how."""
        options = self.context.options
        return CallSpec(self.stage, self.agent, self.context.seed, options["max_tokens"], options["effort"])

    async def ask_model(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        """The model's reply to a conversation. Raises what the client raises, or what has ended the row already."""
        if self.failure is not None:
            raise self.failure
        sent = tuple(Message(str(message["role"]), well_formed(str(message["content"]))) for message in messages)
        try:
            reply = await self.conversation.ask(self.call_spec(), sent)
        except DeskError as error:
            self.failure = error
            raise
        self.last = sent, reply
        self._unwritten.append(reply)
        return reply

    def record_step(self, thought: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Write down what an agent has decided to do next."""
        self._chosen[-1].append(tool)
        self.record_event(self.agent, "thought", thought)
        if tool != "finish":
            self.record_event(tool, "tool_call", json.dumps(dict(arguments), ensure_ascii=False))

    def record_observation(self, tool: str, said: str, **meta: Any) -> None:
        """Write down what a tool answered, which ends a step."""
        self.record_event(tool, "observation", said, **meta)
        self._steps[-1] += 1

    def record_event(self, role: str, kind: str, content: str, **meta: Any) -> None:
        """Add an event; the replies since the last one count as its cost."""
        replies, self._unwritten = self._unwritten, []
        tokens = sum(reply.usage.prompt_tokens + reply.usage.completion_tokens for reply in replies) if replies else None
        latency = round(sum(reply.latency_ms for reply in replies), 1) if replies else None
        where = {"depth": len(self._agents) - 1, "agent": self.agent, "step": self._steps[-1]}
        self.events.append(TraceEvent(self.stage, role, kind, well_formed(content), tokens, latency, {**where, **meta}))

    def keep_evidence(self, item: Evidence) -> None:
        """Keep what a tool answered; an answer takes the place of a failure under the same key."""
        before = self.evidence.get((item.tool, item.key))
        if before is None or before.status in ("error", "offline"):
            self.evidence[item.tool, item.key] = item

    def count_tool_call(self, tool: str) -> None:
        """Count a call of a tool. Raises TooMuch, which ends the row, where it is one too many."""
        self.tool_calls += 1
        self.tools.add(tool)
        if self.tool_calls > B_TOOL_CALLS:
            self.end_row(f"call {self.tool_calls:,} of a tool, expected at most {B_TOOL_CALLS}")
        if len(self.tools) > B_TOOLS:
            self.end_row(f"{len(self.tools)} distinct tools, expected at most {B_TOOLS}")

    def check_prompt(self, counted: TokenCount) -> None:
        """Raise TooMuch for a longer system prompt, tool definitions included, than allowed."""
        if counted.tokens > B_PROMPT_TOKENS:
            who = "an upper bound: nobody counted them" if counted.counted_by == "bytes" else f"counted by {counted.counted_by}"
            self.end_row(f"system prompt of {counted.tokens:,} tokens ({who}), expected at most {B_PROMPT_TOKENS:,}")

    def end_row(self, why: str) -> None:
        """End the row: nothing more is asked."""
        self.failure = TrackLimitExceeded(f"{self.pair.pair_id}: {why}")
        raise self.failure
