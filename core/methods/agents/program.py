"""DSPy's ReAct over an episode: the model is asked through our own client, and what happens is written down as it happens."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError, ContextWindowExceededError

from core.errors import DeskError
from core.llm.errors import Malformed, Refused
from core.methods.agents.bound import Bound, call
from core.methods.agents.episode import Episode

_TOO_LONG = re.compile(r"context (?:length|window)", re.IGNORECASE)


class Answer(NamedTuple):
    """What an agent said in the end: its reasons, and its output fields as text."""

    reasoning: str
    fields: Mapping[str, str]


class _Model(dspy.BaseLM):  # type: ignore[misc]  # DSPy has no types
    """DSPy's way to our client. It overrides `acall` itself: retries, cache, history and usage are ours."""

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode.context.model, cache=False)
        self._episode = episode

    async def acall(
        self, prompt: str | None = None, *, messages: Sequence[Mapping[str, Any]] | None = None, **_: Any
    ) -> list[str]:
        """The reply's text. What does not fit into the context is reported so that DSPy leaves the oldest steps out."""
        episode = self._episode
        try:
            reply = await episode.say(messages or [{"role": "user", "content": prompt or ""}])
        except Refused as error:
            if not _TOO_LONG.search(str(error)):
                raise
            episode.failure = None
            episode.write(
                episode.agent, "shortened", "The conversation no longer fits: the oldest step is left out from here on."
            )
            raise ContextWindowExceededError(message="the conversation is too long") from error
        return [reply.content]


class _Called:
    """A tool as ReAct calls it. Its arguments are checked by us, since DSPy shows the model where its files lie when it does."""

    def __init__(self, episode: Episode, bound: Bound) -> None:
        self._episode, self._bound = episode, bound

    async def acall(self, **given: Any) -> str:
        return await call(self._episode, self._bound, given)


class _Finish:
    """The tool that ends the steps, whatever it is called with."""

    async def acall(self, **_: Any) -> str:
        return "Completed."


class _Steps(BaseCallback):  # type: ignore[misc]
    """Writes down each step that an agent decides on."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:  # noqa: ARG002
        if exception is None and "next_tool_name" in outputs:
            self._episode.step(outputs.next_thought, outputs.next_tool_name, outputs.next_tool_args)


class _Step(dspy.Predict):  # type: ignore[misc]
    """One step. Where it cannot be read, nor a second try in JSON, the agent answers from what it has, as ReAct means it to."""

    async def acall(self, **given: Any) -> Any:
        try:
            return await super().acall(**given)
        except AdapterParseError as error:
            raise ValueError("the step could not be read") from error


class _Agent(dspy.ReAct):  # type: ignore[misc]
    """ReAct whose conversation is put together in linear time: DSPy makes a pydantic model of all steps for every step."""

    def __init__(self, signature: Any, tools: Sequence[dspy.Tool], max_steps: int) -> None:
        super().__init__(signature, list(tools), max_steps)
        step: Any = self.react
        self.react: Any = _Step(step.signature)

    def _format_trajectory(self, trajectory: Mapping[str, Any]) -> str:
        return "\n\n".join(f"[[ ## {name} ## ]]\n{_as_text(value)}" for name, value in trajectory.items())


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def act(episode: Episode, told: str, tools: Sequence[Bound], given: Mapping[str, str], asked: Mapping[str, str]) -> Answer:
    """Let one agent work until it answers.

    told: its instructions. given: its input fields. asked: its output fields and what they are. Raises what ended the row.
    """
    agent = copy.copy(_agent(_Shape.of(told, tools, given, asked), episode.context.options["max_steps"]))
    agent.tools = {**{bound.name: _Called(episode, bound) for bound in tools}, "finish": _Finish()}
    settings = {"lm": _Model(episode), "adapter": dspy.ChatAdapter(), "callbacks": [_Steps(episode)], "disable_history": True}
    try:
        with dspy.context(**settings):
            found = await agent.acall(**given)
    except (AdapterParseError, ContextWindowExceededError) as error:
        raise episode.failure or Malformed(f"{episode.pair.pair_id}: {_reason(error)}, expected {', '.join(asked)}") from None
    if episode.failure is not None:
        raise episode.failure
    _say_how_it_ended(episode, found.trajectory)
    return Answer(str(found.reasoning), {name: str(getattr(found, name)) for name in asked})


def system_prompt(told: str, tools: Sequence[Bound], given: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """What DSPy sends first with every step: instructions, fields and tools, which no row changes."""
    return str(dspy.ChatAdapter().format_system_message(_agent(_Shape.of(told, tools, given, asked), 1).react.signature))


class _Shape(NamedTuple):
    """What makes an agent's prompts, apart from the values of a row; tools as JSON."""

    told: str
    given: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]

    @classmethod
    def of(cls, told: str, tools: Sequence[Bound], given: Mapping[str, str], asked: Mapping[str, str]) -> Self:
        described = (json.dumps({"name": t.name, "desc": t.description, "args": dict(t.arguments)}) for t in tools)
        return cls(told, tuple(given), tuple(asked.items()), tuple(described))


@lru_cache(maxsize=32)
def _agent(shape: _Shape, max_steps: int) -> _Agent:
    """An agent of this shape with tools that do nothing yet; made once, since its pydantic models take 20 ms."""
    fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in shape.given}
    fields |= {name: (str, dspy.OutputField(desc=what)) for name, what in shape.asked}
    tools = [dspy.Tool(_nothing, **json.loads(tool)) for tool in shape.tools]
    return _Agent(dspy.Signature(fields, shape.told), tools, max_steps)


def _nothing() -> None:
    """Stands in for a tool that is described here and called elsewhere."""


def _say_how_it_ended(episode: Episode, trajectory: Mapping[str, Any]) -> None:
    """A remark where the agent was cut short: it answers from what it has."""
    names = [value for key, value in trajectory.items() if key.startswith("tool_name_")]
    if names and names[-1] == "finish":
        return
    most = episode.context.options["max_steps"]
    why = f"after {most} steps, the most allowed" if len(names) >= most else "since its next step could not be read"
    episode.write(episode.agent, "cut short", f"Stopped {why}; the answer follows from what was found until then.")


def _reason(error: DeskError | Exception) -> str:
    return "the conversation does not fit" if isinstance(error, ContextWindowExceededError) else "the answer could not be read"
