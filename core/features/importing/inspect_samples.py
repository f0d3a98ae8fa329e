"""One sample of a log of Inspect AI: the row that it is, or why it is none.

Its id is the row's, unless its metadata hold a pair_id. Its numbers are those of the first of these
that has prediction_up and prediction_down, or p_de and p_up_given_de: the values of its scores,
their metadata, its own metadata, the answer as a JSON object. Without any, the answer's text is
read as that of a run made here (`core.llm.answers`), else the answer that a scorer extracted; a
letter means the choice of that letter if the sample has choices. A sample without any has
.333/.333, which is flagged. One that failed, was invalidated or cut off, or whose answer did not
end, is rejected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Literal, TypeGuard

from core.base.row_schema import FILE_SUM_TOLERANCE, MOST_EVENTS, MOST_TOKENS
from core.base.texts import parse_json, quote, replace_surrogates
from core.base.types import Flag, Label, Prediction, Rejected, RowResult, TraceEvent
from core.features.importing.packaged_trace import KEY, PackagedTrace, read_trace
from core.features.importing.submissions import (
    check_packaged,
    is_uniform,
    reads_otherwise,
    split_sum,
)
from core.llm.answers import LABELS, read_label, read_option
from core.llm.completion import Ending, ending_of, part_thinking, read_parts

JsonObject = dict[str, Any]
_CERTAIN = {Label.UP: (1.0, 0.0), Label.DOWN: (0.0, 1.0), Label.NONE: (0.0, 0.0)}
_FENCE = re.compile(r"```\w*\s*\n(.*)\n\s*```", re.DOTALL)
# message → kind of event
_ROLES = {"system": "text", "user": "text", "assistant": "answer", "tool": "observation"}
_LARGEST = 1e9  # of a number that can be meant as a prediction, right or wrong
_ROUNDED = 0.005  # by which a number may differ from the text it was taken from
_ATTACHMENT = re.compile(r"attachment://(\w+)")


class Sample:
    """One sample of a log. packaged: its trace, if it was written here."""

    def __init__(self, value: JsonObject, where: str, line: int) -> None:
        self.value, self.where, self.line = value, where, line
        self.metadata = as_object(value.get("metadata"))
        self.pair_id = replace_surrogates(str(self.metadata.get("pair_id", value.get("id", ""))))
        self.attachments = as_object(value.get("attachments"))
        packaged = as_object(self.metadata.get(KEY))
        self.packaged: PackagedTrace | None = read_trace(packaged) if packaged else None

    def reject(self, reason: Any, detail: str) -> Rejected:
        return Rejected(self.where, self.line, reason, detail)

    def read(self) -> RowResult | Rejected:
        """Return the row, or its rejection."""
        error = self._error()
        if error:
            return self.reject(
                "not a number",
                f"{quote(self.pair_id)} failed ({quote(error, 200)}), expected a prediction",
            )
        refusal = self._refusal()
        if refusal:
            return self.reject(
                "not answered", f"{quote(self.pair_id)}: {refusal}, expected an answer that ended"
            )
        # as they stand in the sample
        found = next(filter(None, map(numbers_in, self._holders())), None)
        is_stated = found is not None
        if found is None:
            said = next(self._labels(), None)
            if said is not None and self._ending() not in ("whole", ""):
                ended = (
                    f"its answer ended with {quote(self._stop_reason())}, which is not known to be"
                    " whole"
                )
                return self.reject("not answered", f"{quote(self.pair_id)}: {ended}")
            found = _CERTAIN[said] if said is not None else (1 / 3, 1 / 3)
        if not all(_is_between(n, -_LARGEST, _LARGEST) for n in found):
            return self.reject(
                "not a number",
                f"prediction_up {found[0]!r}, prediction_down {found[1]!r}, expected two numbers",
            )
        up, down = map(float, found)
        if not (0 <= up <= 1 and 0 <= down <= 1 and up + down <= 1 + FILE_SUM_TOLERANCE):
            return self.reject(
                "out of range",
                f"prediction_up {up:g}, prediction_down {down:g}, expected a sum of at most 1",
            )
        if self.packaged is not None:
            return RowResult(
                check_packaged(self.packaged.prediction(self.pair_id, up, down)),
                self.packaged.events,
            )
        flags = (Flag.UNIFORM,) if is_uniform(up, down) else ()
        if is_stated and self._answers_otherwise(up, down):
            flags = (*flags, Flag.ANSWER_DIFFERS)
        numbers = (self.pair_id, up, down, *split_sum(up, down))
        return RowResult(Prediction(*numbers, "file", flags, *self._usage()), tuple(self._events()))

    def _error(self) -> str:
        """Return the error of the sample or of its model's call, or ""."""
        error = self.value.get("error") or as_object(self.value.get("output")).get("error")
        return str(as_object(error).get("message") or error) if error else ""

    def _refusal(self) -> str:
        """Return why the sample is not an answer: it was invalidated, cut off, or its answer was;
        "" if it is one."""
        limit = self.value.get("limit")
        if self.value.get("invalidation"):
            reason = as_object(self.value["invalidation"]).get("reason")
            return f"was invalidated ({quote(str(reason), 200)})" if reason else "was invalidated"
        if limit:
            named = as_object(limit)
            number = f" ({named['limit']})" if named.get("limit") is not None else ""
            return f"was stopped by its limit of {named.get('type', limit)}{number}"
        if self._ending() in ("cut", "declined", "failed"):
            return f"its answer ended with {quote(self._stop_reason())}"
        return ""

    def _choice(self) -> Mapping[str, Any]:
        """Return the first answer with how it ended, empty if there is none."""
        choices = as_object(self.value.get("output")).get("choices")
        return as_object(choices[0]) if isinstance(choices, list) and choices else {}

    def _stop_reason(self) -> str:
        return str(self._choice().get("stop_reason") or "")

    def _ending(self) -> Ending | Literal[""]:
        """Return how the answer ended, "" if the sample does not say."""
        return ending_of(self._stop_reason()) if self._stop_reason() else ""

    @property
    def scorers_disagree(self) -> bool:
        """Whether two scorers give other numbers, or name other labels for the answer than each
        other or the text."""
        numbers = {
            (round(up, 3), round(down, 3))
            for score in self._scores()
            for up, down in _numbers_of_score(score)
        }
        return len(numbers) > 1 or len(set(self._labels())) > 1

    def _answers_otherwise(self, up: float, down: float) -> bool:
        """Return whether the answer's text states other numbers than these, or ends in another
        label than they are certain of."""
        stated = numbers_in(self._answer_fields())
        if stated is not None and all(_is_between(n, 0, 1) for n in stated):
            return bool(max(abs(stated[0] - up), abs(stated[1] - down)) > _ROUNDED)
        if not self.value.get("choices"):
            return bool(reads_otherwise(self._answer(), up, down))
        said = read_option(self._answer(), self._classes())
        return (
            isinstance(said, Label)
            and (up, down) in _CERTAIN.values()
            and _CERTAIN[said] != (up, down)
        )

    def _scores(self) -> list[Mapping[str, Any]]:
        return [as_object(score) for score in as_object(self.value.get("scores")).values()]

    def _holders(self) -> Iterator[Mapping[str, Any]]:
        """Yield the places where numbers may stand."""
        for score in self._scores():
            yield as_object(score.get("value"))
            yield as_object(score.get("metadata"))
        yield self.metadata
        yield self._answer_fields()

    def _answer_fields(self) -> Mapping[str, Any]:
        """Return the answer as a JSON object, empty if it is none."""
        fenced = _FENCE.fullmatch(self._answer().strip())
        try:
            return as_object(parse_json(fenced[1] if fenced else self._answer()))
        except ValueError:
            return {}

    def _labels(self) -> Iterator[Label]:
        """Yield the labels that can be read in the answer, then in what each scorer takes for
        it."""
        classes = self._classes()
        answers = [score.get("answer") for score in self._scores()]
        for text in (
            self._answer(),
            *(f"<answer>{answer}</answer>" for answer in answers if isinstance(answer, str)),
        ):
            found = read_option(text, classes)
            if isinstance(found, Label):
                yield found

    def _classes(self) -> Mapping[str, Label]:
        """Return what may be written → label: of a multiple choice, the letters of its choices."""
        choices = self.value.get("choices")
        if not isinstance(choices, list) or not choices:
            return LABELS
        words = [read_label(f"<answer>{text}</answer>") for text in choices]
        letters = {
            letter: word
            for letter, word in zip(ascii_uppercase, words, strict=False)
            if isinstance(word, Label)
        }
        return {**{name: label for name, label in LABELS.items() if len(name) > 1}, **letters}

    def _answer(self) -> str:
        """Return the final text of the answer, "" if there is none."""
        message, output = (
            as_object(self._choice().get("message")),
            as_object(self.value.get("output")),
        )
        content = message.get("content", output.get("completion", ""))
        parts = read_parts(content)
        text = self._text(content if parts is None else parts.text or "")
        return part_thinking(text).text or ""

    def _usage(self) -> tuple[int | None, int | None]:
        """Return tokens in all and in prompts, over the models that count them."""
        used = [as_object(each) for each in as_object(self.value.get("model_usage")).values()]
        sums = [[each.get(name) for each in used] for name in ("total_tokens", "input_tokens")]
        tokens, prompt = (_sum(counts) for counts in sums)
        return tokens, prompt

    def _events(self) -> list[TraceEvent]:
        """Return the messages in order; a model's call of tools is a separate step."""
        events: list[TraceEvent] = []
        messages = self.value.get("messages")
        for message in map(as_object, messages if isinstance(messages, list) else []):
            role = str(message.get("role", ""))
            thought, text = self._split_reasoning(message.get("content"))
            calls = message.get("tool_calls")
            asked = [as_object(call) for call in calls] if isinstance(calls, list) else []
            if thought:
                events.append(TraceEvent("inspect", role.upper(), "thought", thought))
            if text or not (asked or thought):
                speaker = str(message.get("function") or role) if role == "tool" else role
                events.append(
                    TraceEvent("inspect", speaker.upper(), _ROLES.get(role, "text"), text)
                )
            for call in asked:
                arguments = json.dumps(call.get("arguments"), ensure_ascii=False)
                events.append(
                    TraceEvent(
                        "inspect",
                        str(call.get("function", "tool")),
                        "tool_call",
                        replace_surrogates(arguments),
                    )
                )
        return [
            event._replace(role=replace_surrogates(event.role)) for event in events[:MOST_EVENTS]
        ]

    def _split_reasoning(self, content: Any) -> tuple[str, str]:
        """Return a model's thinking, "" if the log has none separately, and its text."""
        parts = content if isinstance(content, list) else []
        reasoning = [part for part in parts if as_object(part).get("type") == "reasoning"]
        if not reasoning:
            return "", self._text(content)
        return self._text(reasoning), self._text([part for part in parts if part not in reasoning])

    def _text(self, content: Any) -> str:
        """Return the text of a message: itself, or that of its parts; attachments are put in their
        places."""
        if isinstance(content, list):
            parts = [as_object(part) for part in content]
            content = "\n\n".join(
                str(part.get("text") or part.get("reasoning") or f"({part.get('type', 'part')})")
                for part in parts
            )
        text = content if isinstance(content, str) else ""
        return replace_surrogates(
            _ATTACHMENT.sub(lambda found: str(self.attachments.get(found[1], found[0])), text)
        )


def numbers_in(holder: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return prediction_up and prediction_down of a mapping, or what follows from its
    probabilities; None if it has neither."""
    if {"prediction_up", "prediction_down"} <= set(holder):
        return holder["prediction_up"], holder["prediction_down"]
    p_de, p_up = holder.get("p_de"), holder.get("p_up_given_de")
    if not (_is_between(p_de, -_LARGEST, _LARGEST) and _is_between(p_up, -_LARGEST, _LARGEST)):
        return None
    # Numbers that are not probabilities are passed on, so that they are rejected as such.
    return (p_de * p_up, p_de * (1 - p_up)) if 0 <= p_de <= 1 and 0 <= p_up <= 1 else (p_de, p_up)


def _numbers_of_score(score: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the two numbers of a score, of its value or else of its metadata; none if it has
    none."""
    found = numbers_in(as_object(score.get("value"))) or numbers_in(
        as_object(score.get("metadata"))
    )
    return (
        [found]
        if found is not None and all(_is_between(n, -_LARGEST, _LARGEST) for n in found)
        else []
    )


def _sum(counts: Sequence[Any]) -> int | None:
    """Return the sum of counts; None without any, or if one is unknown or more than a model can
    have used."""
    known = [count for count in counts if type(count) is int and 0 <= count <= MOST_TOKENS]
    total = sum(known)
    return total if known and len(known) == len(counts) and total <= MOST_TOKENS else None


def _is_between(value: Any, low: float, high: float) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
