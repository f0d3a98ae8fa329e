"""Logs of Inspect AI (.eval): a zip of header.json and one samples/ID_epoch_N.json a row, read as
the rows of a run, and written.

What a sample says: `core.features.importing.inspect_samples`. Of several epochs the mean is taken,
or the first. The trace of a log that was written here stands in the metadata whole
(`core.features.importing.packaged_trace`); that of any other is its messages. Inspect also writes
logs as one JSON object.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from core.base.archives import DAMAGE, Content, is_zip, iterate_members, open_archive, open_content
from core.base.errors import InputError, UnsafeFile
from core.base.row_schema import MOST_EVENTS
from core.base.texts import parse_json, quote, replace_surrogates
from core.base.types import Flag, Prediction, Rejected, RowResult, TraceEvent
from core.features.importing.inspect_samples import JsonObject, Sample, as_object
from core.features.importing.packaged_trace import KEY
from core.features.importing.submissions import (
    SubmissionTable,
    TakeRow,
    describe_differing,
    split_sum,
)

HEADER = "header.json"
START = "_journal/start.json"  # of a log whose evaluation did not end: it has no header
VERSION = 2  # of the format
_MOST_JSON_BYTES = 1 << 26  # of a member: as values it takes twenty times as much
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
UNKNOWN_METHOD = "inspect"
Epochs = Literal["mean", "first"]  # what counts of several samples of an id
_MOST_HEAD = 1 << 16  # bytes in which a log in JSON says that it is one


def is_log(content: Content) -> bool:
    """Return whether a file is a log: the zip of a .eval, or one JSON object with the same in
    it."""
    if not is_zip(content):
        head = open_content(content).read(_MOST_HEAD).lstrip(b"\xef\xbb\xbf \r\n\t")
        return head.startswith(b"{") and b'"eval"' in head and b'"status"' in head
    try:
        names = set(open_archive(open_content(content), "zip").namelist())
    except DAMAGE:
        return False
    return bool(names & {HEADER, START}) and any(SAMPLE.fullmatch(name) for name in names)


def read_log(
    content: Content, name: str, sha256: str, take: TakeRow | None = None, epochs: Epochs = "mean"
) -> SubmissionTable:
    """Return the rows of a log, one an id; line: the number in the file of its first sample. Raise
    InputError or UnsafeFile.

    take: as in `core.features.importing.submissions.read_submission`. epochs: what counts of an
    id's samples.
    """
    rows: list[RowResult] = []
    read = _Rows(take or rows.append, epochs, _count_epochs(content))
    head: JsonObject = {}
    number = 0
    for path, value in _members(content, name):
        if path in (HEADER, START):
            head = value if path == HEADER or not head else head
            continue
        number += 1
        read.add(Sample(value, f"{name}/{path}", number), path)
    read.end()
    spec = as_object(head.get("eval"))
    model = str(spec.get("model", ""))
    return SubmissionTable(
        "inspect_log",
        _track(spec),
        max(read.methods, key=read.methods.count) if read.methods else UNKNOWN_METHOD,
        "" if model.startswith("none/") else replace_surrogates(model),
        tuple(rows),
        lines=tuple(read.lines),
        rejected=tuple(read.rejected),
        sha256=sha256,
        remark=read.remark(str(head.get("status", ""))),
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
    samples = whole.get("samples")
    for each in map(as_object, samples if isinstance(samples, list) else []):
        yield f"samples/{each.get('id')}_epoch_{each.get('epoch', 1)}.json", dict(each)


def _count_epochs(content: Content) -> Counter[str] | None:
    """Return the number of samples of each id (as paths spell it) in a zip; None if unknown before
    reading, as in a JSON log."""
    if not is_zip(content):
        return None
    paths = filter(SAMPLE.fullmatch, open_archive(open_content(content), "zip").namelist())
    return Counter(map(_stem, paths))


def _stem(path: str) -> str:
    return path.rpartition("_epoch_")[0]


class _Rows:
    """The rows of a log's samples, passed on as soon as they are complete: of several epochs of an
    id, the mean or the first."""

    def __init__(self, take: TakeRow, epochs: Epochs, left: Counter[str] | None) -> None:
        self._take, self._epochs, self._left = take, epochs, left
        self.lines: list[int] = []  # of the rows that are passed on
        self.rejected: list[Rejected] = []
        self.methods: list[str] = []
        self._seen: dict[str, dict[Any, int]] = {}  # id → epoch → line
        self._passed: set[str] = set()
        self._waiting: dict[str, list[tuple[int, RowResult]]] = {}
        self._differing: list[str] = []
        self._disagreeing: list[str] = []

    def add(self, sample: Sample, path: str) -> None:
        """Read a sample of a path; its row is passed on once no other sample of its path's id is
        left."""
        self._read(sample)
        if self._left is not None:
            self._left[_stem(path)] -= 1
            if not self._left[_stem(path)]:
                self._pass_on(sample.pair_id)

    def _read(self, sample: Sample) -> None:
        seen, epoch = self._seen.setdefault(sample.pair_id, {}), sample.value.get("epoch", 1)
        if epoch in seen or sample.pair_id in self._passed:
            said = f"{quote(sample.pair_id)} is in sample {next(iter(seen.values()))} already"
            self.rejected.append(sample.reject("duplicate", said))
            return
        seen[epoch] = sample.line
        row = sample.read()
        if isinstance(row, Rejected):
            self.rejected.append(row)
            return
        self.methods += [sample.packaged.method] if sample.packaged else []
        self._differing += [sample.pair_id] if Flag.ANSWER_DIFFERS in row.prediction.flags else []
        self._disagreeing += [sample.pair_id] if sample.scorers_disagree else []
        self._waiting.setdefault(sample.pair_id, []).append((sample.line, row))

    def _pass_on(self, pair_id: str) -> None:
        rows = self._waiting.pop(pair_id, [])
        if not rows:
            return
        line, first = rows[0]
        epochs = len(self._seen[pair_id])
        mean = epochs > 1 and self._epochs == "mean"
        self._take(_mean_of([row for _, row in rows], epochs) if mean else first)
        self.lines.append(line)
        self._passed.add(pair_id)

    def end(self) -> None:
        """Pass on the rows that waited for more epochs."""
        for pair_id in list(self._waiting):
            self._pass_on(pair_id)

    def remark(self, status: str) -> str:
        """Return remarks on the log, in words."""
        said = (
            []
            if status in ("", "success")
            else [f"the evaluation ended as {status!r}: rows may be missing"]
        )
        most = max(map(len, self._seen.values()), default=1)
        if most > 1:
            said.append(
                f"up to {most} epochs a row,"
                f" {'averaged' if self._epochs == 'mean' else 'of which the first counts'}"
            )
        if self._disagreeing:
            count = f"{len(self._disagreeing):,}, the first {self._disagreeing[0]}"
            said.append(
                f"samples whose scorers disagree, with each other or with the text: {count}"
            )
        return "; ".join(filter(None, (*said, describe_differing(self._differing))))


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
    mean = TraceEvent(
        "mean", "MEAN", "arithmetic", said, 0, meta={"read": len(read), "asked": epochs}
    )
    events = [
        event._replace(stage=f"epoch {n}") for n, row in enumerate(rows, 1) for event in row.events
    ]
    flags = tuple(dict.fromkeys(flag for one in numbers for flag in one.flags))
    flags = (*flags, Flag.FEWER_SEEDS) if 0 < len(read) < epochs else flags
    tokens = [
        None if None in column else sum(column)
        for column in zip(
            *((row.prediction.tokens, row.prediction.prompt_tokens) for row in rows), strict=True
        )
    ]
    prediction = Prediction(
        numbers[0].pair_id, up, down, *split_sum(up, down), "file", flags, *tokens
    )
    return RowResult(prediction, (*events[: MOST_EVENTS - 1], mean))


def _track(spec: Mapping[str, Any]) -> Any:
    """Return the track that a log written here names, else C, whose files say least."""
    track = as_object(as_object(spec.get("metadata")).get(KEY)).get("track")
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


def log_members(header: JsonObject, samples: Iterable[JsonObject]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a log's zip, each with its path. header: eval, plan and what the log
    ends with."""
    yield START, _as_bytes({"version": VERSION, "eval": header["eval"], "plan": header["plan"]})
    summaries = []
    for each in samples:
        same = {
            name: each[name] for name in ("id", "epoch", "input", "target", "scores", "model_usage")
        }
        metadata = {name: value for name, value in each["metadata"].items() if name != KEY}
        error = {"error": each["error"]["message"]} if "error" in each else {}
        summaries.append(
            {
                **same,
                "metadata": metadata,
                "completed": True,
                "message_count": len(each["messages"]),
                **error,
            }
        )
        yield f"samples/{each['id']}_epoch_{each['epoch']}.json", _as_bytes(each)
    yield "summaries.json", _as_bytes(summaries)
    yield HEADER, _as_bytes({"version": VERSION, **header})


def _as_bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
