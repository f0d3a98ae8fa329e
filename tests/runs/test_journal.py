from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, NotFound, StateError
from core.base.net.scrubber import Scrubber
from core.base.types import Call, Evidence, Failed, Flag, Prediction, RowResult, TraceEvent
from core.runs.jobs.folder import log_tail
from core.runs.journal import (
    Entry,
    Journal,
    RetryMark,
    decode_entry,
    encode_entry,
    mark_for_retry,
    read_entries,
    read_progress,
)
from core.runs.run_folder import RunFolder
from core.runs.spec import ExecutionSettings
from tests.runs.test_spec import SPEC

texts = st.text(max_size=8)
counts = st.integers(0, 10**6)
chances = st.floats(0, 0.5)
metas = st.dictionaries(
    texts,
    st.none()
    | st.booleans()
    | counts
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(texts),
)
call_records = st.builds(
    Call,
    texts,
    texts,
    texts,
    texts,
    texts,
    st.booleans(),
    counts,
    st.floats(0, 1e9),
    counts,
    counts,
    counts,
    texts,
)
rows = st.builds(
    RowResult,
    st.builds(
        Prediction,
        texts,
        chances,
        chances,
        chances,
        st.none() | chances,
        st.sampled_from(["trace", "file"]),
        st.lists(st.sampled_from(Flag)).map(tuple),
        *[st.none() | counts] * 3,
    ),
    st.lists(
        st.builds(
            TraceEvent,
            texts,
            texts,
            texts,
            texts,
            st.none() | counts,
            st.none() | st.floats(0, 1e9),
            metas,
        )
    ).map(tuple),
    st.lists(
        st.builds(
            Evidence,
            texts,
            texts,
            st.sampled_from(["ok", "empty", "error", "offline"]),
            texts,
            st.none() | st.datetimes(),
            metas,
            texts,
        )
    ).map(tuple),
    st.lists(call_records).map(tuple),
)
failures = st.builds(Failed, texts, texts, texts, st.lists(call_records).map(tuple))


def row(
    pair_id: str = "a_b", tokens: int | None = 7, calls: tuple[Call, ...] = (), **more: Any
) -> RowResult:
    return RowResult(
        replace(Prediction(pair_id, 0.2, 0.1, 0.3, 0.5, "trace", (), tokens), **more), calls=calls
    )


def call(key: str, *, cached: bool = False, error: str = "") -> Call:
    return Call(key, "de", "JUDGE", "{}", "{}", cached, 1, 2.5, 10, 5, 0, error)


def folder_at(path: Path) -> RunFolder:
    path.mkdir(exist_ok=True)
    return RunFolder(path)


@pytest.mark.soak
@given(rows | failures | st.builds(RetryMark, st.lists(texts).map(tuple)))
def test_an_entry_and_its_line_are_the_same(entry: Entry) -> None:
    line = encode_entry(entry)
    assert decode_entry(line) == entry
    assert line.count(b"\n") == 1
    json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in a journal"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (row(p_de=math.nan, calls=(call("k"),)), "p_de is nan"),
        (row(calls=(replace(call("k"), reply="\ud800"),)), "cannot be written down"),
        (row(prediction_up=1.2), "prediction_up is 1.2"),
        (row(prediction_up=0.8, prediction_down=0.8), "sum to 1.6"),
        (row(p_up_given_de=math.inf), "p_up_given_de is inf"),
        (row(tokens=2**31), "tokens, expected 0 to"),
        (
            replace(row(), events=(TraceEvent("a", "b", "c", "half a pair \ud800"),)),
            "cannot be written down",
        ),
        (
            replace(row(), events=(TraceEvent("a", "b", "c", "", None, math.nan),)),
            "cannot be written down",
        ),
        (
            replace(row(), events=(TraceEvent("a", "b", "c", "", None, None, {"x": {1, 2}}),)),
            "cannot be written down",
        ),
    ],
)
def test_what_a_journal_cannot_hold(entry: RowResult, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        encode_entry(entry)
    folder = folder_at(tmp_path)
    with Journal(folder) as journal:
        journal.append([row("x_y"), entry])
    found = [entry for entry, _ in read_entries(folder.rows)]
    assert found[0] == row("x_y")
    assert isinstance(found[1], Failed)
    assert (found[1].pair_id, found[1].kind) == ("a_b", "InputError")
    assert said in found[1].message
    assert found[1].calls == (
        () if entry.calls and entry.calls[0].reply == "\ud800" else entry.calls
    )


@pytest.mark.parametrize(
    "line",
    [
        b"{}\n",
        b"[]\n",
        b"null\n",
        b'{"v":1}\n',
        b'{"v":1,"row":{}}\n',
        b"\xff\n",
        b'{"v":2,"row":{}}\n',
    ],
)
def test_lines_that_are_none_are_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(encode_entry(row()) + line)
    with pytest.raises(InputError, match=rf"rows\.jsonl, byte {len(encode_entry(row()))}: journal"):
        read_progress(tmp_path / "rows.jsonl")


def test_deep_values_and_large_numbers_come_back_as_they_were() -> None:
    deep = []
    for _ in range(300):  # deeper than the fast reader goes
        deep = [deep]
    for meta in ({"deep": deep}, {"seed": 2**70, "share": 0.1 + 0.2}):
        entry = replace(row(), events=(TraceEvent("de", "JUDGE", "verdict", "A", meta=meta),))
        assert decode_entry(encode_entry(entry)) == entry


def test_a_line_that_nests_too_deep_is_refused_in_words() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(InputError, match="a line that cannot be read"):
        decode_entry(deep)
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="cannot be written down"):
        encode_entry(
            replace(
                row(), events=(TraceEvent("de", "JUDGE", "verdict", "A", meta={"deep": value}),)
            )
        )


def test_a_torn_last_line_is_cut_wherever_it_tore(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    whole, torn = encode_entry(row("a_b")), encode_entry(row("c_d"))
    for kept in {*range(0, len(torn), 9), len(torn) - 1}:
        folder.rows.write_bytes(whole + torn[:kept])
        assert read_progress(folder.rows).finished == {"a_b"}
        with Journal(folder) as journal:
            assert journal.progress.finished == {"a_b"}
            journal.append([row("e_f")])
        assert folder.rows.read_bytes() == whole + encode_entry(row("e_f"))


def test_counts_follow_the_last_word_on_each_row(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    with Journal(folder) as journal:
        journal.append(
            [
                row("a_b", 100, (call("k1"), call("k2", cached=True))),
                Failed("c_d", "Unreadable", "?", (call("k3"),)),
            ]
        )
        journal.append([Failed("e_f", "Unanswered", "?", (call("k4"), call("k5", error="gone")))])
    found = read_progress(folder.rows)
    assert (found.done, set(found.failed), found.rejected_keys) == (1, {"c_d", "e_f"}, set())
    assert (found.cost.total(), found.spent) == (
        100 + 15 + 30,
        15 + 15 + 30,
    )  # a cached call was paid for before
    mark_for_retry(folder, ["c_d", "e_f"])
    again = read_progress(folder.rows)
    assert (again.finished, again.failed) == ({"a_b"}, {})
    assert again.rejected_keys == {
        "k3"
    }  # it was answered and the row failed; k4's answer led to no failure
    with Journal(folder) as journal:
        journal.append([row("c_d", 20, (call("k3"),))])
    last = read_progress(folder.rows)
    assert (last.done, last.repeated, last.spent) == (2, 0, 15 + 15 + 30 + 15)
    with Journal(folder) as journal:
        journal.append([row("c_d", 30)])
    assert (read_progress(folder.rows).repeated, read_progress(folder.rows).cost["c_d"]) == (1, 30)


def test_the_key_is_taken_out_of_every_line(tmp_path: Path) -> None:
    key = 'sk-"quoted"/secret'
    scrub = Scrubber((key,))
    with Journal(folder_at(tmp_path), scrub) as journal:
        journal.append([Failed("a_b", "Refused", f"wrong key {key}", (call(key),))])
    assert b"secret" not in (tmp_path / "rows.jsonl").read_bytes()
    [(entry, _)] = read_entries(tmp_path / "rows.jsonl")
    assert isinstance(entry, Failed)
    assert entry.message == "wrong key [key]"


def test_a_folder_keeps_specification_settings_and_command(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs" / "abc")
    with pytest.raises(NotFound, match="no run was begun"):
        folder.spec()
    settings = ExecutionSettings(rows_in_flight=3)
    folder.create(SPEC, settings)
    assert (folder.run, folder.exists, folder.spec(), folder.command()) == (
        "abc",
        True,
        SPEC,
        "run",
    )
    assert folder.execution_settings() == settings
    folder.set_command("pause")
    assert folder.command() == "pause"
    folder.create(SPEC, settings)  # of a store that lost it: the same run goes on
    with pytest.raises(StateError, match="another specification"):
        folder.create(replace(SPEC, seed=99), settings)
    (folder.path / "spec.json").write_text(
        (folder.path / "spec.json").read_text().replace('"debate"', '"react"')
    )
    with pytest.raises(InputError, match="was changed"):
        folder.spec()


def test_a_folder_goes_whole_and_only_if_a_run_was_begun_there(tmp_path: Path) -> None:
    first, second = (RunFolder(tmp_path / run) for run in ("r1", "r2"))
    for folder in (first, second):
        folder.create(SPEC, ExecutionSettings())
    first.remove()
    first.remove()
    assert not first.path.exists()
    assert second.exists
    other = RunFolder(tmp_path / "mine")  # somebody else's
    other.path.mkdir()
    other.remove()
    assert other.path.exists()


def test_the_end_of_a_log(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    assert log_tail(folder) == []
    folder.log.write_text("".join(f"{datetime(2025, 1, 1)} line {i}\n" for i in range(5000)))
    assert log_tail(folder, 2) == ["2025-01-01 00:00:00 line 4998", "2025-01-01 00:00:00 line 4999"]
