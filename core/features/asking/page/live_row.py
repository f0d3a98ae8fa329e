"""A row in progress, read from its worker's events (`core.methods.row_feed`) or from the store, and
drawn as HTML: its numbers, the cards of its dossier, and the texts of a stage side by side. All
text is escaped.

It is redrawn many times a second while words arrive, so each part is one element, sent only when it
changes.
"""

from __future__ import annotations

import html
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.base.types import FLAG_NAMES
from core.evidence import render
from core.plots import drawing
from core.scoring import row_trace
from core.scoring.row_trace import SIDES
from core.ui.widgets import percent_text

JUDGE = "JUDGE"
MOST_WRITTEN = 20_000  # characters of an answer while it is written
_UNREAD, _AGAIN = "could not be read", "asked once more: "


@dataclass(slots=True)
class Speech:
    """One answer of the model, complete or in progress. pieces: the number of chunks received,
    about the number of tokens.

    attempt: that of its call. ended_at, tokens: None while it is written. p: the number in it;
    error: why there is no answer, or why it could not be read.
    """

    stage: str
    role: str
    seed: int
    streams: bool
    begun_at: float
    content: str = ""
    reasoning: str = ""
    pieces: int = 0
    attempt: int = 1
    ended_at: float | None = None
    tokens: int | None = None
    cached: bool = False
    p: float | None = None
    error: str = ""
    failed: bool = False


@dataclass(slots=True)
class LiveRow:
    """A row, complete or in progress. cards: the tools' answers by tool and key. ending: the last
    event, None before it."""

    pair_id: str = ""
    pert: str = ""
    gene: str = ""
    begun_at: float | None = None
    at: float = 0.0
    cards: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    speeches: dict[int, Speech] = field(default_factory=dict)
    ending: Mapping[str, Any] | None = None

    @property
    def stages(self) -> list[str]:
        """The stages in the order in which they began."""
        return list(dict.fromkeys(speech.stage for speech in self.speeches.values()))

    @property
    def is_over(self) -> bool:
        """Whether the row has ended with a prediction or a failure. An interrupted row may
        continue."""
        return self.ending is not None and not self.ending.get("given_up")

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens of finished answers, and the pieces of the answers in
        progress."""
        if self.ending is not None and self.ending.get("tokens") is not None:
            return int(self.ending["tokens"])
        return sum(
            speech.pieces if speech.tokens is None else speech.tokens
            for speech in self.speeches.values()
        )

    def p_of(self, stage: str) -> float | None:
        """Return the mean of the numbers that the judges of a stage gave so far; None before the
        first."""
        read = [
            speech.p
            for speech in self.speeches.values()
            if speech.stage == stage and speech.p is not None
        ]
        return sum(read) / len(read) if read else None

    def give_up(self) -> None:
        """End the answers in progress: they will not be completed."""
        self.ending = self.ending or {"error": "", "given_up": True}
        for speech in self.speeches.values():
            if speech.ended_at is None:
                speech.ended_at, speech.failed = self.at, True

    def take(self, events: Iterable[Mapping[str, Any]]) -> bool:
        """Apply events; return whether there were any. An event of kind `row` starts the row
        again."""
        is_any = False
        for event in events:
            is_any, self.at = True, event["at"]
            # a full disk may have lost the beginning
            if event["kind"] == "asked" or event.get("call") in (None, *self.speeches):
                match event["kind"]:
                    case "row":
                        self.pair_id, self.pert, self.gene = (
                            event["pair_id"],
                            event["pert"],
                            event["gene"],
                        )
                        self.begun_at, self.ending = None, None
                        self.cards.clear()
                        self.speeches.clear()
                    case "tool":
                        self.begun_at = self.begun_at or event["at"]
                        item = event["item"]
                        self.cards.setdefault((item["tool"], item["key"]), item)
                    case "asked":
                        self.begun_at = self.begun_at or event["at"]
                        self.speeches[event["call"]] = Speech(
                            event["stage"],
                            event["role"],
                            event["seed"],
                            event["streams"],
                            event["at"],
                        )
                    case "ended":
                        self.ending = event
                        if event.get("given_up"):
                            self.give_up()
                    case "read" | "rejected":
                        _take_reading(self, event)
                    case _:
                        _take_text(self.speeches[event["call"]], event)
        return is_any


def _take_text(speech: Speech, event: Mapping[str, Any]) -> None:
    """Apply an event about the text of an answer: further words, its end, or its failure."""
    if event["kind"] == "answered":
        speech.content, speech.ended_at = event["content"], event["at"]
        speech.tokens, speech.cached = event["tokens"], event["cached"]
        return
    if event["kind"] == "failed":
        speech.error, speech.failed, speech.ended_at, speech.tokens = (
            event["why"],
            True,
            event["at"],
            0,
        )
        return
    if event["attempt"] != speech.attempt:  # the text so far was not an answer
        speech.attempt, speech.content, speech.reasoning, speech.pieces = (
            event["attempt"],
            "",
            "",
            0,
        )
    if event.get("is_anew"):  # the text taken for the answer was thinking
        speech.content = speech.reasoning = ""
    speech.content = _end_of(speech.content + event["content"])
    speech.reasoning = _end_of(speech.reasoning + event["reasoning"])
    speech.pieces += 1


def _end_of(text: str) -> str:
    """Return the end of a text in progress, since it is sent and drawn again with every word."""
    return text if len(text) <= MOST_WRITTEN else f"…{text[1 - MOST_WRITTEN :]}"


def _take_reading(row: LiveRow, event: Mapping[str, Any]) -> None:
    """Apply what was read in the latest answer of a stage, role and seed, or why it is asked for
    once more."""
    where = (event["stage"], event["role"], event["seed"])
    speech = next(
        (s for s in reversed(row.speeches.values()) if (s.stage, s.role, s.seed) == where), None
    )
    if speech is None:
        return
    if event["kind"] == "rejected":
        speech.error = _AGAIN + event["why"]
    # no number is read in a brief, although it is asked for once more
    elif event["role"] not in SIDES.get(event["stage"], ()):
        speech.p, speech.error = event["p"], "" if event["p"] is not None else _UNREAD


def of_store(
    numbers: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]],
    dossier: Sequence[Mapping[str, Any]],
) -> LiveRow:
    """Return a complete row from the store's tables: `predictions.row`, `traces.of_row`,
    `evidence.of_row`."""
    row = LiveRow(numbers["pair_id"], numbers["pert"], numbers["gene"])
    row.cards = {(item["tool"], item["key"]): item for item in dossier}
    for place, event in enumerate(events):
        meta, tokens = event["meta"], event["tokens"] or 0
        row.speeches[place] = speech = Speech(
            *(event["stage"], event["role"], meta.get("seed", 0), False, 0.0, event["content"]),
            ended_at=(event["latency_ms"] or 0.0) / 1000,
            tokens=tokens,
            p=meta.get("p"),
        )
        if event["kind"] == "rejected":
            speech.error = f"{_AGAIN}{meta.get('why', '')}"
        elif event["kind"] == "verdict" and speech.p is None and "p" in meta:
            speech.error = _UNREAD
    row.ending = {
        "error": numbers["error"] or "",
        "flags": list(numbers["flags"] or ()),
        **{name: numbers[name] for name in ("p_de", "p_up_given_de", "tokens")},
    }
    return row


_LONGEST_LINE = 160  # characters of a card's text: all of it is in Rows
_LONGEST_TEXT = 100_000  # characters of an answer
_SIMULATED = '<span class="ask-tag">simulated</span>'


def draw_pair(row: LiveRow) -> str:
    """Return the pair, for a row of a dataset."""
    return _div("pair", f"<i>{html.escape(row.pert)}</i> ⟶ <i>{html.escape(row.gene)}</i>")


def draw_numbers(row: LiveRow, simulated: bool) -> str:
    """Return the prediction so far, the time and the tokens."""
    ending = row.ending or {}
    p_de = ending.get("p_de", row.p_of("de"))
    p_up = ending.get("p_up_given_de", row.p_of("dir"))
    shown = _number("P(DE)", p_de, drawing.EFFECT) + _number("P(up | DE)", p_up, drawing.UP)
    seconds = (
        (row.at if row.ending is not None else time.time()) - row.begun_at if row.begun_at else 0.0
    )
    facts = [f"{seconds:.1f} s"] if seconds else []
    facts += [f"{row.tokens:,} tokens"] if row.tokens else []
    return _div("numbers", shown, _div("facts", " · ".join(facts), _tag(simulated)))


def _number(name: str, p: float | None, colour: str) -> str:
    width = 0 if p is None or p != p else 100 * p
    bar = _div("bar", f'<div style="width:{width:.1f}%;background:{colour}"></div>')
    return _div("number", _div("name", name), _div("value", percent_text(p)), bar)


def draw_remarks(row: LiveRow) -> str:
    """Return the warnings about a complete row; "" if there are none."""
    ending = (row.ending or {}) if row.is_over else {}
    said = [f"This row failed: {ending['error']}"] if ending.get("error") else []
    said += [str(FLAG_NAMES.get(flag, flag)) for flag in ending.get("flags", ())]
    return "".join(map(_remark, said))


def _remark(text: str) -> str:
    return _div("remark", _colour("⚠", drawing.WARNING), " ", html.escape(text))


def draw_cards(row: LiveRow, simulated: bool) -> str:
    """Return the dossier: a card for each tool, in the order received, with its answer or why it
    has none."""
    drawn = [_card(item, simulated) for item in row.cards.values()]
    return _div("cards", *drawn) if drawn else ""


def _card(item: Mapping[str, Any], simulated: bool) -> str:
    is_ok = item["status"] == "ok"
    sign = _colour("✓", drawing.CHOSEN) if is_ok else _colour("–", drawing.NONE)
    head = _div("title", sign, f"<span>{html.escape(_title(item))}</span>", _tag(simulated))
    lines, lists = render.split_body(item["body"])
    found = " · ".join(
        [
            *(line for line in lines if line.strip()),
            *(f"{len(entries):,} entries" for entries in lists),
        ]
    )
    text = found if is_ok else "nothing found" if item["status"] == "empty" else item["status"]
    return _div(
        "card",
        head,
        _div(
            "line",
            html.escape(
                text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE].rstrip()} …"
            ),
        ),
    )


def _title(item: Mapping[str, Any]) -> str:
    """Return a tool and its query, without its label view."""
    return (
        render.card_title({**item, "key": str(item["key"]).partition(" @ ")[0]})
        .replace(" ⟶ *", "")
        .replace("* ⟶ ", "")
    )


def draw_stage(row: LiveRow, name: str, simulated: bool) -> str:
    """Return the texts of a stage: two sides beside each other, the judge below; of other methods
    all in one column."""
    speeches = [speech for speech in row.speeches.values() if speech.stage == name]
    sides = row_trace.SIDES.get(name, ())
    parts = [_div("stage-title", html.escape(row_trace.stage_title(name)))]
    if any(speech.role in sides for speech in speeches):
        columns = (
            [_speech(speech, simulated) for speech in speeches if speech.role == side]
            for side in sides
        )
        parts.append(_div("sides", *(_div("side", *column) for column in columns)))
    parts += [_speech(speech, simulated) for speech in speeches if speech.role not in sides]
    return _div("stage", *parts)


def _speech(speech: Speech, simulated: bool) -> str:
    is_written = speech.ended_at is None
    content, n = speech.content, len(speech.content)
    text = html.escape(
        content if n <= _LONGEST_TEXT else f"{content[:_LONGEST_TEXT]}… ({n:,} characters in all)"
    )
    if is_written and not speech.content:
        waiting = "asked …" if speech.streams else "its answer will come in one piece …"
        thought = f"thinking: {speech.reasoning}" if speech.reasoning else waiting
        text = f'<span class="ask-thought">{html.escape(thought)}</span>'
    number = f": {percent_text(speech.p)}" if speech.p is not None else ""
    colour = drawing.ROLE_COLOURS.get(speech.role, drawing.NONE)
    role = "Judge" if speech.role == JUDGE else speech.role
    name = f"<span>{_colour('▌', colour)}<b>{html.escape(role)}{number}</b></span>"
    facts = "no answer" if speech.failed else "from the cache" if speech.cached else ""
    head = _div("title", name, _div("facts", facts), _tag(simulated))
    return _div(
        "speech",
        head,
        _div("text", text, "▍" if is_written else ""),
        _remark(speech.error) if speech.error else "",
    )


def _tag(simulated: bool) -> str:
    return _SIMULATED if simulated else ""


def _div(kind: str, *parts: str) -> str:
    return f'<div class="ask-{kind}">{"".join(parts)}</div>'


def _colour(sign: str, colour: str) -> str:
    return f'<span style="color:{colour}">{sign}</span>'
