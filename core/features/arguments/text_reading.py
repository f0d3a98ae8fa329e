"""What all methods share that read another run's texts: a question about each item of a row, all
asked concurrently.

An item is a text, or a debate of several. Such a method predicts nothing: its rows hold only
events.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.types import Flag, Pair, RowResult, TraceEvent, row_of_reading
from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Passage
from core.llm.answers import Unread
from core.llm.messages import Reply
from core.methods.base import Context, RowText, TextsOfRun
from core.methods.conversation import (
    CallSpec,
    ConversationMethod,
    Messages,
    ReadAnswer,
    RowConversation,
    event_of,
    gather_all,
)
from core.store import Cursor, evidence
from core.store.runs import Run

# of a hash of what stands between two marks, which therefore cannot hold its own mark
_MARK_DIGITS = 8


ItemT = TypeVar("ItemT", bound=RowText | Passage)
ValueT = TypeVar("ValueT")


class TextReading(ConversationMethod, Generic[ItemT, ValueT]):
    """One question about each item of a row; items that make the same prompt are asked about
    once."""

    @abstractmethod
    def items(self, texts: Sequence[RowText], options: Mapping[str, Any]) -> Sequence[ItemT]:
        """Return what is asked about, out of the texts of a row."""

    @abstractmethod
    def rubric(self, options: Mapping[str, Any]) -> Rubric:
        """Return the rubric that is answered, which says of which texts. Raise InputError if the
        options hold none."""

    def parent(self, options: Mapping[str, Any]) -> str:
        """Return the name or id of the run whose texts are read."""
        return str(options["run"])

    def rows_with_texts(self, db: Cursor, run: Run, options: Mapping[str, Any]) -> set[str]:
        """Return the ids of the rows of a run that have a text to read. Raise InputError if none
        has."""
        rubric = self.rubric(options)
        rows = rubric_tables.rows_with_texts(db, run.id, rubric)
        if not rows:
            raise InputError(
                f"rubric {rubric.name}: run {run.name} has no {rubric.unit} that it asks about,"
                " expected one at least"
            )
        return rows

    def load_texts(
        self, db: Cursor, run: str, rows: Sequence[str], options: Mapping[str, Any]
    ) -> TextsOfRun:
        """Return the texts of these rows of a run (id), in the order of the rows, and their
        evidence if the rubric asks for the dossier."""
        rubric = self.rubric(options)
        of_row: dict[str, list[RowText]] = {row: [] for row in rows}
        frame = rubric_tables.texts(db, run, rubric)
        for pair_id, *text in frame[["pair_id", *RowText._fields]].itertuples(index=False):
            if pair_id in of_row:
                of_row[pair_id].append(RowText(*text))
        seen = evidence.of_run(db, run) if rubric.dossier else {}
        return TextsOfRun(of_row, {row: seen[row] for row in rows if row in seen})

    @abstractmethod
    def question(
        self, texts: TextsOfRun, pair: Pair, item: ItemT, options: Mapping[str, Any]
    ) -> Messages:
        """Return the question about an item."""

    @abstractmethod
    def read_reply(self, reply: Reply, item: ItemT, options: Mapping[str, Any]) -> ValueT | Unread:
        """Return what a reply says about an item."""

    @abstractmethod
    def ask_again(self, problem: Unread, options: Mapping[str, Any]) -> str:
        """Return the second request, with the reason why the first answer was rejected."""

    @abstractmethod
    def meta(self, item: ItemT, value: ValueT) -> Mapping[str, object]:
        """Return what the meta of a reading holds beside `of_seq`."""

    def findings(
        self, _item: ItemT, _value: ValueT, _options: Mapping[str, Any]
    ) -> Iterable[TraceEvent]:
        """Return the events that come behind a reading."""
        return ()

    def row_prompts(
        self, texts: TextsOfRun, pair: Pair, options: Mapping[str, Any]
    ) -> list[Messages]:
        """Return the questions about a row's items."""
        return [
            self.question(texts, pair, item, options)
            for item in self.items(texts.of_row[pair.pair_id], options)
        ]

    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Ask about every item of the row. One whose answer cannot be read has an event that says
        so, and flags the row."""
        assert context.texts is not None
        options = context.options
        items, prompts = (
            self.items(context.texts.of_row[pair.pair_id], options),
            self.row_prompts(context.texts, pair, options),
        )
        distinct = dict(zip(prompts, items, strict=True))

        async def ask(prompt: Messages, item: ItemT) -> ReadAnswer[ValueT]:
            return await conversation.read(
                _call_of(item, context),
                prompt,
                lambda reply: self.read_reply(reply, item, options),
                lambda problem: self.ask_again(problem, options),
            )

        found = await gather_all(*(ask(prompt, item) for prompt, item in distinct.items()))
        answers = dict(zip(distinct, found, strict=True))
        events = list[TraceEvent]()
        for item, prompt in zip(items, prompts, strict=True):
            spec, answer = _call_of(item, context), answers[prompt]
            events += (
                event._replace(stage=spec.stage, role=spec.role) for event in answer.rejected
            )
            events += self._events(item, spec, answer, options)
        unread = any(isinstance(answer.value, Unread) for answer in found)
        row = row_of_reading(pair.pair_id, (Flag.UNREAD,) if unread else (), conversation.tokens)
        return RowResult(row, tuple(events), (), conversation.calls)

    def _events(
        self, item: ItemT, spec: CallSpec, answer: ReadAnswer[ValueT], options: Mapping[str, Any]
    ) -> Iterator[TraceEvent]:
        value = answer.value
        meta = {"unread": value.reason} if isinstance(value, Unread) else self.meta(item, value)
        yield event_of(spec, "reading", answer.reply, of_seq=item.seq, **meta)
        if not isinstance(value, Unread):
            yield from self.findings(item, value, options)


def mark(text: str) -> str:
    """Return the mark between which a text of others stands in a prompt: it cannot end itself and
    go on as the question."""
    return sha256_of(text)[:_MARK_DIGITS]


def _call_of(item: RowText | Passage, context: Context) -> CallSpec:
    options = context.options
    by_logprobs = options.get("answers") == "logprobs"
    return CallSpec(
        item.stage, item.role, context.seed, options["max_tokens"], options["effort"], by_logprobs
    )
