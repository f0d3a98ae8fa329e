"""Reads the JSON of a chat completion, and divides its text into thinking and answer; nothing about
its shape is taken for granted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from core.base.net.retry import Fault
from core.base.net.scrubber import Scrubber
from core.base.texts import parse_json, replace_surrogates
from core.llm.errors import fault_in_answer, hide_in_tokens
from core.llm.messages import Outcome, TokenLogprob, Usage

# For content and for reasoning: twice the longest answers of today's models, readable in less than
# a second.
MAX_CHARACTERS = 1_000_000
_MOST_TOKENS = 10**9
# Where servers put the thinking: a text, or texts in lists and objects.
THINKING = (
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking",
    "thinking_blocks",
    "reasoning_text",
)
_LONGEST_NAME = 200


Ending = Literal["whole", "cut", "declined", "failed", "tool call", "unknown"]

# of a template, such as <|eot_id|>
_STOP_TOKEN = re.compile(r"<[|｜][a-z_▁]{1,40}[|｜]>|</s>|<(?:eos|end_of_turn)>")
# Of finish_reason, in the words of OpenAI, vLLM,
# SGLang, TGI, Anthropic, Gemini, Bedrock, Mistral, DeepSeek, Zhipu, Cohere and Inspect.
_WORDS: Mapping[Ending, str] = {
    "whole": (
        "stop stopped eos eos_token end_turn stop_sequence stop_token done end complete completed"
        " finished"
    ),
    "cut": (
        "length max_tokens max_output_tokens max_length model_length token_limit incomplete"
        " model_context_window_exceeded context_length_exceeded context_window_exceeded"
    ),
    "declined": (
        "content_filter content_filtered refusal refused safety recitation blocklist blocked"
        " prohibited_content spii image_safety language guardrail_intervened sensitive"
    ),
    "failed": (
        "error abort aborted cancelled canceled failed timeout network_error unexpected_error"
        " insufficient_system_resource malformed_response overloaded"
    ),
    "tool call": "tool_calls tool_call tool_use function_call malformed_function_call",
}
_ENDINGS: Mapping[str, Ending] = MappingProxyType(
    {word: ending for ending, words in _WORDS.items() for word in words.split()}
)


def ending_of(finish_reason: str) -> Ending:
    """Return the meaning of a finish_reason, in any case and with any prefix (FINISH_REASON_STOP,
    FinishReason.STOP)."""
    word = finish_reason.strip().lower().replace("-", "_").replace(" ", "_")
    word = word.removeprefix("finish_reason_").removeprefix("finishreason.")
    # SGLang and KoboldCpp give none at all
    return "whole" if not word or _STOP_TOKEN.fullmatch(word) else _ENDINGS.get(word, "unknown")


@dataclass(frozen=True, slots=True)
class Answer:
    """The first choice of a completion. usage: holds tokens only.

    content: the final text, None if the server sent none or only thinking; reasoning: the thinking,
    of a field of its own or of the content. finish_reason: "" if not given. refusal: the model's
    refusal, or "". model: its name according to the server, or "".
    """

    content: str | None
    reasoning: str
    finish_reason: str
    usage: Usage
    logprobs: tuple[TokenLogprob, ...] | None
    model: str = ""
    refusal: str = ""

    @property
    def is_too_long(self) -> bool:
        """Whether it is longer than any model's answer."""
        return max(len(self.content or ""), len(self.reasoning)) > MAX_CHARACTERS

    @property
    def is_complete(self) -> bool:
        """Whether there is content that is known to be complete."""
        return bool(self.content) and ending_of(self.finish_reason) == "whole"

    @property
    def is_all_thinking(self) -> bool:
        """Whether the model stopped by itself and wrote only thinking."""
        return (
            self.content is None
            and bool(self.reasoning)
            and ending_of(self.finish_reason) == "whole"
        )


@dataclass(frozen=True, slots=True)
class AnswerFault(Fault):
    """A successful response that cannot be used. usage: its cost."""

    usage: Usage = field(default_factory=Usage)


def cost_of(outcome: Answer | Fault) -> Outcome:
    """Return the cost of an exchange, also if its answer cannot be used."""
    if isinstance(outcome, Answer):
        return outcome.usage
    return (
        outcome.usage if isinstance(outcome, AnswerFault) and outcome.usage != Usage() else "failed"
    )


def fault_of_length(usage: Usage) -> AnswerFault:
    """Return the fault of an answer that is longer than any model's."""
    return AnswerFault(
        "malformed", f"an answer of more than {MAX_CHARACTERS:,} characters", usage=usage
    )


def fault_of_ending(answer: Answer) -> AnswerFault | None:
    """Return the fault that the end of an answer stands for; None if it is whole, or was cut at a
    limit."""
    said = f"finish_reason {answer.finish_reason!r}"
    text = (
        f": {_in_short(answer.refusal or answer.content or '')}"
        if answer.refusal or answer.content
        else ""
    )
    match ending_of(answer.finish_reason):
        case "declined":
            return AnswerFault("declined", f"a refusal ({said}){text}", usage=answer.usage)
        case _ if answer.refusal:
            return AnswerFault("declined", f"the model refused{text}", usage=answer.usage)
        case "failed":
            return AnswerFault(
                "unanswered",
                f"the server failed while it wrote ({said})",
                retryable=True,
                usage=answer.usage,
            )
        case "tool call":
            why = (
                "the server took the answer for a tool call, and no tool was offered: start it"
                " without a parser of tool calls"
            )
            return AnswerFault("malformed", f"{why} ({said})", usage=answer.usage)
        case "unknown":
            return AnswerFault(
                "malformed", f"an answer {said}, which is not known to be whole", usage=answer.usage
            )
    return None


def describe_truncation(address: str, answer: Answer, tokens: int | None) -> str:
    """Return the message about an answer without content or cut short. tokens: at first, None for
    the server's limit."""
    said = f"finish_reason {answer.finish_reason!r}"
    if answer.is_all_thinking:
        why = "the server, or its parser of thinking, leaves nothing for the answer"
        return f"{address}: no content ({said}), all of the answer is in its thinking: {why}"
    limit = "the server's own limit" if tokens is None else f"{tokens:,} tokens, and {2 * tokens:,}"
    what = f"cut after {len(answer.content):,} characters" if answer.content else "no content"
    return f"{address}: {what} ({said}), expected an answer within {limit}"


def read_answer(text: str) -> Answer | AnswerFault:
    """Return the answer in the body of a response, or the body's fault."""
    return read_scrubbed(text, Scrubber(()))[1]


def read_scrubbed(text: str, scrub: Scrubber) -> tuple[str, Answer | AnswerFault]:
    """Return the body of a response without the secrets that are cut into its tokens, and what
    `read_answer` reads in it."""
    text = text.removeprefix("\ufeff")
    try:
        body = parse_json(text)
    except ValueError as error:
        return text, AnswerFault("malformed", f"no JSON ({error})", retryable=True)
    if hide_in_tokens(body, scrub):
        text = json.dumps(body)
    return text, _answer_in(body)


def _answer_in(body: Any) -> Answer | AnswerFault:
    """Return the answer in a body.

    An answer of another shape will have it again, and is not worth a retry; a body without any is.
    """
    usage = (
        _usage(body.get("usage"))
        if isinstance(body, Mapping) and isinstance(body.get("usage"), Mapping)
        else Usage()
    )
    match body:
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            pass
        case {"choices": [{"text": str()}, *_]}:
            return AnswerFault(
                "malformed", "no choices with a message, but a text completion", usage=usage
            )
        case _:
            return _fault_given(body, usage)
    # OpenRouter's, of the server behind it, beside what was written until then
    if choice.get("error"):
        return _fault_given({"error": choice["error"]}, usage)
    parts = read_parts(message.get("content"))
    if parts is None:
        return AnswerFault(
            "malformed",
            f"content {_in_short(json.dumps(message['content']))}, expected text",
            usage=usage,
        )
    if len(parts.text or "") > MAX_CHARACTERS:
        return fault_of_length(usage)
    final = part_thinking(replace_surrogates(parts.text or ""))
    thinking = next((part for name in THINKING if (part := text_of(message.get(name)))), "")
    return Answer(
        final.text,
        "\n\n".join(
            filter(
                None,
                (replace_surrogates(thinking), replace_surrogates(parts.thinking), final.thinking),
            )
        ),
        _name(choice.get("finish_reason")),
        _usage(body.get("usage")),
        _logprobs(choice.get("logprobs")),
        _name(body.get("model")),
        replace_surrogates(text_of(message.get("refusal")) or parts.refusal),
    )


def _fault_given(body: Any, usage: Usage) -> AnswerFault:
    """Return the fault of a successful response without an answer, in the server's own words."""
    fault = fault_in_answer(body)
    return AnswerFault(
        **{each.name: getattr(fault, each.name) for each in fields(fault)}, usage=usage
    )


class ContentParts(NamedTuple):
    """The combined parts of a message's content: text, None for no content; thinking and refusal,
    "" for none."""

    text: str | None
    thinking: str = ""
    refusal: str = ""


def read_parts(content: Any) -> ContentParts | None:
    """Read a message's content: text, null, or a list of parts, where only text parts are part of
    the answer. Return None for content in any other form.
    """
    if content is None or isinstance(content, str):
        return ContentParts(content)
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        return None
    texts = [text_of(part) for part in content if part.get("type") in ("text", "output_text")]
    thinking = [
        text_of(part)
        for part in content
        if part.get("type") in ("thinking", "reasoning", "redacted_thinking")
    ]
    refusal = [text_of(part) for part in content if part.get("type") == "refusal"]
    if content and not (texts or thinking or refusal):
        return None
    return ContentParts(
        "".join(texts) if texts else None, "\n\n".join(filter(None, thinking)), " ".join(refusal)
    )


def text_of(part: Any) -> str:
    """Return the text in a part of a message, which may contain parts itself."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(map(text_of, part))
    if not isinstance(part, Mapping):
        return ""
    return next(
        (
            text
            for name in ("text", "thinking", "reasoning", "summary", "refusal")
            if (text := text_of(part.get(name)))
        ),
        "",
    )


def _in_short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[:_LONGEST_NAME]}…"


def _name(value: Any) -> str:
    """Return a name that a server gives, on one line and in short; "" if it gives none."""
    return (
        " ".join(replace_surrogates(value).split())[:_LONGEST_NAME]
        if isinstance(value, str)
        else ""
    )


def _usage(report: Any) -> Usage:
    """Return the tokens that the server reports; one uncounted answer if it reports none."""
    if not isinstance(report, Mapping):
        return Usage(uncounted=1)
    prompt, completion = (
        read_token_count(report.get("prompt_tokens")),
        read_token_count(report.get("completion_tokens")),
    )
    details = report.get("completion_tokens_details")
    reasoning = read_token_count(
        (details if isinstance(details, Mapping) else report).get("reasoning_tokens")
    )
    # xAI's reasoning
    beside = (read_token_count(report.get("total_tokens")) or 0) - (prompt or 0) - (completion or 0)
    return Usage(
        prompt_tokens=prompt or 0,
        completion_tokens=(completion or 0) + max(beside, 0),
        reasoning_tokens=reasoning or 0,
        uncounted=int(prompt is None or completion is None),
    )


def read_token_count(value: Any) -> int | None:
    """Return a number of tokens; None if it is none, or more than any model writes or reads."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if is_count else None


def _logprobs(value: Any) -> tuple[TokenLogprob, ...] | None:
    """Return the tokens with their log-probabilities; None if they are missing or malformed."""
    if not isinstance(value, Mapping):
        return None
    try:
        if not isinstance(value.get("content"), list):
            return None
        return tuple(
            TokenLogprob(
                _text(token["token"]),
                _number(token["logprob"]),
                tuple(
                    (_text(other["token"]), _number(other["logprob"]))
                    for other in token.get("top_logprobs") or ()
                ),
            )
            for token in value["content"]
        )
    except (TypeError, ValueError, OverflowError, KeyError, AttributeError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a token of type {type(value).__name__}")
    return value


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


# What a model writes around its thinking, in the words of those that do: Qwen, DeepSeek, GLM
# (think), Seed-OSS (seed:think), LongCat (longcat_think), Mistral ([THINK]), Kimi-VL (◁think▷),
# Command A (<|START_THINKING|>), Gemma 4 (<|channel>thought … <channel|>), Apertus
# (<|inner_prefix|>), and what prompts ask for (reasoning, scratchpad, …).
_NAMES = (
    r"(?:[a-z]{1,12}[:_])?(?:think(?:ing)?|thoughts?|antthinking|reason(?:ing(?:_content)?)?"
    r"|scratchpad|(?:inner|internal)_monologue"
    r"|chain[_-]of[_-]thoughts?|cot|rationale|reflection|analysis)"
)
_OF = r"(?:of[_▁])?"
_LESS, _MORE = r"(?:<|&lt;)\s{0,4}+", r"\s{0,4}+(?:>|&gt;)"
_TAG = re.compile(
    rf"{_LESS}(?P<end1>/\s{{0,4}}+)?+{_NAMES}(?:\s[^<>]{{0,60}}+)?+{_MORE}"
    rf"|\[(?P<end2>/)?+(?-i:THINK)\]|◁(?P<end3>/)?+think▷"
    rf"|<[|｜](?:(?:start|begin)[_▁]{_OF}|(?P<end4>/|end[_▁]{_OF}))?(?:think(?:ing)?|thoughts?"
    rf"|reasoning)[|｜]>"
    r"|(?P<end5><unused95>)|<unused94>"
    r"|<\|channel>\s{0,4}+(?:thought|thinking|analysis)\b|(?P<end6><channel\|>)"
    r"|<\|inner_prefix\|>|(?P<end7><\|inner_suffix\|>)",
    re.IGNORECASE,
)
_ENDS = ("end1", "end2", "end3", "end4", "end5", "end6", "end7")
# Harmony (gpt-oss):
# <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>
_CHANNEL = re.compile(
    r"<\|channel\|>\s*+([a-z]*+)[^<]{0,200}+(?:<\|constrain\|>[^<]{0,100}+)?+<\|message\|>",
    re.IGNORECASE,
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_FINAL = "final"
# The same without its special tokens, which a server may take away: "analysisWe need
# …assistantfinalB".
_BARE_ANALYSIS, _BARE_FINAL = (
    re.compile(r"\s*+analysis(?=[A-Z])"),
    re.compile(r"assistantfinal(?![a-z])"),
)
_SOLUTION = re.compile(r"<\|(?:begin|end)_of_solution\|>|<\|(?:START|END)_RESPONSE\|>")
_STRAY = re.compile(r"(?:<\|[a-z_]{1,30}\|>|</s>|<eos>|<end_of_turn>)\Z", re.IGNORECASE)
_LONGEST_STRAY, _MOST_STRAY = 40, 10  # characters of a stray mark, and their largest number
_MARKS = re.compile(
    rf"{_TAG.pattern}|(?:<\|start\|>\s*+assistant\s*+)?{_CHANNEL.pattern}|{_CHANNEL_END.pattern}"
    rf"|{_SOLUTION.pattern}",
    re.IGNORECASE,
)


# Calls of tools that a server left in the text: what they are given is no answer.
_TOOL_CALL = re.compile(
    r"(?s)<(tool_call|function_calls?|invoke|tool_use)\b.*?(?:</\1>|\Z)"
    r"|<[|｜]tool[_▁]calls?[_▁](?:section[_▁])?begin[|｜]>.*|<function=.*?(?:</function>|\Z)"
    r"|(?:\[TOOL_CALLS\]|<\|python_tag\|>|<[|｜]DSML[|｜]).*"
    r"|\{\s{0,9}\"(?:name|function)\"\s{0,9}:\s{0,9}\"[^\"\n]{0,99}\"\s{0,9},"
    r"\s{0,9}\"(?:arguments|parameters|input)\"\s{0,9}:.*"
    r"|\[[a-zA-Z_.]{1,60}\((?:\w{1,60}=[^()\n]{0,400})?\)\]"
)


class ReplyParts(NamedTuple):
    """The parts of a model's text.

    text: the answer, None if there is only thinking. thinking: "" for none. start, end: the
    position of the answer in the whole text; both are its length without an answer.
    """

    text: str | None
    thinking: str
    start: int
    end: int


def part_thinking(whole: str) -> ReplyParts:
    """Return the answer in a text: what follows the last end of thinking, or harmony's last final
    channel.

    A text whose thinking has no end has no answer, nor has one of which nothing but blanks is left.
    Text without any marks is the answer as it stands.
    """
    span = _answer_span(whole)
    start, end = (len(whole), len(whole)) if span is None else span
    for _ in range(_MOST_STRAY):  # special tokens that a server left at the end, such as <|im_end|>
        text = start + len(whole[start:end].rstrip())
        stray = _STRAY.search(whole[:text], max(start, text - _LONGEST_STRAY))
        if stray is None:
            break
        end = stray.start()
    # the blanks behind the thinking belong to neither
    answer = whole[start:end].lstrip() if start else whole[:end]
    thinking = _MARKS.sub("", whole[:start]).strip()
    if not answer.strip():
        return ReplyParts(None, thinking, len(whole), len(whole))
    return ReplyParts(answer, thinking, end - len(answer), end)


def _answer_span(whole: str) -> tuple[int, int] | None:
    """Return start and end of the answer, None if it has not begun."""
    span = _final_channel(whole)
    if span is None:
        return None
    start, end = span
    tags = list(_TAG.finditer(whole, start, end))
    if tags and not any(tags[-1][name] for name in _ENDS):
        return None
    return _solution(whole, tags[-1].end() if tags else start, end)


def _final_channel(whole: str) -> tuple[int, int] | None:
    """Return harmony's last final channel, None if it has others only; the whole text if it has
    none."""
    channels = list(_CHANNEL.finditer(whole))
    if channels or "<|channel|>" in whole:
        starts = [found.end() for found in channels if found[1].lower() == _FINAL]
        close = _CHANNEL_END.search(whole, starts[-1]) if starts else None
        return (starts[-1], close.start() if close else len(whole)) if starts else None
    if _BARE_ANALYSIS.match(whole) or _BARE_FINAL.search(whole):
        finals = [found.end() for found in _BARE_FINAL.finditer(whole)]
        return (finals[-1], len(whole)) if finals else None
    return 0, len(whole)


def _solution(whole: str, start: int, end: int) -> tuple[int, int]:
    """Return the answer in a part of the text, without the marks that some models write around
    it."""
    marks = list(_SOLUTION.finditer(whole, start, end))
    if not marks:
        return start, end
    return marks[0].end(), marks[-1].start() if len(marks) > 1 else end


def without_tool_calls(text: str) -> str:
    """Return a text with blanks for the calls of tools in it; its length and its lines stay."""
    return _TOOL_CALL.sub(lambda call: re.sub(r"[^\n]", " ", call[0]), text)
