"""Logs of Inspect AI (.eval): a zip of header.json and one samples/ID_epoch_N.json a row, read as the rows of a run, and written.

A sample's id is the row's, unless its metadata hold a pair_id. Its numbers are those of the first of these that has
prediction_up and prediction_down, or p_de and p_up_given_de: the values of its scores, their metadata, the sample's metadata,
the answer as a JSON object. The answer up, down or none alone is certain. A sample without any has .333/.333, which is
flagged. The trace of a log that was written here stands in the metadata whole (`core.datasets.packaged_trace`); that of any
other is its messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from core.compressed import DAMAGE
from core.datasets.archives import Content, is_zip, iterate_members, open_archive, open_content
from core.datasets.packaged_trace import KEY, PackagedTrace, read_trace
from core.datasets.submissions import SubmissionTable, TakeRow, check_packaged, is_uniform, split_sum
from core.datasets.tables import quote
from core.errors import InputError, UnsafeFile
from core.row_schema import FILE_SUM_TOLERANCE, MOST_EVENTS, MOST_TOKENS
from core.texts import parse_json, replace_surrogates
from core.types import Flag, Prediction, Rejected, RowResult, TraceEvent

HEADER = "header.json"
START = "_journal/start.json"  # of a log whose evaluation did not end: it has no header
VERSION = 2  # of the format
_MOST_JSON_BYTES = 1 << 26  # of a member: as values it takes twenty times as much
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
UNKNOWN_METHOD = "inspect"
_CERTAIN = {"up": (1.0, 0.0), "down": (0.0, 1.0), "none": (0.0, 0.0)}
_ROLES = {"system": "text", "user": "text", "assistant": "answer", "tool": "observation"}  # message → kind of event
_LARGEST = 1e9  # of a number that can be meant as a prediction, right or wrong
_ATTACHMENT = re.compile(r"attachment://(\w+)")

JsonObject = dict[str, Any]


def is_log(content: Content) -> bool:
    """Whether a file is a log."""
    if not is_zip(content):
        return False
    try:
        names = set(open_archive(open_content(content), "zip").namelist())
    except DAMAGE:
        return False
    return bool(names & {HEADER, START}) and any(SAMPLE.fullmatch(name) for name in names)


def read_log(content: Content, name: str, sha256: str, take: TakeRow | None = None) -> SubmissionTable:
    """The rows of a log, one a sample; line: the sample's number in the file. Raises InputError or UnsafeFile.

    take: as in `core.datasets.submissions.read_submission`.
    """
    head: JsonObject = {}
    rows: list[RowResult] = []
    take = take or rows.append
    rejected: list[Rejected] = []
    lines: dict[str, int] = {}
    methods: list[str] = []
    number = 0
    for path, data in iterate_members(content, name, lambda path: path in (HEADER, START) or bool(SAMPLE.fullmatch(path))):
        value = _parse(data, f"{name}/{path}")
        if path in (HEADER, START):
            head = value if path == HEADER or not head else head
            continue
        number += 1
        sample = _Sample(value, f"{name}/{path}", number)
        if sample.pair_id in lines:
            first = lines[sample.pair_id]
            rejected.append(
                sample.reject("duplicate", f"{quote(sample.pair_id)} is in sample {first} already; one epoch is read")
            )
        elif isinstance(row := sample.read(), Rejected):
            rejected.append(row)
        else:
            take(row)
            lines[sample.pair_id] = number
            methods += [sample.packaged.method] if sample.packaged else []
    spec = _object(head.get("eval"))
    model = str(spec.get("model", ""))
    return SubmissionTable(
        "inspect_log",
        _track(spec),
        max(methods, key=methods.count) if methods else UNKNOWN_METHOD,
        "" if model.startswith("none/") else replace_surrogates(model),
        tuple(rows),
        lines=tuple(lines.values()),
        rejected=tuple(rejected),
        sha256=sha256,
    )


def _track(spec: Mapping[str, Any]) -> Any:
    """The track that a log written here names, else C, whose files say least."""
    track = _object(_object(spec.get("metadata")).get(KEY)).get("track")
    return track if track in ("A", "B", "C") else "C"


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


class _Sample:
    """One sample of a log. packaged: its trace, if it was written here."""

    def __init__(self, value: JsonObject, where: str, line: int) -> None:
        self.value, self.where, self.line = value, where, line
        self.metadata = _object(value.get("metadata"))
        self.pair_id = replace_surrogates(str(self.metadata.get("pair_id", value.get("id", ""))))
        self.attachments = _object(value.get("attachments"))
        packaged = _object(self.metadata.get(KEY))
        self.packaged: PackagedTrace | None = read_trace(packaged) if packaged else None

    def reject(self, reason: Any, detail: str) -> Rejected:
        return Rejected(self.where, self.line, reason, detail)

    def read(self) -> RowResult | Rejected:
        """The row, or its rejection."""
        found = self._numbers()
        if found is None:
            error = _object(self.value.get("error")).get("message")
            if error:
                return self.reject(
                    "not a number", f"{quote(self.pair_id)} failed ({quote(str(error), 200)}), expected a prediction"
                )
            found = (1 / 3, 1 / 3)
        if not all(_is_between(n, -_LARGEST, _LARGEST) for n in found):
            return self.reject("not a number", f"prediction_up {found[0]!r}, prediction_down {found[1]!r}, expected two numbers")
        up, down = map(float, found)
        if not (0 <= up <= 1 and 0 <= down <= 1 and up + down <= 1 + FILE_SUM_TOLERANCE):
            return self.reject("out of range", f"prediction_up {up}, prediction_down {down}, expected a sum of at most 1")
        if self.packaged is not None:
            return RowResult(check_packaged(self.packaged.prediction(self.pair_id, up, down)), self.packaged.events)
        flags = (Flag.UNIFORM,) if is_uniform(up, down) else ()
        numbers = (self.pair_id, up, down, *split_sum(up, down))
        return RowResult(Prediction(*numbers, "file", flags, *self._usage()), tuple(self._events()))

    def _numbers(self) -> tuple[Any, Any] | None:
        """prediction_up and prediction_down as they stand in the sample, None if it has none."""
        for holder in self._holders():
            if {"prediction_up", "prediction_down"} <= set(holder):
                return holder["prediction_up"], holder["prediction_down"]
            p_de, p_up = holder.get("p_de"), holder.get("p_up_given_de")
            if _is_between(p_de, 0, 1) and _is_between(p_up, 0, 1):
                return p_de * p_up, p_de * (1 - p_up)
        return _CERTAIN.get(self._answer().strip(" .\n").lower())

    def _holders(self) -> Iterator[Mapping[str, Any]]:
        """The places where numbers may stand."""
        for score in _object(self.value.get("scores")).values():
            yield _object(_object(score).get("value"))
            yield _object(_object(score).get("metadata"))
        yield self.metadata
        try:
            yield _object(parse_json(self._answer()))
        except ValueError:
            return

    def _answer(self) -> str:
        output = _object(self.value.get("output"))
        choices = output.get("choices")
        message = _object(_object(choices[0]).get("message")) if isinstance(choices, list) and choices else {}
        return self._text(message.get("content", output.get("completion", "")))

    def _usage(self) -> tuple[int | None, int | None]:
        """Tokens in all and in prompts, over the models that count them."""
        used = [_object(each) for each in _object(self.value.get("model_usage")).values()]
        sums = [[each.get(name) for each in used] for name in ("total_tokens", "input_tokens")]
        tokens, prompt = (_sum(counts) for counts in sums)
        return tokens, prompt

    def _events(self) -> list[TraceEvent]:
        """The messages in order; what a model asked of tools is a step of its own."""
        events: list[TraceEvent] = []
        messages = self.value.get("messages")
        for message in map(_object, messages if isinstance(messages, list) else []):
            role = str(message.get("role", ""))
            text = self._text(message.get("content"))
            calls = message.get("tool_calls")
            asked = [_object(call) for call in calls] if isinstance(calls, list) else []
            if text or not asked:
                speaker = str(message.get("function") or role) if role == "tool" else role
                events.append(TraceEvent("inspect", speaker.upper(), _ROLES.get(role, "text"), text))
            for call in asked:
                arguments = json.dumps(call.get("arguments"), ensure_ascii=False)
                events.append(
                    TraceEvent("inspect", str(call.get("function", "tool")), "tool_call", replace_surrogates(arguments))
                )
        return [event._replace(role=replace_surrogates(event.role)) for event in events[:MOST_EVENTS]]

    def _text(self, content: Any) -> str:
        """The text of a message: itself, or that of its parts; attachments are put in their places."""
        if isinstance(content, list):
            parts = [_object(part) for part in content]
            content = "\n\n".join(
                str(part.get("text") or part.get("reasoning") or f"({part.get('type', 'part')})") for part in parts
            )
        text = content if isinstance(content, str) else ""
        return replace_surrogates(_ATTACHMENT.sub(lambda found: str(self.attachments.get(found[1], found[0])), text))


def _sum(counts: Sequence[Any]) -> int | None:
    """The sum of counts; None without any, or if one is unknown or more than a model can have used."""
    known = [count for count in counts if type(count) is int and 0 <= count <= MOST_TOKENS]
    total = sum(known)
    return total if known and len(known) == len(counts) and total <= MOST_TOKENS else None


def _is_between(value: Any, low: float, high: float) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def log_members(header: JsonObject, samples: Iterable[JsonObject]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a log's zip, each with its path. header: eval, plan and what the log ends with."""
    yield START, _as_bytes({"version": VERSION, "eval": header["eval"], "plan": header["plan"]})
    summaries = []
    for each in samples:
        summaries.append(_summary(each))
        yield f"samples/{each['id']}_epoch_{each['epoch']}.json", _as_bytes(each)
    yield "summaries.json", _as_bytes(summaries)
    yield HEADER, _as_bytes({"version": VERSION, **header})


def _as_bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _summary(sample: JsonObject) -> JsonObject:
    """What the list of samples in Inspect View shows."""
    same = {name: sample[name] for name in ("id", "epoch", "input", "target", "scores", "model_usage")}
    metadata = {name: value for name, value in sample["metadata"].items() if name != KEY}
    error = {"error": sample["error"]["message"]} if "error" in sample else {}
    return {**same, "metadata": metadata, "completed": True, "message_count": len(sample["messages"]), **error}
