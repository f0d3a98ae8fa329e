"""Track A: one prompt for each row, asked under several seeds; the letters or their
log-probabilities are averaged.

The prompt is made from a template, or stands in a file of prompts, which is asked as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from core.base.errors import InputError
from core.base.fields.record import options_of
from core.base.fields.setting import setting
from core.base.types import Flag, Label, Options, Pair, Prediction, RowResult, TraceEvent
from core.llm.answers import AnswerSchema, Unread, letter_schema, read_label
from core.llm.kept_answer import TokenCount, TokenCounter
from core.llm.logprobs import LETTERS
from core.llm.messages import Message, Reply
from core.methods.base import Context, RowMethod
from core.methods.coded_names import NamesOfPrompt
from core.methods.conversation import (
    CallSpec,
    ConversationMethod,
    RowConversation,
    ask_letter_again,
    base_rates,
    event_of,
    gather_all,
    read_letters,
)
from core.methods.prompts import (
    A_PROMPT_TOKENS,
    CellContext,
    Effort,
    MaxTokens,
    Shots,
    Structured,
    cell_desc,
    check_fields,
    examples,
    fill,
    prompt_text,
    read_seeds,
    with_form,
)

FIELDS = ("pert", "gene", "cell_desc", "examples")
_OF_TEMPLATES = ("reasoning", "context", "shots", "template")
HARD = {Label.UP: (1.0, 0.0), Label.DOWN: (0.0, 1.0), Label.NONE: (0.0, 0.0)}


class SeedAnswer(NamedTuple):
    """One seed's answer: prediction (up, down), None if it could not be read; its events; and the
    prompt's length."""

    prediction: tuple[float, float] | None
    events: tuple[TraceEvent, ...]
    prompt_tokens: TokenCount


class MeanAnswer(NamedTuple):
    """P(up) and P(down) over several answers, what is odd about them, and the events that say
    so."""

    up: float
    down: float
    flags: tuple[Flag, ...] = ()
    events: tuple[TraceEvent, ...] = ()


Answers = Annotated[
    Literal["letters", "logprobs"], setting("What counts: the letter, or log-probabilities.")
]
Reasoning = Annotated[bool, setting("Whether the prompt asks for a reason before the letter.")]


@dataclass(frozen=True)
class PromptSettings:
    """The options of a prompt for each row."""

    answers: Answers = "letters"
    reasoning: Reasoning = True
    effort: Effort = ""
    context: CellContext = "kit"
    shots: Shots = 0
    template: Annotated[
        str,
        setting(
            "A prompt of your own with {pert}, {gene} and {cell_desc}, or in a command its file."
            " Empty takes the built-in one."
        ),
    ] = ""
    max_tokens: MaxTokens = 4_000
    structured: Structured = False
    names: NamesOfPrompt = ""


@dataclass(frozen=True)
class PromptOnlySettings(PromptSettings):
    """The same with seeds of their own, or with prompts of a file."""

    seeds: Annotated[str, setting("Seeds to ask under; their answers are averaged.")] = "42,43,44"
    prompts: Annotated[
        str,
        setting(
            "A file with one prompt per row, CSV or JSON lines, asked instead of a template's.",
            title="File of prompts, one per row",
            names="prompts",
        ),
    ] = ""


class PromptOnly(ConversationMethod):
    """One prompt of at most 4,096 tokens for each row, without tools."""

    name = "prompt_only"
    version = 2
    about = (
        "One prompt per row, asked under several seeds and averaged: the answer's letter, or the"
        " probabilities of all three."
    )
    settings = PromptOnlySettings

    def calls(self, options: Options) -> float:
        """Return one call for each seed."""
        return len(read_seeds(options["seeds"]))

    def prompts(self, options: Options) -> str:
        """Return every text of a prompt, apart from the pair; of a file of prompts its SHA-256.

        Raise InputError for options that make no prompt.
        """
        read_seeds(options["seeds"])
        if options.get("prompts"):
            # Raises InputError for options that only a template obeys and that are not at their
            # defaults
            for option in options_of(self.settings):
                if option.name in _OF_TEMPLATES and options[option.name] != option.default:
                    got = (
                        f"got {options[option.name]!r}, which has no effect on the prompts of a"
                        " file"
                    )
                    raise InputError(f"{option.name}: {got}; expected {option.default!r}")
            return "\n\n".join((str(options["prompts"]), reask_text(options)))
        return "\n\n".join(
            (
                _template(options),
                prompt_text("measure"),
                cell_desc(options),
                prompt_text("examples"),
                reask_text(options),
            )
        )

    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Ask under every seed and average the answers that could be read; a mean over fewer seeds
        is flagged.

        A call that fails fails the row: only an answer that came and cannot be read is left out.
        """
        prompt = prompt_for(pair, context)
        counted = await _count_tokens(prompt, pair, context)
        seeds = read_seeds(context.options["seeds"])
        said = await gather_all(
            *(
                ask_under_seed(conversation, prompt, seed, counted, context.options)
                for seed in seeds
            )
        )
        return result_of_answers(said, mean_of_answers(said, pair, context), pair, conversation)


METHOD: RowMethod = PromptOnly()


def reask_text(options: Options) -> str:
    """Return the text of the second request for a letter, apart from what varies."""
    return with_form(prompt_text("reask_letter"), answer_schema(options))


def answer_schema(options: Options) -> AnswerSchema | None:
    """Return the schema of an answer, with its reasons if they are asked for; None for an answer in
    any text."""
    return (
        letter_schema(LETTERS, reasoned=options["reasoning"]) if options.get("structured") else None
    )


def result_of_answers(
    said: Sequence[SeedAnswer], chosen: MeanAnswer, pair: Pair, conversation: RowConversation
) -> RowResult:
    """Return the row that the chosen one of several answers, or their mean, gives."""
    total = chosen.up + chosen.down
    prediction = Prediction(
        *(
            pair.pair_id,
            chosen.up,
            chosen.down,
            min(total, 1.0),
            chosen.up / total if total else None,
            "file",
        ),
        flags=chosen.flags,
        tokens=conversation.tokens,
        # a re-ask is longer than the prompt
        prompt_tokens=min(answer.prompt_tokens.tokens for answer in said),
        tool_calls=0,
    )
    events = (*(event for answer in said for event in answer.events), *chosen.events)
    return RowResult(prediction, events, (), conversation.calls)


def mean_of_answers(said: Sequence[SeedAnswer], pair: Pair, context: Context) -> MeanAnswer:
    """Return the mean of the answers that could be read, flagged if it is over fewer than were
    asked for.

    Base rates of the label view, flagged, if none could be read; raises NoBaseRates if it has none.
    """
    read = [answer.prediction for answer in said if answer.prediction is not None]
    if not read:
        p_de, p_up = base_rates(context.view_of(pair), pair)
        return MeanAnswer(p_de * p_up, p_de * (1 - p_up), (Flag.DE_FALLBACK, Flag.DIR_FALLBACK))
    up, down = (sum(answer[i] for answer in read) / len(read) for i in (0, 1))
    if len(read) == len(said):
        return MeanAnswer(up, down)
    text = f"Mean over {len(read)} of {len(said)} seeds: up {up:.6f}, down {down:.6f}."
    event = TraceEvent(
        "mean", "MEAN", "arithmetic", text, 0, meta={"read": len(read), "asked": len(said)}
    )
    return MeanAnswer(up, down, (Flag.FEWER_SEEDS,), (event,))


def prompt_for(pair: Pair, context: Context) -> str:
    """Return a row's whole prompt, which is sent as one message."""
    options = context.options
    if options.get("prompts"):
        return context.prompts[pair.pair_id]
    shown = examples(pair, context.view_of(pair), options["shots"], context.seed)
    template = _template(options)
    if "examples" not in check_fields("template", template, FIELDS):
        template = f"{{examples}}\n\n{template}"
    return fill(
        template, pert=pair.pert, gene=pair.gene, cell_desc=cell_desc(options), examples=shown
    )


def _template(options: Options) -> str:
    """Return the template of the options, checked, or the built-in one with the answer format that
    the options ask for."""
    given = str(options["template"])
    if not given.strip():
        answer_format = prompt_text("format_reasoned" if options["reasoning"] else "format_direct")
        answer_format = (
            with_form(answer_format, answer_schema(options)).replace("{", "{{").replace("}", "}}")
        )
        ours = prompt_text("prompt_only")
        return ours.replace("{measure}", prompt_text("measure")).replace("{format}", answer_format)
    missing = [
        name for name in ("pert", "gene") if name not in check_fields("template", given, FIELDS)
    ]
    if missing:
        raise InputError(
            f"template: without {{{missing[0]}}}, expected both {{pert}} and {{gene}} in it"
        )
    if lacks_answer(given, options):
        raise InputError(
            "template: asks for no <answer>X</answer>, expected it, since log-probabilities are"
            " read there"
        )
    return given


def lacks_answer(prompt: str, options: Options) -> bool:
    """Return whether log-probabilities are to be read where neither a prompt nor a schema asks for
    the answer."""
    return bool(
        options["answers"] == "logprobs"
        and "<answer>" not in prompt
        and not options.get("structured")
    )


async def _count_tokens(prompt: str, pair: Pair, context: Context) -> TokenCount:
    """Return an upper bound of the prompt's tokens, and who counted them. Raise InputError, before
    any call, for a prompt longer than allowed.

    A prompt with no more bytes than tokens are allowed is not sent to be counted: the server's
    answer will count it.
    """
    assert context.client is not None
    counted = TokenCount(len(prompt.encode()), "bytes")
    if counted.tokens > A_PROMPT_TOKENS:
        counted = await TokenCounter(context.client, context.model).count(prompt)
    if counted.tokens > A_PROMPT_TOKENS:
        raise InputError(
            f"{pair.pair_id}: prompt of {counted.words}, expected at most {A_PROMPT_TOKENS:,}"
        )
    return counted


async def ask_under_seed(
    conversation: RowConversation,
    prompt: str,
    seed: int,
    counted: TokenCount,
    options: Options,
) -> SeedAnswer:
    """Return the answer to a prompt under a seed, asked once more if it cannot be read.

    counted: the prompt's tokens if the server does not count them. options: answers, max_tokens,
    effort.
    """
    by_logprobs = options["answers"] == "logprobs"
    limits = options["max_tokens"], options["effort"], by_logprobs
    spec = CallSpec(f"seed {seed}", "MODEL", seed, *limits, schema=answer_schema(options))
    reader = _read_letter_odds if by_logprobs else _read_letter
    found = await conversation.read(
        spec, (Message("user", prompt),), reader, lambda problem: ask_letter_again(problem, LETTERS)
    )
    prediction = None if isinstance(found.value, Unread) else found.value
    up, down = prediction or (None, None)
    # The server's own count has the chat template in it.
    usage = found.reply.usage
    is_exact = usage.attempts == 1 and usage.uncounted == 0 and usage.prompt_tokens > 0
    exact = TokenCount(usage.prompt_tokens, "server") if is_exact else counted
    meta = {
        "prediction_up": up,
        "prediction_down": down,
        "prompt_tokens": exact.tokens,
        "counted_by": exact.counted_by,
    }
    return SeedAnswer(
        prediction, (*found.rejected, event_of(spec, "answer", found.reply, **meta)), exact
    )


def _read_letter(reply: Reply) -> tuple[float, float] | Unread:
    """Return (up, down) of the answer's letter: certainty."""
    found = read_label(reply.content)
    return found if isinstance(found, Unread) else HARD[found]


def _read_letter_odds(reply: Reply) -> tuple[float, float] | Unread:
    """Return (up, down) from the log-probabilities of the letters."""
    found = read_letters(LETTERS)(reply)
    return found if isinstance(found, Unread) else (found["A"], found["B"])
