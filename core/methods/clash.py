"""Reads the clash of another run's debates: which points a side makes, which are answered, and which the judge takes up.

It predicts nothing. Each debate of two or more sides has one event of kind "clash", whose meta holds `debate` (its place among
those of its stage), `points` and `not_found`. Every quotation of a point stands in the debate word for word; `not_found` counts
those that do not, which are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from core.audit.clash import SPEECHES, Point, Status
from core.audit.rubric import Rubric
from core.hashes import sha256_of
from core.llm.json_objects import find_list
from core.llm.messages import Message, Reply
from core.llm.parsing import Unparsed
from core.methods.base import Option, RowMethod, RowText, TextsOfRun
from core.methods.conversation import CallSpec, Messages, ReadAnswer, event_of
from core.methods.marked_passage import QUOTES, find_passage
from core.methods.prompts import EFFORT, LONGEST_ANSWER, fill, prompt_text
from core.methods.text_reading import TextReading
from core.types import Pair, TraceEvent

JUDGE: Final = "JUDGE"
_PROMPTS = ("clash", "clash_task", "reask_clash")
_FIELDS = ("side", "point", "answer", "verdict")
_WORDLESS = 20  # characters of a verdict that is a number or a letter alone


class DebateSpeeches(NamedTuple):
    """One debate of a row. sides: side → its speeches, joined. verdict: the first with a reason, else ""."""

    stage: str
    debate: int
    sides: Mapping[str, str]
    verdict: str
    speeches: tuple[RowText, ...]
    role: str = "READER"


class ReadPoints(NamedTuple):
    """The points of a debate, and how many of the reader's quotations do not stand in it."""

    points: tuple[Point, ...]
    not_found: int


class Clash(TextReading[DebateSpeeches, ReadPoints]):
    """One question about each debate of a row, all asked concurrently. A row without a debate of two sides has no event."""

    name = "clash"
    version = 1
    reask = "reask_clash"
    about = "A model reads another run's debates: which points are answered, ignored, or decide the judge; it predicts nothing."
    options: tuple[Option, ...] = (
        Option("run", "run", "", "The run whose debates are read."),
        EFFORT,
        LONGEST_ANSWER,
    )
    form = json.dumps({"points": [dict.fromkeys(_FIELDS, " ".join(["words"] * 20))] * 6})  # about as long as an answer

    def calls(self, _options: Mapping[str, Any]) -> float:
        """Return the calls for a row with two debates; the run decides how many it has."""
        return 2

    def prompts(self, _options: Mapping[str, Any]) -> str:
        """Return every text of a prompt, apart from the pair and the debate."""
        return "\n\n".join(map(prompt_text, _PROMPTS))

    def rubric(self, _options: Mapping[str, Any]) -> Rubric:
        """Return which texts are read."""
        return SPEECHES

    def answer_form(self, _options: Mapping[str, Any]) -> str:
        """Return a text about as long as an answer, reasoning left out."""
        return self.form

    def items(self, texts: Sequence[RowText]) -> list[DebateSpeeches]:
        """Return the debates of a row."""
        return split_debates(texts)

    def question(self, _texts: TextsOfRun, pair: Pair, item: DebateSpeeches, _options: Mapping[str, Any]) -> Messages:
        """Return the question about a debate."""
        return messages_of(pair, item)

    def read_reply(self, reply: Reply, _pair: Pair, item: DebateSpeeches, _options: Mapping[str, Any]) -> ReadPoints | Unparsed:
        """Return the points of a reply."""
        return read_points(reply, item)

    def events(self, _pair: Pair, item: DebateSpeeches, spec: CallSpec, found: ReadAnswer[ReadPoints]) -> tuple[TraceEvent, ...]:
        """Return the points of a debate as one event."""
        meta: dict[str, object] = {"debate": item.debate, "sides": list(item.sides), "has_verdict": bool(item.verdict)}
        if isinstance(found.value, Unparsed):
            meta |= {"unread": found.value.reason}
        else:
            meta |= {"points": [asdict(point) for point in found.value.points], "not_found": found.value.not_found}
        return (event_of(spec, "clash", found.reply, **meta),)


METHOD: RowMethod = Clash()


def split_debates(texts: Sequence[RowText]) -> list[DebateSpeeches]:
    """Return the debates among the speeches of a row: of each stage, a speech after a verdict begins another one.

    Those of fewer than two sides are left out.
    """
    found = []
    for stage in dict.fromkeys(text.stage for text in texts):
        of_stage = list(_split([text for text in texts if text.stage == stage]))
        debates = (_debate(stage, place, speeches) for place, speeches in enumerate(of_stage))
        found += [debate for debate in debates if len(debate.sides) > 1]
    return found


def _split(texts: Sequence[RowText]) -> Iterator[list[RowText]]:
    current: list[RowText] = []
    for text in texts:
        if text.role != JUDGE and any(earlier.role == JUDGE for earlier in current):
            yield current
            current = []
        current.append(text)
    if current:
        yield current


def _debate(stage: str, place: int, texts: Sequence[RowText]) -> DebateSpeeches:
    said = tuple(text for text in texts if text.role != JUDGE)
    verdicts = [text for text in texts if text.role == JUDGE][:1]
    says_why = [text for text in verdicts if len(text.content) > _WORDLESS]
    sides: dict[str, str] = {}
    for text in said:
        sides[text.role] = f"{sides[text.role]}\n\n{text.content}" if text.role in sides else text.content
    return DebateSpeeches(stage, place, sides, "".join(text.content for text in says_why), (*said, *says_why))


def messages_of(pair: Pair, debate: DebateSpeeches) -> Messages:
    """Return the question about a debate, which stands between marks made from a hash of it, so that it cannot end itself."""
    speeches = "\n\n".join(f"{text.role}:\n{text.content}" for text in debate.speeches)
    task = fill(
        prompt_text("clash_task"),
        pert=pair.pert,
        gene=pair.gene,
        sides=", ".join(debate.sides),
        mark=sha256_of(speeches)[:8],
        speeches=speeches,
    )
    return Message("system", prompt_text("clash")), Message("user", task)


def read_points(reply: Reply, debate: DebateSpeeches) -> ReadPoints | Unparsed:
    """Return the points of a reply whose quotations stand in the debate, each once."""
    listed = find_list(reply.content, "points")
    if listed is None:
        return Unparsed('no JSON object with a list "points", expected one')
    points: dict[tuple[str, str], Point] = {}
    not_found = 0
    for each in listed:
        if not isinstance(each, Mapping) or not all(isinstance(each.get(name, ""), str) for name in _FIELDS):
            return Unparsed(f"a point is {json.dumps(each)[:80]}, expected the texts {', '.join(_FIELDS)}")
        point, missing = _read_point({name: each.get(name, "").strip(QUOTES) for name in _FIELDS}, debate)
        not_found += missing
        if point is not None:
            points.setdefault((point.side, point.point), point)
    return ReadPoints(tuple(points.values()), not_found)


def _read_point(said: Mapping[str, str], debate: DebateSpeeches) -> tuple[Point | None, int]:
    """Return a point, None if its words do not stand in the speeches of its side, and how many quotations stand nowhere."""
    side = next((side for side in debate.sides if side.casefold() == said["side"].casefold()), "")
    point = find_passage(debate.sides.get(side, ""), said["point"])
    if not point:
        return None, 1
    others = ((other, find_passage(text, said["answer"])) for other, text in debate.sides.items() if other != side)
    answered_by, answer = next((each for each in others if each[1]), ("", ""))
    verdict = find_passage(debate.verdict, said["verdict"])
    status: Status = "answered" if answer else "unclear" if said["answer"] else "ignored"
    not_found = (said["answer"] != "" and not answer) + (said["verdict"] != "" and not verdict)
    return Point(side, point, status, answer, answered_by, verdict), not_found
