"""A schema: an answer to a rubric that lists findings with fields, instead of one of the rubric's
answers; and passages, which a model copies from a text.

A quotation has to stand in the text verbatim, white space and the quotation marks around it aside.
One that does not stand there is invented: it is counted, and never shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from core.base.fields.record import identity_of
from core.features.arguments.rubric import Rubric
from core.llm.answers import Unread, find_list
from core.llm.messages import Reply, TokenLogprob
from core.methods.base import RowText

JUDGE = "JUDGE"
_WORDLESS = 20  # characters of a verdict that is a number or a letter alone


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a finding. about: its line in the prompt.

    kind: one of `values`; a side of the debate; a word of the text, such as a gene; or a quotation.
    of: in whose words it stands: of the finding's side (of the text if it has none), of the others,
    or of the judge. optional: whether it may be "", and a finding counts without it.
    """

    name: str
    about: str
    kind: Literal["choice", "side", "word", "quote"] = "quote"
    values: tuple[str, ...] = ()
    of: Literal["side", "others", "judge"] = "side"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """What a model lists about each text, or each debate, of a run.

    rubric: says which texts are read. listed: the plural of a finding. role: what the model does;
    request: what it lists; note: further rules. key: the fields that tell findings apart.
    """

    rubric: Rubric
    listed: str
    of: Literal["text", "debate"]
    role: str
    request: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]
    note: str = ""

    @property
    def text(self) -> str:
        """The schema as JSON, always the same: a part of a reading's identity."""
        return json.dumps(identity_of(self), sort_keys=True)

    @property
    def columns(self) -> list[str]:
        """What a finding holds: its fields, `NAME_by`, the side whose words are quoted of others,
        and what is invented."""
        by = [f"{field.name}_by" for field in self.fields if field.of == "others"]
        return [*self.names("choice", "side", "word", "quote"), *by, "invented"]

    def names(self, *kinds: str) -> list[str]:
        """Return the names of the fields of some kinds."""
        return [field.name for field in self.fields if field.kind in kinds]

    @property
    def form(self) -> str:
        """The JSON of an answer."""
        finding = dict.fromkeys((field.name for field in self.fields), "…")
        return json.dumps({self.listed: [finding]}, ensure_ascii=False)


class Passage(NamedTuple):
    """What one question is about: a text, or a debate. sides: role → its speeches, joined.

    verdict: the judge's first with a reason, else "". seq: of its first text. role: of the call.
    """

    stage: str
    role: str
    seq: int
    sides: Mapping[str, str]
    content: str
    verdict: str = ""


def passages_of(schema: Schema, texts: Sequence[RowText]) -> list[Passage]:
    """Return what is asked about, out of the texts of a row: each text, or each debate of two
    sides.

    A speech after a verdict begins another debate of its stage.
    """
    if schema.of == "text":
        return [
            Passage(text.stage, text.role, text.seq, {text.role: text.content}, text.content)
            for text in texts
        ]
    stages = dict.fromkeys(text.stage for text in texts)
    debates = [
        _debate(part)
        for stage in stages
        for part in _split([text for text in texts if text.stage == stage])
    ]
    return [debate for debate in debates if len(debate.sides) > 1]


def _split(texts: Sequence[RowText]) -> Iterator[list[RowText]]:
    current: list[RowText] = []
    for text in texts:
        if text.role != JUDGE and current and current[-1].role == JUDGE:
            yield current
            current = []
        current.append(text)
    yield current


def _debate(texts: Sequence[RowText]) -> Passage:
    speeches = [text for text in texts if text.role != JUDGE]
    reasons = [text for text in texts if text.role == JUDGE][:1]
    reasons = [text for text in reasons if len(text.content) > _WORDLESS]
    sides: dict[str, list[str]] = {}
    for text in speeches:
        sides.setdefault(text.role, []).append(text.content)
    joined = {role: "\n\n".join(of_role) for role, of_role in sides.items()}
    content = "\n\n".join(f"{text.role}:\n{text.content}" for text in (*speeches, *reasons))
    return Passage(
        texts[0].stage,
        "READER",
        texts[0].seq,
        joined,
        content,
        "".join(text.content for text in reasons),
    )


class Findings(NamedTuple):
    """The findings in a passage, each with the `columns` of its schema, and the number of invented
    quotations."""

    findings: tuple[Mapping[str, Any], ...]
    invented: int


def read_findings(schema: Schema, content: str, passage: Passage) -> Findings | Unread:
    """Return the findings of a reply, each once."""
    listed = find_list(content, schema.listed)
    if listed is None:
        return Unread(f'no JSON object with a list "{schema.listed}", expected one')
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    invented = 0
    for each in listed:
        given = _given(schema, each)
        if isinstance(given, Unread):
            return given
        # The finding with its words as they stand in the passage; "" for those that do not
        named = {given[name].casefold() for name in schema.names("side")}
        own = next((side for side in passage.sides if side.casefold() in named), "")
        quoted: dict[str, Any] = {**given, **dict.fromkeys(schema.names("side"), own)}
        for field in schema.fields:
            if field.kind == "word":
                stands = re.search(
                    rf"(?<!\w){re.escape(given[field.name])}(?!\w)", passage.content, re.IGNORECASE
                )
                quoted[field.name] = stands[0] if stands else ""
            elif field.kind == "quote":
                sides = {
                    side: text
                    for side, text in passage.sides.items()
                    if not own or (side == own) == (field.of == "side")
                }
                texts = {JUDGE: passage.verdict} if field.of == "judge" else sides
                standing = {
                    side: quote
                    for side, text in texts.items()
                    if (quote := find_passage(text, given[field.name]))
                }
                by, quoted[field.name] = next(iter(standing.items()), ("", ""))
                quoted |= {f"{field.name}_by": by} if field.of == "others" else {}
        finding = quoted | {
            "invented": [name for name in given if given[name] and not quoted[name]]
        }
        lost = any(not finding[field.name] for field in schema.fields if not field.optional)
        invented += 1 if lost else len(finding["invented"])
        if not lost:
            found.setdefault(tuple(finding[name] for name in schema.key), finding)
    return Findings(tuple(found.values()), invented)


def _given(schema: Schema, each: object) -> dict[str, str] | Unread:
    """Return the fields of a finding as the reply gives them, without quotation marks around
    them."""
    values = each if isinstance(each, Mapping) else {}
    given = {
        field.name: values.get(field.name, "" if field.optional else None)
        for field in schema.fields
    }
    if not all(isinstance(value, str) for value in given.values()):
        names = ", ".join(given)
        return Unread(
            f"a {schema.listed.removesuffix('s')} is {json.dumps(each)[:80]}, expected the texts"
            f" {names}"
        )
    given = {name: value.strip(QUOTES) for name, value in given.items()}
    for field in schema.fields:
        if field.kind == "choice" and given[field.name] not in field.values:
            return Unread(
                f"a {field.name} is {given[field.name][:40]!r}, expected one of"
                f" {', '.join(field.values)}"
            )
    return given


FEWEST_WORDS = 2  # one word alone stands in many places, and so marks none
_PASSAGE = re.compile(r"<passage>(.*?)(?:</passage>|\Z)", re.IGNORECASE | re.DOTALL)
QUOTES = "\"'“”‘’«»„`* \n\t"


def take_passage(reply: Reply) -> tuple[Reply, str]:
    """Return a reply without its passage, and the passage, "" without one.

    What is copied may look like an answer, so that the letter is read from what remains, and from
    its tokens alone.
    """
    found = _PASSAGE.search(reply.content)
    if found is None:
        return reply, ""
    content = reply.content[: found.start()] + reply.content[found.end() :]
    tokens = (
        None if reply.logprobs is None else _outside(reply.logprobs, reply.content, found.span())
    )
    return replace(reply, content=content.strip(), logprobs=tokens), found[1].strip(QUOTES)


def find_passage(text: str, passage: str) -> str:
    """Return a passage as it stands in a text, whatever its white space; "" if it does not, or is a
    single word."""
    words = passage.split()
    if len(words) < FEWEST_WORDS:
        return ""
    spelled = r"\s+".join(map(re.escape, words))
    found = re.search(rf"(?<!\w){spelled}(?!\w)", text)
    return found[0] if found else ""


def _outside(
    tokens: tuple[TokenLogprob, ...], content: str, span: tuple[int, int]
) -> tuple[TokenLogprob, ...]:
    """Return the tokens that do not lie within a span of the content, before which they may hold
    the thinking."""
    begin = max("".join(token.token for token in tokens).rfind(content), 0)
    left, place = [], -begin
    for token in tokens:
        end = place + len(token.token)
        if place < span[0] or end > span[1]:
            left.append(token)
        place = end
    return tuple(left)
