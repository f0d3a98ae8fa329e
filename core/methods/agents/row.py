"""A row of an agent from its beginning to its prediction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import InputError, MissingPackage
from core.llm.logprobs import LETTERS
from core.llm.parsing import Unparsed, label, probability
from core.llm.records import Message, Reply
from core.llm.tokens import TokenCounter
from core.methods.agents.bound import Bound
from core.methods.agents.episode import Episode
from core.methods.ask import base_rates, show_letter, show_probability
from core.methods.case import cell_desc, examples
from core.methods.texts import fill, text
from core.types import Flag, Label, Prediction, RowResult

if TYPE_CHECKING:
    from core.methods.agents.program import Answer

V = TypeVar("V")
PROBABILITIES = {
    "p_de": "how probable it is, from 0 to 100, that the target gene's expression changes at all",
    "p_up_given_de": "how probable it is, from 0 to 100, that it goes up, should it change",
}
LETTER = {"answer": "A) up, B) down or C) none: the letter alone"}
HARD = {Label.UP: (1.0, 1.0), Label.DOWN: (1.0, 0.0), Label.NONE: (0.0, None)}


async def started(episode: Episode, told: str, tools: Sequence[Bound]) -> Answer:
    """What the agent that was given the pair answers, after the length of its prompt was checked."""
    program = _program()
    given, asked = _given(episode), _asked(episode)
    tokens = await _prompt_tokens(episode, lambda: program.system_prompt(told, tools, given, asked))
    episode.check_prompt(tokens)
    answer: Answer = await program.act(episode, told, tools, given, asked)
    return answer


async def consult(episode: Episode, who: str, told: str, tools: Sequence[Bound], question: str) -> str:
    """What another agent answers to a question, its steps written down between the question and the answer."""
    if not question.strip():
        raise InputError(f"{who}: no question, expected one in words")
    with episode.consulting(who):
        episode.write(who, "question", question)
        found = await _program().act(episode, told, tools, {"question": question}, {"answer": "the answer in a few sentences"})
        said = str(found.fields["answer"])
        episode.write(who, "answer", said)
    return said


async def finish(episode: Episode, answer: Answer) -> RowResult:
    """The prediction that follows from an agent's answer; what cannot be read is asked for once more."""
    letter = "answer" in answer.fields
    p_de, p_up, flags = await (_of_letter if letter else _of_probabilities)(episode, answer.fields)
    largest = max((call.prompt_tokens for call in episode.asking.calls), default=0)
    said = "; ".join(f"{name}: {value}" for name, value in answer.fields.items())
    meta = {"p_de": p_de, "p_up_given_de": p_up, "fallback": bool(flags), "largest_request_tokens": largest}
    episode.write(episode.agent, "answer", f"{answer.reasoning}\n\n{said}".strip(), **meta)
    up = p_de * p_up if p_up is not None else 0.0
    prediction = Prediction(
        *(episode.pair.pair_id, up, p_de - up, p_de, p_up, "file" if letter else "trace"),
        flags=flags,
        tokens=episode.asking.tokens,
        prompt_tokens=episode.context.notes["prompt_tokens"],
        tool_calls=episode.tool_calls,
    )
    return RowResult(prediction, tuple(episode.events), tuple(episode.evidence.values()), episode.asking.calls)


async def _of_probabilities(episode: Episode, fields: Mapping[str, str]) -> tuple[float, float, tuple[Flag, ...]]:
    p_de = await _read(episode, "p_de", fields["p_de"], probability, show_probability)
    p_up = await _read(episode, "p_up_given_de", fields["p_up_given_de"], probability, show_probability)
    flags = tuple(flag for flag, p in ((Flag.DE_FALLBACK, p_de), (Flag.DIR_FALLBACK, p_up)) if p is None)
    rates = base_rates(episode.view, episode.pair) if flags else (0.0, 0.0)
    return rates[0] if p_de is None else p_de, rates[1] if p_up is None else p_up, flags


async def _of_letter(episode: Episode, fields: Mapping[str, str]) -> tuple[float, float | None, tuple[Flag, ...]]:
    found = await _read(episode, "answer", fields["answer"], label, lambda problem: show_letter(problem, LETTERS))
    if found is None:
        return *base_rates(episode.view, episode.pair), (Flag.DE_FALLBACK, Flag.DIR_FALLBACK)
    return *HARD[found], ()


async def _read(
    episode: Episode, field: str, said: str, reader: Callable[[str], V | Unparsed], re_ask: Callable[[Unparsed], str]
) -> V | None:
    """What a field says, else what the reply to one more question says, else None."""
    found = reader(said)
    if not isinstance(found, Unparsed):
        return found
    episode.write(episode.agent, "rejected", said, field=field, why=found.reason)
    sent, reply = _last(episode)
    question = fill(text("reask_field"), field=field, reask=re_ask(found))
    again = (*sent, Message("assistant", reply.content), Message("user", question))
    found = reader((await episode.say([message._asdict() for message in again])).content)
    return None if isinstance(found, Unparsed) else found


def _last(episode: Episode) -> tuple[tuple[Message, ...], Reply]:
    if episode.last is None:
        raise InputError(f"{episode.pair.pair_id}: nothing was asked yet, expected a conversation")
    return episode.last


def _given(episode: Episode) -> dict[str, str]:
    """The agent's input fields."""
    context, pair = episode.context, episode.pair
    shown = examples(pair, episode.view, context.options["shots"], context.seed)
    given = {"cells": cell_desc(context.options), "perturbed_gene": pair.pert, "target_gene": pair.gene}
    return {**given, "measured_pairs": shown} if context.options["shots"] else given


def _asked(episode: Episode) -> dict[str, str]:
    return LETTER if episode.context.options["answers"] == "letter" else PROBABILITIES


async def _prompt_tokens(episode: Episode, prompt: Callable[[], str]) -> int:
    """The tokens of the system prompt with its tools, counted once a run."""
    notes, client = episode.context.notes, episode.context.client
    if client is None:
        raise InputError(f"{episode.pair.pair_id}: no model server is given, expected one")
    async with notes.setdefault("prompt_lock", asyncio.Lock()):
        if "prompt_tokens" not in notes:
            counted = await TokenCounter(client, episode.context.model).count(prompt())
            notes.update(prompt_tokens=counted.tokens, prompt_tokens_counted_by=counted.counted_by)
    return int(notes["prompt_tokens"])


def _program() -> Any:
    """The module that runs DSPy. Raises MissingPackage where that is not installed."""
    try:
        from core.methods.agents import program
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"agents need the package {error.name}, which is not installed: pip install -r requirements-agents.txt"
        ) from error
    return program
