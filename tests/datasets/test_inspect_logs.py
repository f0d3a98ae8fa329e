"""Logs of Inspect AI, made by hand: which numbers count, what becomes a row, and what is refused."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from typing import Any

import pyarrow as pa
import pytest

from core.datasets import SubmissionTable, read
from core.datasets.archives import iterate_members, pack
from core.errors import InputError
from core.types import Flag

HEAD = {"version": 2, "status": "success", "eval": {"task": "t", "model": "some/model"}}


def sample(pair_id: str, **values: Any) -> dict[str, Any]:
    return {"id": pair_id, "epoch": 1, "input": "?", "target": "", "messages": [], **values}


def answer(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "completion": text}


def log(*samples: dict[str, Any], head: object = HEAD) -> bytes:
    members = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples} | {"header.json": head}
    return pack({path: json.dumps(value).encode() for path, value in members.items()})


def read_log(*samples: dict[str, Any]) -> SubmissionTable:
    found = read(log(*samples), "some.eval")
    assert isinstance(found, SubmissionTable)
    return found


@pytest.mark.parametrize(
    ("values", "up", "down"),
    [
        ({"scores": {"own": {"value": {"prediction_up": 0.3, "prediction_down": 0.1}}}}, 0.3, 0.1),
        ({"scores": {"own": {"value": "C", "metadata": {"p_de": 0.5, "p_up_given_de": 0.2}}}}, 0.1, 0.4),
        ({"metadata": {"prediction_up": 0.3, "prediction_down": 0}}, 0.3, 0),
        ({"output": answer('{"prediction_up": 0.25, "prediction_down": 0.5}')}, 0.25, 0.5),
        ({"output": answer(" Up.\n")}, 1, 0),
        ({"output": answer("none")}, 0, 0),
        # The score comes before the answer.
        ({"scores": {"s": {"value": {"prediction_up": 0.3, "prediction_down": 0.1}}}, "output": answer("down")}, 0.3, 0.1),
    ],
)
def test_the_first_numbers_count(values: dict[str, Any], up: float, down: float) -> None:
    [row] = read_log(sample("Pa_Ga", **values)).rows
    assert (row.prediction.prediction_up, row.prediction.prediction_down) == pytest.approx((up, down))
    assert row.prediction.p_de == pytest.approx(up + down)
    assert row.prediction.flags == ()


def test_a_sample_without_numbers_is_flagged_and_one_that_failed_is_no_row() -> None:
    failed = sample("Pa_Gb", error={"message": "no connection", "traceback": "", "traceback_ansi": ""})
    found = read_log(sample("Pa_Ga", output=answer("It is up to the cell.")), failed)
    assert [row.prediction.flags for row in found.rows] == [(Flag.UNIFORM,)]
    assert [(row.line, row.reason, "no connection" in row.detail) for row in found.rejected] == [(2, "not a number", True)]


def test_messages_become_the_trace() -> None:
    call = {"id": "1", "function": "lookup", "arguments": {"gene": "Ga"}, "type": "function"}
    messages = [
        {"role": "user", "content": "Does it?"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I ask."}]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "attachment://abc", "function": "lookup"},
        {"role": "assistant", "content": "up"},
    ]
    usage = {"m/a": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}, "m/b": {"input_tokens": 1, "total_tokens": 2}}
    found = read_log(
        sample("Pa_Ga", messages=messages, attachments={"abc": "Ga is a gene"}, model_usage=usage, output=answer("up"))
    )
    [row] = found.rows
    assert [(event.role, event.kind, event.content) for event in row.events] == [
        ("USER", "text", "Does it?"),
        ("ASSISTANT", "answer", "hm\n\nI ask."),
        ("lookup", "tool_call", '{"gene": "Ga"}'),
        ("LOOKUP", "observation", "Ga is a gene"),
        ("ASSISTANT", "answer", "up"),
    ]
    assert (row.prediction.tokens, row.prediction.prompt_tokens) == (14, 8)
    assert (found.kind, found.method, found.model_name) == ("inspect_log", "inspect", "some/model")


def test_a_second_epoch_and_numbers_out_of_range_are_rejected() -> None:
    numbers = {"prediction_up": 0.3, "prediction_down": 0.1}
    found = read_log(
        sample("Pa_Ga", metadata=numbers),
        sample("Pa_Ga", metadata=numbers) | {"epoch": 2},
        sample("Pa_Gb", metadata=numbers | {"prediction_up": 0.95}),
        sample("Pb_Ga", metadata=numbers | {"prediction_up": "high"}),
        sample("Pb_Gb", metadata=numbers | {"prediction_up": 10**400}),
        sample("5", metadata=numbers | {"pair_id": "Pc_Gc"}),
    )
    assert [row.prediction.pair_id for row in found.rows] == ["Pa_Ga", "Pc_Gc"]
    assert found.lines == (1, 6)
    assert [(row.line, row.reason) for row in found.rejected] == [
        (2, "duplicate"),
        (3, "out of range"),
        (4, "not a number"),
        (5, "not a number"),
    ]


@pytest.mark.parametrize(
    "odd", [{"scores": [1]}, {"metadata": "no"}, {"messages": {"a": 1}}, {"output": {"choices": [3]}}, {"model_usage": 7}]
)
def test_a_sample_of_another_shape_is_a_row_without_numbers(odd: dict[str, Any]) -> None:
    [row] = read_log(sample("Pa_Ga", **odd)).rows
    assert row.prediction.flags == (Flag.UNIFORM,)


@pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_a_member_that_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"bad.eval/samples/a_epoch_1.json"):
        read(pack({"samples/a_epoch_1.json": content, "header.json": b"{}"}), "bad.eval")


def packed_by_zstandard(name: str, content: bytes) -> bytes:
    """A zip of one member that is packed as Inspect AI packs: zipfile stores what is packed already, and method, size and sum
    are put into both of its headers."""
    packed = pa.Codec("zstd").compress(content, asbytes=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), packed)
    made = bytearray(out.getvalue())
    central = made.index(b"PK\x01\x02")
    for method_at, sum_at, size_at in ((8, 14, 22), (central + 10, central + 16, central + 24)):
        struct.pack_into("<H", made, method_at, 93)
        struct.pack_into("<I", made, sum_at, zlib.crc32(content))
        struct.pack_into("<I", made, size_at, len(content))
    return bytes(made)


def test_zstandard_is_read_and_damage_is_named() -> None:
    value = sample("Pa_Ga", output=answer("up"))
    whole = packed_by_zstandard("samples/Pa_Ga_epoch_1.json", json.dumps(value).encode())
    [(_, content)] = iterate_members(whole, "a.eval", lambda _: True)
    assert json.loads(content) == value
    damaged = whole.replace(whole[60:80], b"\0" * 20)
    with pytest.raises(InputError, match="damaged zip"):
        list(iterate_members(damaged, "a.eval", lambda _: True))
