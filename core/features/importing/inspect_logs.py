"""Logs of Inspect AI (.eval): a zip of header.json and one samples/ID_epoch_N.json a row, read as
the rows of a run, and written. Inspect also writes logs as one JSON object.

A sample's id is the row's, unless its metadata hold a pair_id. Its numbers are those of the first
of these that has prediction_up and prediction_down, or p_de and p_up_given_de: the values of its
scores, their metadata, its own metadata, the answer as a JSON object. Without any, the answer's
text is read as that of a run made here (`core.llm.answers`), else the answer that a scorer
extracted; a letter means the choice of that letter if the sample has choices. A sample without any
has .333/.333, which is flagged. One that failed, was invalidated or cut off, or whose answer did
not end, is rejected. Of several epochs the mean is taken.

The trace of a log that was written here stands in the metadata whole
(`core.features.importing.traces`); that of any other is its messages.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, TypeGuard

from core.base.archives import DAMAGE, Content, is_zip, iterate_members, open_archive, open_content
from core.base.errors import InputError, UnsafeFile
from core.base.row_schema import FILE_SUM_TOLERANCE, MOST_EVENTS, MOST_TOKENS
from core.base.texts import parse_json, quote, replace_surrogates
from core.base.types import Flag, Label, Prediction, Rejected, RowResult, TraceEvent
from core.features.importing.submissions import (
    CERTAIN,
    SubmissionTable,
    check_packaged,
    describe_differing,
    is_uniform,
    split_sum,
)
from core.features.importing.traces import KEY, PackagedTrace, read_trace
from core.llm.answers import LABELS, read_label, read_option
from core.llm.completion import ending_of, part_thinking, read_parts
from core.runs.audited_rows import RowSpool

JsonObject = dict[str, Any]
HEADER = "header.json"
START = "_journal/start.json"  # of a log whose evaluation did not end: it has no header
VERSION = 2  # of the format
SAMPLE = re.compile(r"samples/.+_epoch_(\d+)\.json", re.DOTALL)
UNKNOWN_METHOD = "inspect"
_MOST_JSON_BYTES = 1 << 26  # of a member: as values it takes twenty times as much
_MOST_HEAD = 1 << 16  # bytes in which a log in JSON says that it is one
_FENCE = re.compile(r"```\w*\s*\n(.*)\n\s*```", re.DOTALL)
# message → kind of event
_ROLES = {"system": "text", "user": "text", "assistant": "answer", "tool": "observation"}
_LARGEST = 1e9  # of a number that can be meant as a prediction, right or wrong
_ATTACHMENT = re.compile(r"attachment://(\w+)")


def is_log(content: Content) -> bool:
    """Return whether a file is a log: the zip of a .eval, or one JSON object with the same in
    it."""
    if not is_zip(content):
        head = open_content(content).read(_MOST_HEAD).lstrip(b"\xef\xbb\xbf \r\n\t")
        return head.startswith(b"{") and b'"eval"' in head and b'"status"' in head
    names = _names_in(content)
    return bool({*names} & {HEADER, START}) and any(map(SAMPLE.fullmatch, names))


def _names_in(content: Content) -> list[str]:
    try:
        return open_archive(open_content(content), "zip").namelist()
    except DAMAGE:
        return []


def read_log(
    content: Content, name: str, sha256: str, spool: RowSpool | None = None
) -> SubmissionTable:
    """Return the rows of a log, one an id; line: the number in the file of its first sample. Raise
    InputError or UnsafeFile.

    spool: as in `core.features.importing.submissions.read_submission`.
    """
    rows: list[RowResult] = []
    rejected: list[Rejected] = []
    waiting: dict[str, list[tuple[int, RowResult]]] = {}  # rows by id, where there are epochs
    lines: dict[str, dict[int, int]] = {}  # id → epoch → line
    methods, head, number, differing = Counter[str](), JsonObject(), 0, list[str]()
    take = rows.append if spool is None else spool.add
    epochs = [SAMPLE.fullmatch(path) for path in _names_in(content)] if is_zip(content) else [None]
    is_single = all(match[1] == "1" for match in epochs if match) and epochs != [None]
    for path, value in _members(content, name):
        if path in (HEADER, START):
            head = value if path == HEADER or not head else head
            continue
        number += 1
        sample = _Sample(value, f"{name}/{path}", number)
        # where all are called the first epoch they are, whatever they say
        epoch = 1 if is_single else value.get("epoch", 1)
        if not isinstance(epoch, int):
            said = f"epoch {quote(str(epoch))}, expected a whole number"
            rejected.append(sample.reject("no epoch", said))
            continue
        seen = lines.setdefault(sample.pair_id, {})
        if epoch in seen:
            said = f"{quote(sample.pair_id)} is in sample {seen[epoch]} already"
            rejected.append(sample.reject("duplicate", said))
            continue
        seen[epoch] = number
        row = sample.read()
        if isinstance(row, Rejected):
            rejected.append(row)
            continue
        methods.update([sample.packaged.method] if sample.packaged else [])
        differing += [sample.pair_id] if Flag.ANSWER_DIFFERS in row.prediction.flags else []
        waiting.setdefault(sample.pair_id, []).append((number, row))
        if is_single:  # nothing more comes of this id: its texts need not wait in memory
            take(row)
            waiting[sample.pair_id] = [(number, replace(row, events=()))]
    for pair_id, found in waiting.items():
        if not is_single:
            n = len(lines[pair_id])
            take(_mean_of([row for _, row in found], n) if n > 1 else found[0][1])
    spec = as_object(head.get("eval"))
    track = as_object(as_object(spec.get("metadata")).get(KEY)).get("track")
    model = str(spec.get("model", ""))
    status = str(head.get("status", ""))
    most = max(map(len, lines.values()), default=1)
    remarks = (
        f"the evaluation ended as {status!r}: rows may be missing"
        if status not in ("", "success")
        else "",
        f"up to {most} epochs a row, averaged" if most > 1 else "",
        describe_differing(differing),
    )
    return SubmissionTable(
        "inspect_log",
        track if track in ("A", "B", "C") else "C",  # files of C say least
        methods.most_common(1)[0][0] if methods else UNKNOWN_METHOD,
        "" if model.startswith("none/") else replace_surrogates(model),
        tuple(rows),
        lines=tuple(found[0][0] for found in waiting.values()),
        rejected=tuple(rejected),
        sha256=sha256,
        remark="; ".join(filter(None, remarks)),
    )


def _members(content: Content, name: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the header and the samples of a log, each with its path in the zip, or what that would
    be."""
    if is_zip(content):
        for path, data in iterate_members(
            content, name, lambda path: path in (HEADER, START) or bool(SAMPLE.fullmatch(path))
        ):
            yield path, _parse(data, f"{name}/{path}")
        return
    whole = _parse(open_content(content).read(_MOST_JSON_BYTES + 1), name)
    yield HEADER, {key: value for key, value in whole.items() if key != "samples"}
    for each in map(as_object, _as_list(whole.get("samples"))):
        yield f"samples/{each.get('id')}_epoch_{each.get('epoch', 1)}.json", dict(each)


def _parse(data: bytes, where: str) -> JsonObject:
    if len(data) > _MOST_JSON_BYTES:
        raise UnsafeFile(f"{where}: {len(data):,} bytes, expected at most {_MOST_JSON_BYTES:,}")
    try:
        value = parse_json(data)
    except ValueError as error:
        raise InputError(f"{where}: cannot be read as JSON ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: {type(value).__name__}, expected a JSON object")
    return value


def _mean_of(rows: Sequence[RowResult], epochs: int) -> RowResult:
    """Return the mean over the epochs of a row whose answers could be read, flagged if they are
    fewer than there are.

    With the events of each. Without any that could, the thirds of the first.
    """
    read = [row.prediction for row in rows if Flag.UNIFORM not in row.prediction.flags]
    numbers = read or [rows[0].prediction]
    up = sum(one.prediction_up for one in numbers) / len(numbers)
    down = sum(one.prediction_down for one in numbers) / len(numbers)
    said = f"Mean over {len(read)} of {epochs} epochs: up {up:.6f}, down {down:.6f}."
    meta = {"read": len(read), "asked": epochs}
    mean = TraceEvent("mean", "MEAN", "arithmetic", said, 0, meta=meta)
    events = [
        event._replace(stage=f"epoch {n}") for n, row in enumerate(rows, 1) for event in row.events
    ]
    flags = tuple(dict.fromkeys(flag for one in numbers for flag in one.flags))
    flags = (*flags, Flag.FEWER_SEEDS) if 0 < len(read) < epochs else flags
    tokens = _sum([row.prediction.tokens for row in rows])
    prompts = _sum([row.prediction.prompt_tokens for row in rows])
    numbers_of_row = (numbers[0].pair_id, up, down, *split_sum(up, down))
    prediction = Prediction(*numbers_of_row, "file", flags, tokens, prompts)
    return RowResult(prediction, (*events[: MOST_EVENTS - 1], mean))


class _Sample:
    """One sample of a log. packaged: its trace, if it was written here."""

    def __init__(self, value: JsonObject, where: str, line: int) -> None:
        self.value, self.where, self.line = value, where, line
        self.metadata = as_object(value.get("metadata"))
        self.pair_id = replace_surrogates(str(self.metadata.get("pair_id", value.get("id", ""))))
        self.packaged: PackagedTrace | None = read_trace(as_object(self.metadata.get(KEY)))
        self._output = as_object(value.get("output"))
        choices = _as_list(self._output.get("choices"))
        self._choice = as_object(choices[0]) if choices else {}  # the first answer
        self._stop_reason = str(self._choice.get("stop_reason") or "")
        self._scores = [*map(as_object, as_object(value.get("scores")).values())]
        words = [read_label(f"<answer>{text}</answer>") for text in _as_list(value.get("choices"))]
        letters = {
            letter: word
            for letter, word in zip(ascii_uppercase, words, strict=False)
            if isinstance(word, Label)
        }
        long = {name: label for name, label in LABELS.items() if len(name) > 1}
        # what may be written → label: of a multiple choice, the letters of its choices
        self._classes = {**long, **letters} if words else LABELS

    def reject(self, reason: Any, detail: str) -> Rejected:
        return Rejected(self.where, self.line, reason, detail)

    def read(self) -> RowResult | Rejected:
        """Return the row, or its rejection."""
        key = quote(self.pair_id)
        error = self.value.get("error") or self._output.get("error")
        if error:
            said = quote(str(as_object(error).get("message") or error), 200)
            return self.reject("not a number", f"{key} failed ({said}), expected a prediction")
        if refusal := self._refusal():
            return self.reject("not answered", f"{key}: {refusal}, expected an answer that ended")
        stated = next(filter(None, map(numbers_in, self._holders())), None)
        label = next(filter(None, self._labels()), None)
        if stated is None and label is not None and self._ends_as("unknown"):
            said = f"its answer ended with {quote(self._stop_reason)}"
            return self.reject("not answered", f"{key}: {said}, which is not known to be whole")
        up, down = stated or (CERTAIN[label] if label else (1 / 3, 1 / 3))
        if not (_is_number(up) and _is_number(down)):
            numbers = f"prediction_up {up!r}, prediction_down {down!r}"
            return self.reject("not a number", f"{numbers}, expected two numbers")
        if not (0 <= up <= 1 and 0 <= down <= 1 and up + down <= 1 + FILE_SUM_TOLERANCE):
            numbers = f"prediction_up {up:g}, prediction_down {down:g}"
            return self.reject("out of range", f"{numbers}, expected a sum of at most 1")
        if self.packaged is not None:
            packaged = self.packaged.prediction(self.pair_id, float(up), float(down))
            return RowResult(check_packaged(packaged), self.packaged.events)
        flags = (Flag.UNIFORM,) if is_uniform(up, down) else ()
        written = read_option(self._answer(), self._classes)
        if isinstance(written, Label) and (up, down) in {*CERTAIN.values()} - {CERTAIN[written]}:
            flags = (*flags, Flag.ANSWER_DIFFERS)
        usage = [*map(as_object, as_object(self.value.get("model_usage")).values())]
        tokens, prompts = (
            _sum([each.get(name) for each in usage]) for name in ("total_tokens", "input_tokens")
        )
        numbers_of_row = (self.pair_id, float(up), float(down), *split_sum(up, down))
        row = Prediction(*numbers_of_row, "file", flags, tokens, prompts)
        return RowResult(row, tuple(self._events())[:MOST_EVENTS])

    def _ends_as(self, *endings: str) -> bool:
        """Return whether the answer ended in one of these ways; not if the sample does not say."""
        return bool(self._stop_reason) and ending_of(self._stop_reason) in endings

    def _refusal(self) -> str:
        """Return why the sample is not an answer: it was invalidated, cut off, or its answer was;
        "" if it is one."""
        if invalid := self.value.get("invalidation"):
            reason = as_object(invalid).get("reason")
            return f"was invalidated ({quote(str(reason), 200)})" if reason else "was invalidated"
        if limit := self.value.get("limit"):
            named = as_object(limit)
            number = f" ({named['limit']})" if named.get("limit") is not None else ""
            return f"was stopped by its limit of {named.get('type', limit)}{number}"
        if self._ends_as("cut", "declined", "failed"):
            return f"its answer ended with {quote(self._stop_reason)}"
        return ""

    def _holders(self) -> Iterator[Mapping[str, Any]]:
        """Yield the places where numbers may stand."""
        for score in self._scores:
            yield as_object(score.get("value"))
            yield as_object(score.get("metadata"))
        yield self.metadata
        answer = self._answer().strip()
        fenced = _FENCE.fullmatch(answer)
        try:
            yield as_object(parse_json(fenced[1] if fenced else answer))
        except ValueError:  # prose
            return

    def _labels(self) -> Iterator[Label | None]:
        """Yield the label that can be read in the answer, then in what each scorer takes for
        it."""
        answers = (score.get("answer") for score in self._scores)
        taken = (f"<answer>{text}</answer>" for text in answers if isinstance(text, str))
        for text in (self._answer(), *taken):
            found = read_option(text, self._classes)
            yield found if isinstance(found, Label) else None

    def _answer(self) -> str:
        """Return the final text of the answer, "" if there is none."""
        message = as_object(self._choice.get("message"))
        _, text = self._texts(message.get("content", self._output.get("completion", "")))
        return part_thinking(text).text or ""

    def _events(self) -> Iterator[TraceEvent]:
        """Yield the messages in order; a model's call of tools is a separate step."""
        for message in map(as_object, _as_list(self.value.get("messages"))):
            role = str(message.get("role", ""))
            thought, text = self._texts(message.get("content"))
            calls = [*map(as_object, _as_list(message.get("tool_calls")))]
            if thought:
                yield self._event(role.upper(), "thought", thought)
            if text or not (calls or thought):
                speaker = str(message.get("function") or role) if role == "tool" else role
                yield self._event(speaker.upper(), _ROLES.get(role, "text"), text)
            for call in calls:
                arguments = json.dumps(call.get("arguments"), ensure_ascii=False)
                yield self._event(str(call.get("function", "tool")), "tool_call", arguments)

    def _event(self, role: str, kind: str, text: str) -> TraceEvent:
        return TraceEvent("inspect", replace_surrogates(role), kind, replace_surrogates(text))

    def _texts(self, content: Any) -> tuple[str, str]:
        """Return the thinking and the text of a message, "" where there is none; attachments are
        put in their places."""
        parts = read_parts(content)
        attachments = as_object(self.value.get("attachments"))
        thought, text = (
            _ATTACHMENT.sub(lambda found: str(attachments.get(found[1], found[0])), said or "")
            for said in ((parts.thinking, parts.text) if parts else ("", ""))
        )
        return thought, text


def numbers_in(holder: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return prediction_up and prediction_down of a mapping, or what follows from its
    probabilities; None if it has neither."""
    if {"prediction_up", "prediction_down"} <= set(holder):
        return holder["prediction_up"], holder["prediction_down"]
    p_de, p_up = holder.get("p_de"), holder.get("p_up_given_de")
    if not (_is_number(p_de) and _is_number(p_up)):
        return None
    # Numbers that are not probabilities are passed on, so that they are rejected as such.
    return (p_de * p_up, p_de * (1 - p_up)) if 0 <= p_de <= 1 and 0 <= p_up <= 1 else (p_de, p_up)


def _sum(counts: Sequence[Any]) -> int | None:
    """Return the sum of counts; None without any, or if one is unknown or more than a model can
    have used."""
    known = [count for count in counts if type(count) is int and 0 <= count <= MOST_TOKENS]
    total = sum(known)
    return total if known and len(known) == len(counts) and total <= MOST_TOKENS else None


def _is_number(value: Any) -> TypeGuard[float]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and -_LARGEST <= value <= _LARGEST


def as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def log_members(header: JsonObject, samples: Iterable[JsonObject]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a log's zip, each with its path. header: eval, plan and what the log
    ends with."""
    yield START, _as_bytes({"version": VERSION, "eval": header["eval"], "plan": header["plan"]})
    summaries = []
    for each in samples:
        names = ("id", "epoch", "input", "target", "scores", "model_usage")
        metadata = {name: value for name, value in each["metadata"].items() if name != KEY}
        ended = {"completed": True, "message_count": len(each["messages"])}
        error = {"error": each["error"]["message"]} if "error" in each else {}
        same = {name: each[name] for name in names}
        summaries.append({**same, "metadata": metadata, **ended, **error})
        yield f"samples/{each['id']}_epoch_{each['epoch']}.json", _as_bytes(each)
    yield "summaries.json", _as_bytes(summaries)
    yield HEADER, _as_bytes({"version": VERSION, **header})


def _as_bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
