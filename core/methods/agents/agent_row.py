"""One row of an agent: its prompts, its run, its answer and the prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from core.base.errors import InputError, MissingPackage
from core.base.types import Flag, JsonObject, Label, Options, Prediction, RowResult
from core.llm.answers import Unread, read_label, read_probability
from core.llm.kept_answer import TokenCount
from core.llm.logprobs import LETTERS
from core.llm.messages import Message
from core.methods.agents.agent_episode import BoundTool, Episode, PromptOutline
from core.methods.conversation import (
    ask_letter_again,
    ask_probability_again,
    base_rates,
    system_tokens,
)
from core.methods.prompts import cell_desc, examples, fill, prompt_text

if TYPE_CHECKING:
    from core.methods.agents.dspy_program import Answer

V = TypeVar("V")
HARD = {Label.UP: (1.0, 1.0), Label.DOWN: (1.0, 0.0), Label.NONE: (0.0, None)}


def agent_prompts(options: Options, outlines: Sequence[PromptOutline]) -> str:
    """Return every text of a prompt but the pair and the tools' answers. Raise MissingPackage if
    DSPy is not installed."""
    sent = [prompt for outline in outlines for prompt in _program().system_prompts(outline)]
    return "\n\n".join(
        (
            *sent,
            cell_desc(options),
            *map(prompt_text, ("examples", "reask_field", "reask_prob", "reask_letter")),
        )
    )


async def answer_row(
    episode: Episode,
    outline: PromptOutline,
    tools: Sequence[BoundTool],
    colleagues: Sequence[PromptOutline] = (),
) -> RowResult:
    """Check the length of every agent's prompt, run the agent on its pair, and return its
    prediction."""
    program = _program()
    outlines = (outline, *colleagues)
    counted = await system_tokens(
        episode.context, lambda: [p for each in outlines for p in program.system_prompts(each)]
    )
    episode.check_prompt(counted)
    context, pair = episode.context, episode.pair
    shown = examples(pair, episode.view, context.options["shots"], context.seed)
    values = {
        "cells": cell_desc(context.options),
        "perturbed_gene": pair.pert,
        "target_gene": pair.gene,
    }
    return await _finish(
        episode,
        await program.run_agent(
            episode,
            outline,
            tools,
            {**values, "measured_pairs": shown} if context.options["shots"] else values,
        ),
        counted,
    )


async def consult_colleague(
    episode: Episode, who: str, outline: PromptOutline, tools: Sequence[BoundTool], question: str
) -> str:
    """Return another agent's answer to a question; its steps are recorded between the question and
    the answer."""
    if not question.strip():
        raise InputError(f"{who}: no question, expected one in words")
    with episode.consult_as(who):
        episode.record_event(who, "question", question)
        found = await _program().run_agent(episode, outline, tools, {"question": question})
        said = str(found.fields["answer"])
        episode.record_event(who, "answer", said)
    return said


async def _finish(episode: Episode, answer: Answer, counted: TokenCount) -> RowResult:
    """Return the prediction from an agent's answer; a field that cannot be read is asked for once
    more."""
    letter = "answer" in answer.fields
    p_de, p_up, flags = await (_read_letter if letter else _read_probabilities)(
        episode, answer.fields
    )
    said = "; ".join(f"{name}: {value}" for name, value in answer.fields.items())
    meta: JsonObject = {
        "p_de": p_de,
        "p_up_given_de": p_up,
        "fallback": bool(flags),
        "largest_request_tokens": max(
            (call.prompt_tokens for call in episode.conversation.calls if call.attempts == 1),
            default=None,
        ),
    }
    meta |= {"prompt_tokens_counted_by": counted.counted_by}
    episode.record_event(episode.agent, "answer", f"{answer.reasoning}\n\n{said}".strip(), **meta)
    up = p_de * p_up if p_up is not None else 0.0
    prediction = Prediction(
        *(episode.pair.pair_id, up, p_de - up, p_de, p_up, "file" if letter else "trace"),
        flags=flags,
        tokens=episode.conversation.tokens,
        prompt_tokens=counted.tokens,
        tool_calls=episode.tool_calls,
    )
    return RowResult(
        prediction,
        tuple(episode.events),
        tuple(episode.evidence.values()),
        episode.conversation.calls,
    )


async def _read_probabilities(
    episode: Episode, fields: Mapping[str, str]
) -> tuple[float, float, tuple[Flag, ...]]:
    p_de = await _read_field(
        episode, "p_de", fields["p_de"], read_probability, ask_probability_again
    )
    p_up = await _read_field(
        episode, "p_up_given_de", fields["p_up_given_de"], read_probability, ask_probability_again
    )
    flags = tuple(
        flag for flag, p in ((Flag.DE_FALLBACK, p_de), (Flag.DIR_FALLBACK, p_up)) if p is None
    )
    rates = base_rates(episode.view, episode.pair) if flags else (0.0, 0.0)
    return rates[0] if p_de is None else p_de, rates[1] if p_up is None else p_up, flags


async def _read_letter(
    episode: Episode, fields: Mapping[str, str]
) -> tuple[float, float | None, tuple[Flag, ...]]:
    found = await _read_field(
        episode,
        "answer",
        fields["answer"],
        read_label,
        lambda problem: ask_letter_again(problem, LETTERS),
    )
    if found is None:
        return *base_rates(episode.view, episode.pair), (Flag.DE_FALLBACK, Flag.DIR_FALLBACK)
    return *HARD[found], ()


async def _read_field(
    episode: Episode,
    field: str,
    reply_text: str,
    reader: Callable[[str], V | Unread],
    re_ask: Callable[[Unread], str],
) -> V | None:
    """Return the value of a field; if it cannot be read, that of the reply to one more question;
    else None."""
    found = reader(reply_text)
    if not isinstance(found, Unread):
        return found
    episode.record_event(episode.agent, "rejected", reply_text, field=field, why=found.reason)
    assert episode.last is not None  # the reply that is read here
    sent, reply = episode.last
    question = fill(prompt_text("reask_field"), field=field, reask=re_ask(found))
    again = (*sent, Message("assistant", reply.content), Message("user", question))
    reply_text = (await episode.ask_model([message._asdict() for message in again])).content
    episode.record_event(episode.agent, "second answer", reply_text, field=field)
    found = reader(reply_text)
    return None if isinstance(found, Unread) else found


def _program() -> Any:
    """Return the module that runs DSPy. Raise MissingPackage if DSPy is not installed."""
    try:
        from core.methods.agents import dspy_program
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"agents need the package {error.name}, which is not installed: pip install -r"
            " requirements-agents.txt"
        ) from error
    return dspy_program
