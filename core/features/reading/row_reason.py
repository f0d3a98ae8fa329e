"""The reason for a row's prediction, in a sentence written by a judge, an advocate or an agent. A
judge's words come first.

Many judges write only a number; then it is the passage marked by a rubric's reading, else the
concluding sentence of the advocate whom the judge followed, found by `core.methods.text_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.base.texts import cut_at_word, parse_json
from core.base.types import MarkedPassage
from core.features import hooks
from core.methods.brief_checks import FEWEST_SENTENCES, SHORT
from core.methods.text_rules.text import RuleText, own_side_sentence, split_sentences
from core.scoring.row_trace import SIDES
from core.store import Cursor
from core.store.runs import Run

Event = Mapping[str, Any]
LONGEST = 90  # characters of a quotation
# of what an agent hands in
REASON_KEYS = ("reasoning", "reason", "rationale", "explanation", "justification")
_TAGS = re.compile(r"<(prob|answer)>[^<>]*</\1>|</?think(?:ing)?>", re.IGNORECASE)
_OPENING = re.compile(r"\A\W*(?:answer\W+)?[ABC][).:]\s*", re.IGNORECASE)
_OPTION = re.compile(r"\A\W*([ABC])[).]\s")
_FEWEST_WORDS = 6  # of a sentence that says something


@dataclass(frozen=True, slots=True)
class Reason:
    """quote: a sentence, or "". source: its author. sides: the conduct of both advocates of the
    question."""

    quote: str
    source: str
    sides: str = ""


def find_reason(
    row: Mapping[str, Any],
    events: Sequence[Event],
    passages: Sequence[MarkedPassage] = (),
    *,
    longest: int = LONGEST,
) -> Reason | None:
    """Return the reason of a row; None where its trace says nothing.

    row: p_de, call and label of `predictions.row`. events: the fields of `TraceEvent` and findings,
    meta a mapping. passages: that readings marked in its texts. longest: of the quotation, in
    characters.
    """
    reason = _find_whole(row, events, passages)
    return None if reason is None else replace(reason, quote=cut_at_word(reason.quote, longest))


def passages_in(event: Event, passages: Sequence[MarkedPassage]) -> tuple[str, ...]:
    """Return the passages that are marked in the text of an event; one of a whole row is in every
    text that holds it."""
    of_event = (
        each
        for each in passages
        if (each.stage, each.role) in ((event["stage"], event["role"]), ("", ""))
    )
    return tuple(dict.fromkeys(each.text for each in of_event if each.text in event["content"]))


def _find_whole(
    row: Mapping[str, Any], events: Sequence[Event], passages: Sequence[MarkedPassage]
) -> Reason | None:
    if any(event["kind"] == "brief" for event in events):
        return _of_debate(deciding_stage(row), events, passages)
    handed_in = next((text for event in reversed(events) if (text := _final_reason(event))), "")
    if handed_in:
        return Reason(_last_sentence(handed_in), "the agent")
    said = [event for event in events if event["kind"] in ("answer", "text", "thought", "verdict")]
    for event in reversed(said):
        if quote := _last_sentence(event["content"]):
            return Reason(quote, _speaker(event))
    if passages:
        return _reason_of_passage(passages[0], passages[0].role.replace("_", " ").lower())
    return Reason("", f"{_speaker(said[-1])} gave no reason") if said else None


def deciding_stage(row: Mapping[str, Any]) -> str:
    """Return the question that decided the row: "dir" if its call and its label have opposite
    directions, otherwise "de"."""
    both = {row.get("call"), row.get("label")}
    return "dir" if both == {"up", "down"} else "de"


def _reason_of_passage(passage: MarkedPassage, whose: str) -> Reason:
    """Return the reason that a rubric's reading marked; whose: who wrote the text, "" of a whole
    row."""
    return Reason(
        passage.text,
        f"{whose + ', ' if whose else ''}marked for the rubric {passage.rubric}: {passage.answer}",
    )


def _of_debate(stage: str, events: Sequence[Event], passages: Sequence[MarkedPassage]) -> Reason:
    of_stage = [event for event in events if event["stage"] == stage]
    verdict = next((event for event in reversed(of_stage) if event["kind"] == "verdict"), None)
    p = verdict["meta"].get("p") if verdict else None
    judge = "the judge" if p is None else f"the judge ({100 * p:.0f}%)"
    briefs = {
        side: next((e for e in of_stage if e["kind"] == "brief" and e["role"] == side), None)
        for side in SIDES[stage]
    }
    sides = ", ".join(
        f"{side} {_conduct(brief)}" for side, brief in briefs.items() if brief is not None
    )
    if verdict and verdict["meta"].get("fallback"):
        return Reason("", f"{judge} could not be read: a constant replaces it", sides)
    if verdict and (quote := _last_sentence(verdict["content"])):
        return Reason(quote, judge, sides)
    followed, other = SIDES[stage] if p is not None and p >= 0.5 else SIDES[stage][::-1]
    # of each role the newest
    of_stage_or_row = {each.role: each for each in reversed(passages) if each.stage in (stage, "")}
    for role in (verdict["role"] if verdict else "", "", followed, other):
        if role in of_stage_or_row:
            return replace(_reason_of_passage(of_stage_or_row[role], role), sides=sides)
    if quote := _passage(briefs[followed]):
        return Reason(quote, f"{followed}, whom {judge} followed", sides)
    if quote := _passage(briefs[other]):
        return Reason(quote, f"{other}, whom {judge} did not follow", sides)
    return Reason("", f"{judge} gave no reason", sides)


def _passage(brief: Event | None) -> str:
    """Return the sentence where an advocate concludes for its side, otherwise the first one that is
    not a bare answer, or ""."""
    if brief is None:
        return ""
    text = RuleText(_TAGS.sub("", brief["content"]), brief["role"])
    sentences = [
        each for each in text.sentences if not _OPENING.match(each) and _says_something(each)
    ]
    concluded = own_side_sentence(text)
    return concluded if concluded in sentences else next(iter(sentences), "")


def _conduct(brief: Event) -> str:
    """Return the conduct of an advocate: the option it answered, or the number of sentences it
    argued in."""
    text = RuleText(brief["content"], brief["role"])
    n = len(text.sentences)
    at_length = (
        f" in {n} sentences" if n >= FEWEST_SENTENCES and len(brief["content"]) >= SHORT else ""
    )
    if text.answer:
        return f"answers {text.answer}{at_length}"
    if at_length:
        return f"argues{at_length}"
    return f"says “{cut_at_word(brief['content'], 24)}”" if text.content.strip() else "says nothing"


def _final_reason(event: Event) -> str:
    """Return the reason that an agent gave with its final call; "" for any other event."""
    if event["kind"] != "tool_call":
        return ""
    try:
        arguments = parse_json(event["content"])
    except (ValueError, RecursionError):
        return ""
    found = arguments if isinstance(arguments, dict) else {}
    return next((value for key in REASON_KEYS if isinstance(value := found.get(key), str)), "")


def _speaker(event: Event) -> str:
    seed = event["meta"].get("seed")
    name = str(event["meta"].get("agent") or event["role"]).replace("_", " ").lower()
    return f"the {name}" if seed is None else f"the {name}, seed {seed}"


def _last_sentence(text: str) -> str:
    """Return the last meaningful sentence, without tags that prompts ask for and without lists of
    the options."""
    sentences = [
        each
        for each in split_sentences(_TAGS.sub("", text))
        if _says_something(each) and not each.endswith(":")
    ]
    options = {each: found[1] for each in sentences if (found := _OPTION.match(each))}
    if len(set(options.values())) > 1:
        sentences = [each for each in sentences if each not in options]
    return _OPENING.sub("", sentences[-1]) if sentences else ""


def _says_something(sentence: str) -> bool:
    return len(sentence.split()) >= _FEWEST_WORDS


def reason_of_row(
    db: Cursor,
    run: Run,
    numbers: Mapping[str, Any],
    events: Sequence[Event],
    longest: int,
) -> str:
    """Return the reason of a row in words, "" for none."""
    passages = [each for mark in hooks("marks") for each in mark(db, run.id, numbers["pair_id"])]
    reason = find_reason(numbers, events, passages, longest=longest)
    if reason is None:
        return ""
    return f"“{reason.quote}” — {reason.source}" if reason.quote else reason.source
