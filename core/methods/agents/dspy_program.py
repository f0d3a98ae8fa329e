"""DSPy's ReAct over an episode: our own client calls the model, and every step is recorded as it
happens."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError, ContextWindowExceededError

from core.base.texts import replace_surrogates
from core.llm.answers import AnswerSchema
from core.llm.errors import Malformed, Refused
from core.methods.agents.agent_episode import BoundTool, Episode, PromptOutline, call_tool

_REACT_LOG = logging.getLogger("dspy.predict.react")


class Answer(NamedTuple):
    """An agent's final answer: its reasoning, and its output fields as text."""

    reasoning: str
    fields: Mapping[str, str]


class _Model(dspy.BaseLM):  # type: ignore[misc]  # DSPy has no types
    """Our client as a DSPy model. It overrides `acall` itself, since retries, cache, history and
    usage are ours."""

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode.context.model, cache=False)
        self._episode = episode

    async def acall(
        self,
        prompt: str | None = None,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        schema: AnswerSchema | None = None,
        **_: Any,
    ) -> list[str]:
        """Return the reply's text. A conversation that is too long is reported so that DSPy leaves
        out the oldest steps."""
        episode = self._episode
        try:
            reply = await episode.ask_model(
                messages or [{"role": "user", "content": prompt or ""}], schema
            )
        except Refused as error:
            if error.meaning != "context":
                raise
            episode.failure = None
            episode.record_event(
                episode.agent,
                "shortened",
                "The conversation no longer fits: the oldest step is left out from here on.",
            )
            raise ContextWindowExceededError(message="the conversation is too long") from error
        return [reply.content]


class _CallableTool:
    """A tool as ReAct calls it. We check its arguments, since DSPy's own check shows the model a
    traceback with file paths."""

    def __init__(self, episode: Episode, bound: BoundTool) -> None:
        self._episode, self._bound = episode, bound

    async def acall(self, /, **arguments: Any) -> str:
        return await call_tool(
            self._episode,
            self._bound,
            {replace_surrogates(name): _plain(value) for name, value in arguments.items()},
        )


class _Finish:
    """The tool that ends the steps, with any arguments."""

    async def acall(self, /, **_: Any) -> str:
        return "Completed."


class _StepRecorder(BaseCallback):  # type: ignore[misc]
    """Records each step that an agent decides on."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def on_module_end(
        self,
        call_id: str,  # noqa: ARG002
        outputs: Any,
        exception: BaseException | None = None,
    ) -> None:
        if exception is None and "next_tool_name" in outputs:
            self._episode.record_step(
                outputs.next_thought, outputs.next_tool_name, outputs.next_tool_args
            )


class _Step(dspy.Predict):  # type: ignore[misc]
    """One step. If neither it nor a second try in JSON can be read, the agent answers from what it
    has, as ReAct intends."""

    async def acall(self, **inputs: Any) -> Any:
        try:
            return await super().acall(**inputs)
        except AdapterParseError as error:
            raise ValueError("the step could not be read") from error


class _StructuredAnswer(dspy.Predict):  # type: ignore[misc]
    """The final answer, asked for and read as JSON."""

    async def acall(self, **inputs: Any) -> Any:
        with dspy.context(adapter=dspy.JSONAdapter()):
            return await super().acall(**inputs)


class _Agent(dspy.ReAct):  # type: ignore[misc]
    """ReAct whose conversation is built in linear time; DSPy's own builds a pydantic model of all
    steps at every step."""

    def __init__(
        self,
        signature: Any,
        tools: Sequence[dspy.Tool],
        max_steps: int,
        schema: AnswerSchema | None,
    ) -> None:
        super().__init__(signature, list(tools), max_steps)
        step: Any = self.react
        self.react: Any = _Step(step.signature)
        if schema is not None:
            self.extract.predict = _StructuredAnswer(self.extract.predict.signature, schema=schema)

    def _format_trajectory(self, trajectory: Mapping[str, Any]) -> str:
        return "\n\n".join(
            f"[[ ## {name} ## ]]\n{_as_text(value)}" for name, value in trajectory.items()
        )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def run_agent(
    episode: Episode, outline: PromptOutline, tools: Sequence[BoundTool], inputs: Mapping[str, str]
) -> Answer:
    """Run one agent until it answers; inputs: the values of its input fields. Raise the error that
    ended the row."""
    # it writes a traceback for each agent that is cut short, which the trace records
    _REACT_LOG.disabled = True
    most = episode.most_steps
    agent = copy.copy(_agent(_key(outline), most))
    agent.tools = {
        **{bound.description.name: _CallableTool(episode, bound) for bound in tools},
        "finish": _Finish(),
    }
    settings = {
        "lm": _Model(episode),
        "adapter": dspy.ChatAdapter(),
        "callbacks": [_StepRecorder(episode)],
        "disable_history": True,
        "trace": None,  # otherwise every conversation of the run stays in memory
    }
    try:
        with dspy.context(**settings):
            found = await agent.acall(**inputs)
    except (AdapterParseError, ContextWindowExceededError) as error:
        reason = (
            "the conversation does not fit"
            if isinstance(error, ContextWindowExceededError)
            else "the answer cannot be read"
        )
        asked = ", ".join(name for name, _ in outline.output_fields)
        raise episode.failure or Malformed(
            f"{episode.pair.pair_id}: {reason}, expected {asked}"
        ) from None
    if episode.failure is not None:
        raise episode.failure
    _record_cut_short(episode, most)
    return Answer(
        str(found.reasoning), {name: str(getattr(found, name)) for name, _ in outline.output_fields}
    )


def system_prompts(outline: PromptOutline) -> tuple[str, str]:
    """Return the system prompts that DSPy sends with every step, and with the final question:
    instructions, fields and tools."""
    agent, adapter = _agent(_key(outline), 1), dspy.ChatAdapter()
    step, answer = agent.react.signature, agent.extract.predict.signature
    last = adapter if outline.schema is None else dspy.JSONAdapter()
    return str(adapter.format_system_message(step)), str(last.format_system_message(answer))


def _key(outline: PromptOutline) -> str:
    return json.dumps(asdict(outline))


@lru_cache(maxsize=32)
def _agent(key: str, max_steps: int) -> _Agent:
    """Return an agent of this outline with placeholder tools, cached because its pydantic models
    take 20 ms to build."""
    outline = json.loads(key)
    fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in outline["input_fields"]}
    fields |= {name: (str, dspy.OutputField(desc=what)) for name, what in outline["output_fields"]}
    tools = [
        dspy.Tool(_placeholder_tool, name=t["name"], desc=t["description"], args=t["arguments"])
        for t in outline["tools"]
    ]
    schema = AnswerSchema(*outline["schema"]) if outline["schema"] else None
    return _Agent(dspy.Signature(fields, outline["instructions"]), tools, max_steps, schema)


def _placeholder_tool() -> None:
    """A placeholder for a tool, which is described here and called elsewhere."""


def _record_cut_short(episode: Episode, max_steps: int) -> None:
    """Records that an agent was cut short and answers from what it has."""
    if episode.chosen[-1:] == ["finish"]:
        return
    why = (
        f"after {max_steps} steps, the most allowed"
        if len(episode.chosen) >= max_steps
        else "since no next step could be had"
    )
    episode.record_event(
        episode.agent,
        "cut short",
        f"Stopped {why}; the answer follows from what was found until then.",
    )


def _plain(value: Any) -> Any:
    """Return a JSON value, its text repaired so that it can be sent and stored."""
    return replace_surrogates(value) if isinstance(value, str) else value
