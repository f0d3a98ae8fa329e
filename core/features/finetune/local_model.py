"""Track C: a local model, fine-tuned or not, answers one prompt for each row; of several answers
the mean, or the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NamedTuple

from annotated_types import Ge, Le

from core.base.errors import InputError
from core.base.fields.setting import setting
from core.base.types import Flag, Pair, RowResult, TraceEvent
from core.llm.answers import Unread
from core.llm.kept_answer import TokenCount
from core.llm.messages import Message
from core.methods.base import Context, RowMethod
from core.methods.conversation import (
    CallSpec,
    ConversationMethod,
    RowConversation,
    ask_probability_again,
    event_of,
    gather_all,
    read_probability,
)
from core.methods.prompt_only import METHOD as PROMPT_ONLY
from core.methods.prompt_only import (
    Answers,
    MeanAnswer,
    PromptSettings,
    Reasoning,
    SeedAnswer,
    ask_under_seed,
    mean_of_answers,
    prompt_for,
    result_of_answers,
)
from core.methods.prompts import C_NEW_TOKENS, MaxTokens, fill, prompt_text

MOST_SAMPLES: Final = 64
CRITIC_TOKENS: Final = 1_000


class Judged(NamedTuple):
    """What speaks for an answer: a probability, None if nothing can be read; and the events that
    say so."""

    probability: float | None
    events: tuple[TraceEvent, ...] = ()


@dataclass(frozen=True)
class LocalModelSettings(PromptSettings):
    """The options of a prompt with other defaults: what a fine-tuned model was trained on, and
    answers that can be ranked.

    Twice the longest answer, which an answer that was cut off gets, is still allowed.
    """

    samples: Annotated[
        int,
        Ge(1),
        Le(MOST_SAMPLES),
        setting("How many answers to ask for, each under a seed of its own."),
    ] = 1
    choose: Annotated[
        Literal["mean", "best", "critic"],
        setting(
            "What counts of several answers. mean: their mean. best: the one whose letter the model"
            " is surest of. critic: the one that the same model, asked as a critic, holds most"
            " likely to be right."
        ),
    ] = "mean"
    answers: Answers = "logprobs"
    reasoning: Reasoning = False
    max_tokens: Annotated[MaxTokens, Le(C_NEW_TOKENS // 2)] = 4_000


class LocalModel(ConversationMethod):
    """One prompt for each row, without tools and without the web, answered once or several
    times."""

    name = "local_model"
    version = 2
    about = (
        "Track C: a model of your own answers one prompt per row. Several answers count by mean,"
        " surest or a critic's choice."
    )
    settings = LocalModelSettings

    def calls(self, options: Mapping[str, Any]) -> float:
        """Return one call for each sample, two where a critic reads them."""
        return int(options["samples"]) * (2 if _has_critic(options) else 1)

    def prompts(self, options: Mapping[str, Any]) -> str:
        """Return every text of a prompt, apart from the pair. Raise InputError for options that do
        not go together."""
        _check(options)
        texts = PROMPT_ONLY.prompts({**options, "seeds": "0"})
        return (
            "\n\n".join((texts, prompt_text("critic"), prompt_text("reask_prob")))
            if _has_critic(options)
            else texts
        )

    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Ask for every sample, and take their mean or the best of them.

        A call that fails fails the row. An answer that cannot be read is left out, and flagged;
        where nothing that speaks for an answer can be read, the mean stands in, flagged too.
        """
        options = context.options
        _check(options)
        prompt = prompt_for(pair, context)
        counted = TokenCount(len(prompt.encode()), "bytes")
        first = context.seed * MOST_SAMPLES  # so that no two runs with other seeds share a sample
        seeds = range(first, first + options["samples"])
        said = await gather_all(
            *(ask_under_seed(conversation, prompt, seed, counted, options) for seed in seeds)
        )
        chosen = mean_of_answers(said, pair, context)
        if options["choose"] != "mean" and len(said) > 1:
            chosen = await _choose(conversation, prompt, said, chosen, context)
        return result_of_answers(said, chosen, pair, conversation)


METHOD: RowMethod = LocalModel()


def _has_critic(options: Mapping[str, Any]) -> bool:
    return bool(options["choose"] == "critic" and options["samples"] > 1)


def _check(options: Mapping[str, Any]) -> None:
    if options["choose"] == "best" and options["answers"] != "logprobs":
        raise InputError(
            "choose: got best with answers=letters, expected answers=logprobs, which say how sure"
            " an answer is"
        )


async def _choose(
    conversation: RowConversation,
    prompt: str,
    said: Sequence[SeedAnswer],
    mean: MeanAnswer,
    context: Context,
) -> MeanAnswer:
    """Return the readable answer that has most behind it, the first of equal ones; the mean,
    flagged, if none has anything."""
    read = [(i, answer) for i, answer in enumerate(said) if answer.prediction is not None]
    if not read:
        return mean
    if _has_critic(context.options):
        seeds = [context.seed * MOST_SAMPLES + i for i, _ in read]
        judged = await gather_all(
            *(
                _ask_critic(conversation, prompt, answer, seed, context.options)
                for (_, answer), seed in zip(read, seeds, strict=True)
            )
        )
    else:
        judged = [Judged(_surest(answer)) for _, answer in read]
    events = tuple(event for each in judged for event in each.events)
    known = [
        (each.probability, i, answer)
        for (i, answer), each in zip(read, judged, strict=True)
        if each.probability is not None
    ]
    if not known:
        text = f"No verdict of the critic can be read: the mean of {len(read)} answers stands in."
        event = TraceEvent(
            "choice", "MEAN", "arithmetic", text, 0, meta={"read": 0, "asked": len(said)}
        )
        return mean._replace(flags=(Flag.FEWER_SEEDS,), events=(*events, *mean.events, event))
    probability, i, answer = max(known, key=lambda each: (each[0], -each[1]))
    up, down = answer.prediction or (0.0, 0.0)
    flags = (Flag.FEWER_SEEDS,) if len(known) < len(said) else ()
    who = "the critic" if _has_critic(context.options) else "the model itself"
    text = (
        f"Answer {i + 1} of {len(said)} is taken, for which {who} gives {probability:.6f}: up"
        f" {up:.6f}, down {down:.6f}."
    )
    meta = {"read": len(known), "asked": len(said), "chosen": i}
    return MeanAnswer(
        up, down, flags, (*events, TraceEvent("choice", "BEST", "arithmetic", text, 0, meta=meta))
    )


def _surest(answer: SeedAnswer) -> float | None:
    """Return the probability of the most likely of the three outcomes."""
    if answer.prediction is None:
        return None
    up, down = answer.prediction
    return max(up, down, 1 - up - down)


async def _ask_critic(
    conversation: RowConversation,
    prompt: str,
    answer: SeedAnswer,
    seed: int,
    options: Mapping[str, Any],
) -> Judged:
    """Return how likely the same model holds an answer to be right, asked once more if its number
    cannot be read."""
    spec = CallSpec(
        f"seed {seed}", "CRITIC", seed, min(CRITIC_TOKENS, options["max_tokens"]), options["effort"]
    )
    asked = fill(prompt_text("critic"), question=prompt, answer=answer.events[-1].content)
    found = await conversation.read(
        spec, (Message("user", asked),), read_probability, ask_probability_again
    )
    probability = None if isinstance(found.value, Unread) else found.value
    return Judged(
        probability,
        (*found.rejected, event_of(spec, "verdict", found.reply, probability=probability)),
    )
