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

from core.base.archives import iterate_members, pack
from core.base.errors import InputError
from core.base.types import Flag
from core.features.importing.reader import read
from core.features.importing.submissions import SubmissionTable

HEAD = {"version": 2, "status": "success", "eval": {"task": "t", "model": "some/model"}}


def sample(pair_id: str, **values: Any) -> dict[str, Any]:
    return {"id": pair_id, "epoch": 1, "input": "?", "target": "", "messages": [], **values}


def answer(text: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def log(*samples: dict[str, Any], head: object = HEAD) -> bytes:
    members = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples} | {
        "header.json": head
    }
    return pack({path: json.dumps(value).encode() for path, value in members.items()})


def read_log(*samples: dict[str, Any]) -> SubmissionTable:
    found = read(log(*samples), "some.eval")
    assert isinstance(found, SubmissionTable)
    return found


@pytest.mark.parametrize(
    ("values", "up", "down"),
    [
        ({"scores": {"own": {"value": {"prediction_up": 0.3, "prediction_down": 0.1}}}}, 0.3, 0.1),
        (
            {"scores": {"own": {"value": "C", "metadata": {"p_de": 0.5, "p_up_given_de": 0.2}}}},
            0.1,
            0.4,
        ),
        ({"metadata": {"prediction_up": 0.3, "prediction_down": 0}}, 0.3, 0),
        ({"output": answer('{"prediction_up": 0.25, "prediction_down": 0.5}')}, 0.25, 0.5),
        ({"output": answer(" Up.\n")}, 1, 0),
        ({"output": answer("none")}, 0, 0),
        # The score comes before the answer.
        (
            {
                "scores": {"s": {"value": {"prediction_up": 0.3, "prediction_down": 0.1}}},
                "output": answer("down"),
            },
            0.3,
            0.1,
        ),
    ],
)
def test_the_first_numbers_count(values: dict[str, Any], up: float, down: float) -> None:
    [row] = read_log(sample("Pa_Ga", **values)).rows
    assert (row.prediction.prediction_up, row.prediction.prediction_down) == pytest.approx(
        (up, down)
    )
    assert row.prediction.p_de == pytest.approx(up + down)
    assert row.prediction.flags == ()


def test_a_sample_without_numbers_is_flagged_and_one_that_failed_is_no_row() -> None:
    failed = sample(
        "Pa_Gb", error={"message": "no connection", "traceback": "", "traceback_ansi": ""}
    )
    found = read_log(sample("Pa_Ga", output=answer("It is up to the cell.")), failed)
    assert [row.prediction.flags for row in found.rows] == [(Flag.UNIFORM,)]
    assert [(row.line, row.reason, "no connection" in row.detail) for row in found.rejected] == [
        (2, "not a number", True)
    ]


def test_messages_become_the_trace() -> None:
    call = {"id": "1", "function": "lookup", "arguments": {"gene": "Ga"}, "type": "function"}
    messages = [
        {"role": "user", "content": "Does it?"},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "hm"},
                {"type": "text", "text": "I ask."},
            ],
        },
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "attachment://abc", "function": "lookup"},
        {"role": "assistant", "content": "up"},
    ]
    usage = {
        "m/a": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12},
        "m/b": {"input_tokens": 1, "total_tokens": 2},
    }
    found = read_log(
        sample(
            "Pa_Ga",
            messages=messages,
            attachments={"abc": "Ga is a gene"},
            model_usage=usage,
            output=answer("up"),
        )
    )
    [row] = found.rows
    assert [(event.role, event.kind, event.content) for event in row.events] == [
        ("USER", "text", "Does it?"),
        ("ASSISTANT", "thought", "hm"),
        ("ASSISTANT", "answer", "I ask."),
        ("lookup", "tool_call", '{"gene": "Ga"}'),
        ("LOOKUP", "observation", "Ga is a gene"),
        ("ASSISTANT", "answer", "up"),
    ]
    assert (row.prediction.tokens, row.prediction.prompt_tokens) == (14, 8)
    assert (found.kind, found.method, found.model_name) == ("inspect_log", "inspect", "some/model")


def test_the_mean_of_epochs_counts() -> None:
    first = sample(
        "Pa_Ga",
        metadata={"prediction_up": 0.1, "prediction_down": 0.2},
        messages=[{"role": "user", "content": "?"}],
    )
    second = sample("Pa_Ga", metadata={"prediction_up": 0.3, "prediction_down": 0.6}) | {"epoch": 2}
    found = read_log(first, second, sample("Pa_Gb", output=answer("up")))
    assert [row.prediction.pair_id for row in found.rows] == ["Pa_Ga", "Pa_Gb"]
    assert (
        found.rows[0].prediction.prediction_up,
        found.rows[0].prediction.prediction_down,
    ) == pytest.approx((0.2, 0.4))
    assert [(event.stage, event.kind) for event in found.rows[0].events] == [
        ("epoch 1", "text"),
        ("mean", "arithmetic"),
    ]
    assert found.rows[0].events[-1].meta == {"read": 2, "asked": 2}
    assert found.remark == "up to 2 epochs a row, averaged"


def test_an_epoch_that_failed_or_was_not_read_is_left_out_of_the_mean() -> None:
    three = [
        sample("Pa_Ga", output=answer(text)) | {"epoch": n}
        for n, text in enumerate(("up", "down", "prose"), 1)
    ]
    failed = sample("Pa_Gb", output=answer("up")) | {"epoch": 2, "error": {"message": "away"}}
    found = read_log(*three, sample("Pa_Gb", output=answer("down")), failed)
    numbers = [(row.prediction.prediction_up, row.prediction.prediction_down) for row in found.rows]
    assert numbers == [(0.5, 0.5), (0, 1)]
    assert [row.prediction.flags for row in found.rows] == [(Flag.FEWER_SEEDS,)] * 2
    assert [row.events[-1].meta for row in found.rows] == [
        {"read": 2, "asked": 3},
        {"read": 1, "asked": 2},
    ]
    [unread] = read_log(
        *(sample("Pa_Ga", output=answer("prose")) | {"epoch": n} for n in (1, 2))
    ).rows
    assert (unread.prediction.prediction_up, unread.prediction.flags) == (1 / 3, (Flag.UNIFORM,))


@pytest.mark.parametrize(
    "values",
    [
        {"error": "away"},
        {"error": {"message": ""}},
        {"output": answer("up") | {"error": "blocked"}},
    ],
)
def test_an_error_of_any_form_is_no_row(values: dict[str, Any]) -> None:
    found = read_log(
        sample("Pa_Ga", **{"metadata": {"prediction_up": 0.4, "prediction_down": 0.1}, **values})
    )
    assert (found.rows, [row.reason for row in found.rejected]) == ((), ["not a number"])


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (
            {
                "output": answer("<answer>B</answer>"),
                "scores": {"m": {"value": "I", "answer": "B"}},
            },
            "down",
        ),
        ({"output": answer("The answer: **up**")}, "up"),
        ({"output": answer("<think>up? <answer>A</answer></think>none")}, "none"),
        (
            {
                "output": answer(
                    [{"type": "reasoning", "reasoning": "down?"}, {"type": "text", "text": "up"}]
                )
            },
            "up",
        ),
        (
            {"output": answer("I say so."), "scores": {"m": {"value": "C", "answer": "down"}}},
            "down",
        ),
        ({"output": answer("ANSWER: B"), "choices": ["none", "up", "down"]}, "up"),
        (
            {
                "output": answer("prose"),
                "choices": ["down", "up"],
                "scores": {"choice": {"value": "C", "answer": "A"}},
            },
            "down",
        ),
    ],
)
def test_an_answer_is_read_as_in_a_run(values: dict[str, Any], label: str) -> None:
    [row] = read_log(sample("Pa_Ga", **values)).rows
    numbers = row.prediction.prediction_up, row.prediction.prediction_down
    assert numbers == {"up": (1, 0), "down": (0, 1), "none": (0, 0)}[label]
    assert row.prediction.flags == ()


def test_a_fenced_answer_holds_numbers() -> None:
    [row] = read_log(
        sample(
            "Pa_Ga", output=answer('```json\n{"prediction_up": 0.2, "prediction_down": 0.3}\n```')
        )
    ).rows
    assert (row.prediction.prediction_up, row.prediction.prediction_down) == (0.2, 0.3)


def ended(text: str, stop_reason: str) -> dict[str, Any]:
    """An output that ended so."""
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": stop_reason}]
    }


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"limit": {"type": "token", "limit": 100}}, "stopped by its limit of token (100)"),
        ({"limit": "time"}, "stopped by its limit of time,"),
        ({"limit": {"type": "operator"}}, "stopped by its limit of operator,"),
        ({"invalidation": {"reason": "wrong prompt"}}, "was invalidated ('wrong prompt')"),
        ({"invalidation": True}, "was invalidated,"),
        ({"output": ended("none", "max_tokens")}, "its answer ended with 'max_tokens'"),
        ({"output": ended("up", "content_filter")}, "its answer ended with 'content_filter'"),
        ({"output": ended("up", "model_length")}, "its answer ended with 'model_length'"),
        (
            {"output": ended("up", "unknown"), "metadata": {}},
            "its answer ended with 'unknown', which is not known to be whole",
        ),
    ],
)
def test_a_sample_that_was_cut_is_rejected_with_that_reason(
    values: dict[str, Any], said: str
) -> None:
    found = read_log(
        sample("Pa_Ga", **{"metadata": {"prediction_up": 0.4, "prediction_down": 0.1}, **values})
    )
    assert (found.rows, [row.reason for row in found.rejected]) == ((), ["not answered"])
    assert said in found.rejected[0].detail


def test_percentages_are_out_of_range() -> None:
    found = read_log(sample("Pa_Ga", scores={"p": {"value": {"p_de": 85, "p_up_given_de": 20}}}))
    assert [row.reason for row in found.rejected] == ["out of range"]


def test_what_is_odd_about_a_log_is_said() -> None:
    two = {"a": {"value": CERTAIN}, "b": {"value": {"prediction_up": 0.5, "prediction_down": 0}}}
    found = read_log(sample("Pa_Ga", scores=two, output=answer("<answer>B</answer>")))
    assert found.rows[0].prediction.flags == (Flag.ANSWER_DIFFERS,)
    assert "answers whose text says otherwise than their numbers: 1 (Pa_Ga)" in found.remark


UP = {"prediction_up": 0.8, "prediction_down": 0.1}
CERTAIN = {"prediction_up": 1, "prediction_down": 0}


@pytest.mark.parametrize(
    ("values", "differs"),
    [
        (
            {"metadata": UP, "output": answer("<answer>B</answer>")},
            False,
        ),  # no number is certain of a label
        (
            {
                "metadata": {"prediction_up": 0, "prediction_down": 0},
                "output": answer('{"answer": "A"}'),
            },
            True,
        ),
        ({"metadata": CERTAIN, "output": answer("Die Antwort ist A.")}, False),
        ({"metadata": CERTAIN, "output": answer("ANSWER: A"), "choices": ["down", "up"]}, True),
        ({"metadata": CERTAIN, "output": answer("ANSWER: B"), "choices": ["down", "up"]}, False),
    ],
)
def test_an_answer_that_says_otherwise_than_its_numbers_is_flagged(
    values: dict[str, Any], differs: bool
) -> None:
    [row] = read_log(sample("Pa_Ga", **values)).rows
    assert (Flag.ANSWER_DIFFERS in row.prediction.flags) is differs


def test_a_log_in_json_is_read() -> None:
    log = {
        "version": 2,
        "status": "cancelled",
        "eval": {"model": "some/model"},
        "samples": [sample("Pa_Ga", output=answer("up"))],
    }
    found = read(json.dumps(log).encode(), "log.json")
    assert isinstance(found, SubmissionTable)
    assert [row.prediction.prediction_up for row in found.rows] == [1]
    assert (found.kind, found.model_name) == ("inspect_log", "some/model")
    assert found.remark == "the evaluation ended as 'cancelled': rows may be missing"


def test_an_epoch_twice_and_numbers_out_of_range_are_rejected() -> None:
    numbers = {"prediction_up": 0.3, "prediction_down": 0.1}
    found = read_log(
        sample("Pa_Ga", metadata=numbers),
        sample("again", metadata=numbers | {"pair_id": "Pa_Ga"}),
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
    "odd",
    [
        {"scores": [1]},
        {"metadata": "no"},
        {"messages": {"a": 1}},
        {"output": {"choices": [3]}},
        {"model_usage": 7},
    ],
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


def test_an_epoch_is_a_whole_number_and_one_row_comes_once() -> None:
    numbers = {"prediction_up": 0.3, "prediction_down": 0.1}
    log = {"status": "success", "eval": {"model": "m"}}
    samples = [
        {"id": "Pa_Ga", "epoch": epoch, "metadata": numbers} for epoch in (1, {"a": 1}, [2], "3", 2)
    ]
    found = read(json.dumps(log | {"samples": samples}).encode(), "log.json")
    assert isinstance(found, SubmissionTable)
    assert [row.prediction.pair_id for row in found.rows] == ["Pa_Ga"]
    assert [(row.line, row.reason) for row in found.rejected] == [
        (n, "no epoch") for n in (2, 3, 4)
    ]
    # all are called the first epoch, and two are of one row
    members = {
        "header.json": json.dumps(log).encode(),
        "samples/a_epoch_1.json": json.dumps(samples[0]).encode(),
        "samples/b_epoch_1.json": json.dumps(samples[-1]).encode(),
    }
    found = read(pack(members), "log.eval")
    assert isinstance(found, SubmissionTable)
    assert [row.prediction.pair_id for row in found.rows] == ["Pa_Ga"]
    assert [row.reason for row in found.rejected] == ["duplicate"]


def test_zstandard_is_read_and_damage_is_named() -> None:
    value = sample("Pa_Ga", output=answer("up"))
    whole = packed_by_zstandard("samples/Pa_Ga_epoch_1.json", json.dumps(value).encode())
    [(_, content)] = iterate_members(whole, "a.eval", lambda _: True)
    assert json.loads(content) == value
    damaged = whole.replace(whole[60:80], b"\0" * 20)
    with pytest.raises(InputError, match="damaged zip"):
        list(iterate_members(damaged, "a.eval", lambda _: True))
