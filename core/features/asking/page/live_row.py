"""A row in progress, read from its worker's events (`core.methods.row_feed`) or from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.scoring.row_trace import SIDES

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
                _take(self, event)
        return is_any


def _take(row: LiveRow, event: Mapping[str, Any]) -> None:
    """Apply an event of a kind that a worker writes."""
    match event["kind"]:
        case "row":
            row.pair_id, row.pert, row.gene = event["pair_id"], event["pert"], event["gene"]
            row.begun_at, row.ending = None, None
            row.cards.clear()
            row.speeches.clear()
        case "tool":
            row.begun_at = row.begun_at or event["at"]
            item = event["item"]
            row.cards.setdefault((item["tool"], item["key"]), item)
        case "asked":
            row.begun_at = row.begun_at or event["at"]
            row.speeches[event["call"]] = Speech(
                event["stage"], event["role"], event["seed"], event["streams"], event["at"]
            )
        case "ended":
            row.ending = event
            if event.get("given_up"):
                row.give_up()
        case "read" | "rejected":
            _take_reading(row, event)
        case _:
            _take_text(row.speeches[event["call"]], event)


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
        speech = Speech(
            event["stage"],
            event["role"],
            event["meta"].get("seed", 0),
            False,
            0.0,
            event["content"],
        )
        speech.ended_at, speech.tokens, speech.p = (
            (event["latency_ms"] or 0.0) / 1000,
            event["tokens"] or 0,
            event["meta"].get("p"),
        )
        if event["kind"] == "rejected":
            speech.error = f"{_AGAIN}{event['meta'].get('why', '')}"
        elif event["kind"] == "verdict" and speech.p is None and "p" in event["meta"]:
            speech.error = _UNREAD
        row.speeches[place] = speech
    row.ending = {
        "error": numbers["error"] or "",
        "flags": list(numbers["flags"] or ()),
        **{name: numbers[name] for name in ("p_de", "p_up_given_de", "tokens")},
    }
    return row
