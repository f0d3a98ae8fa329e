"""Part a reply into thinking and answer. Only this module separates them.

Servers with a parser send the thinking in a field of its own; others send one text that holds both.
Models mark the thinking by tags such as <think>…</think>, whose opening one the prompt's template
may have written, or by the channels of harmony or Gemma.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

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


# Marks that may change which part of a text is the answer, at any position.
CHANGES = re.compile(
    rf"{_MARKS.pattern}|{_STRAY.pattern.removesuffix(chr(92) + 'Z')}|(?-i:{_BARE_FINAL.pattern})",
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


def part_of_next(whole: str) -> Literal["answer", "thinking", "neither"]:
    """Return the part that the next word belongs to, unless it is a mark."""
    span = _answer_span(whole)
    if span is None:
        return "thinking"
    return "answer" if span[1] == len(whole) else "neither"


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
