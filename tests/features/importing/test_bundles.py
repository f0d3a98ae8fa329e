"""What a bundle may be: anything else is refused, with a word on where and why."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core.base.archives import pack
from core.base.errors import InputError, UnsafeFile
from core.features.importing.bundle_parts import SCHEMAS, PartFile, write_part
from core.features.importing.bundles import (
    Bundle,
    BundledDataset,
    BundledRun,
    Parent,
    is_bundle,
    read_bundle,
    write_bundle_into,
)
from core.store.pairs import pairs_sha256
from tests.bundled import closed, opened, with_files, with_manifest, with_rows, written

AT = datetime(2026, 1, 5, 9, 30, 0, 123)
ANSWER = {
    "prediction_up": 0.3,
    "prediction_down": 0.1,
    "p_de": 0.4,
    "p_up_given_de": 0.75,
    "p_source": "trace",
}
NOTHING = dict.fromkeys(ANSWER)
ROWS = {
    "prediction": [
        {
            "pair_id": "Pa_Ga",
            "pert": "Pa",
            "gene": "Ga",
            **ANSWER,
            "flags": "role_collapse de_fallback",
            "tokens": 7,
        },
        {
            "pair_id": "Pa_Gb",
            "pert": "Pa",
            "gene": "Gb",
            **ANSWER,
            "flags": "",
            "p_up_given_de": None,
            "tokens": None,
        },
        {
            "pair_id": "Pb_Ga",
            "pert": "Pb",
            "gene": "Ga",
            **NOTHING,
            "flags": "",
            "error": "Unreadable: no letter",
            "tokens": 5,
        },
    ],
    "trace_event": [
        {
            "pair_id": "Pa_Ga",
            "seq": seq,
            "stage": "de",
            "role": "EFFECT",
            "kind": "brief",
            "content": "±",
            "findings": "short",
        }
        | {"meta": '{"p": 0.4}', "latency_ms": 1.5}
        for seq in range(2)
    ],
    "evidence": [
        {
            "id": "e1",
            "tool": "t",
            "key": "k",
            "view": "",
            "retrieved_at": AT,
            "source": "s",
            "status": "ok",
            "body": "{}",
        }
    ],
    "row_evidence": [{"pair_id": "Pa_Ga", "seq": 0, "evidence": "e1"}],
    "call": [{"id": "c1", "key": "k", "request": '{"model": "m"}', "reply": "no JSON"}],
    "row_call": [
        {
            "pair_id": "Pb_Ga",
            "seq": 0,
            "call": "c1",
            "stage": "de",
            "role": "JUDGE",
            "cached": False,
            "attempts": 1,
            "error": "",
        }
        | {"latency_ms": 2.0, "prompt_tokens": 3, "completion_tokens": 2, "reasoning_tokens": 0}
    ],
    "note": [
        {"id": "0123456789ab", "pair_id": None, "author": "Ada", "written_at": AT, "text": "odd"}
    ],
}
RUN = BundledRun(
    id="0123456789",
    method="debate",
    track="B",
    model="some/model",
    spec={"method": "debate", "options": {"rounds": 2}},
    parents=(Parent("abcdef0123", "base"), Parent("abcdef0124", None)),
    status="cancelled",
    cause="a person cancelled it",
    total=5,
    done=2,
    failed=1,
    fallbacks=1,
    collapsed=1,
    tokens=12,
    tokens_unknown=1,
    spent_tokens=12,
    expected_calls=30,
    public_score=0.6,
    note="first",
    name="one",
    origin="run here",
    code_version="1",
    evaluation=None,
    created_at=AT.isoformat(),
    started_at=AT.isoformat(),
    finished_at=None,
)
DATASET = BundledDataset(
    "bmdm", "ternary", "mouse", "macrophages", 6, pairs_sha256([("Pa_Ga", "Pa", "Ga")])
)


def write_bundle(bundle: Bundle) -> bytes:
    out = io.BytesIO()
    write_bundle_into(out, bundle)
    return out.getvalue()


def tables() -> dict[str, pa.Table]:
    return {part: pa.Table.from_pylist(ROWS[part], SCHEMAS[part]) for part in SCHEMAS}


def parts() -> dict[str, PartFile]:
    return {part: write_part([table], part, part) for part, table in tables().items()}


def bundle() -> Bundle:
    return Bundle(RUN, DATASET, parts())


@pytest.fixture(scope="module")
def sound() -> bytes:
    return write_bundle(bundle())


def test_it_comes_back_as_it_was(sound: bytes) -> None:
    back = read_bundle(sound, "b.zip")
    assert back.run == RUN
    assert back.dataset == DATASET
    for part, rows in parts().items():
        assert back.parts[part].select(SCHEMAS[part].names) == rows.select(SCHEMAS[part].names)


def test_equal_tables_give_equal_bytes_whatever_their_pieces(sound: bytes) -> None:
    chunked = {
        part: pa.concat_tables([table.slice(0, 1), table.slice(1)])
        for part, table in tables().items()
    }
    pieces = {part: write_part([table], part, part) for part, table in chunked.items()}
    assert write_bundle(Bundle(RUN, DATASET, pieces)) == sound


def test_a_bundle_is_known_by_its_content(sound: bytes, tmp_path: Path) -> None:
    def known(content):
        (tmp_path / "file").write_bytes(content)
        return is_bundle(tmp_path / "file")

    manifest, files = opened(sound)
    again = pack(
        {**{f"{part}.parquet": data for part, data in files.items()}, "manifest.json": b"{}"}
    )
    assert known(sound)
    assert known(again)
    assert known(sound[:-100])
    assert manifest["perturbdesk_bundle"] == 1
    for other in (
        b"",
        b"id,pert,gene\n",
        pack({"submission.csv": b"id", "manifest.json": b"{}"}),
        b"PK\x03\x04",
    ):
        assert not known(other)


def set_to(*keys: Any, value: Any) -> Callable[[Any], None]:
    def change(found: Any) -> None:
        for key in keys[:-1]:
            found = found[key]
        found[keys[-1]] = value

    return change


@pytest.mark.few(16)
@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (["perturbdesk_bundle"], 2, "format 2, this version reads 1; update"),
        (["perturbdesk_bundle"], True, "expected a JSON object with perturbdesk_bundle"),
        (["more"], 1, "more is not known"),
        (["run"], [], "run is"),
        (["run", "more"], 1, "run.more is not known"),
        (["run", "\x1b[2J\n"], 1, "is not known"),
        (["run", "id"], "../../etc", "run.id is"),
        (["run", "name"], " ", "run.name is"),
        (["run", "name"], "x" * 2000, "run.name is"),
        (["run", "name"], "a\x1b[2Jb", "run.name is"),
        (["run", "track"], "D", "run.track is"),
        (["run", "spec"], "{}", "run.spec is"),
        (["run", "status"], "running", "run.status is"),
        (["run", "total"], -1, "run.total is"),
        (["run", "total"], 2**31, "run.total is"),
        (["run", "total"], 2, "total is 2, but 3 rows"),
        (["run", "done"], 3, "done is 3, but its rows say 2"),
        (["run", "failed"], 0, "failed is 0, but its rows say 1"),
        (["run", "fallbacks"], 0, "fallbacks is 0"),
        (["run", "tokens"], None, "tokens is None, but its rows say 12"),
        (["run", "spent_tokens"], 2**63, "run.spent_tokens is"),
        (["run", "public_score"], 1.2, "run.public_score is"),
        (["run", "note"], 5, "run.note is"),
        (["run", "created_at"], "yesterday", "run.created_at is"),
        (["run", "created_at"], "2026-01-05T09:30:00+00:00", "run.created_at is"),
        (["run", "created_at"], "0001-01-01T00:00:00", "run.created_at is .* from 1900 to 2199"),
        (["run", "parents"], ["abcdef0123"], "run.parents.1 is"),
        (["run", "parents"], [{"id": "x", "name": None}], "parents.1.id is"),
        (["dataset", "kind"], "quaternary", "dataset.kind is"),
        (["dataset", "sha256"], "0", "dataset.sha256 is"),
        (["parts"], {}, "parts holds"),
        (["parts", "note"], 5, "parts.note is"),
        (["parts", "note", "rows"], 2, "1 rows, expected 2"),
        (["parts", "note", "sha256"], "0" * 64, "its hash is not the one"),
        (["parts", "prediction", "sha256"], None, "parts.prediction.sha256 is"),
    ],
)
def test_a_manifest_that_is_none(sound: bytes, keys: list[str], value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read_bundle(with_manifest(sound, set_to(*keys, value=value)), "b.zip")
    assert str(refused.value).startswith("b.zip")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        *(
            b"",
            b"\xff",
            b"[]",
            b"null",
            b'{"perturbdesk_bundle": NaN}',
            b'{"a": "\\ud800"}',
            b'{"a": 1e999}',
        ),
        *(b"[" * 100_000, b'{"a": ' + b"9" * 5_000 + b"}", b" " * (1 << 23)),
    ],
)
def test_a_manifest_that_is_no_json(sound: bytes, text: bytes) -> None:
    _, files = opened(sound)
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_bundle(closed(text, files), "b.zip")


Rows = list[dict[str, Any]]


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        (
            "prediction",
            set_to(0, "prediction_up", value=float("nan")),
            "prediction_up, row 1: 'nan', expected 0 to 1",
        ),
        ("prediction", set_to(1, "p_de", value=1.1), "p_de, row 2: '1.1'"),
        ("prediction", set_to(0, "p_up_given_de", value=-0.1), "p_up_given_de, row 1"),
        ("prediction", set_to(0, "prediction_down", value=0.8), "up and down, row 1"),
        (
            "prediction",
            set_to(0, "prediction_up", value=None),
            "prediction_up, row 1: 'None', expected a value",
        ),
        (
            "prediction",
            set_to(2, "p_de", value=0.5),
            "p_de, row 3: '0.5', expected a value, unless",
        ),
        ("prediction", set_to(2, "p_up_given_de", value=0.5), "p_up_given_de, row 3"),
        ("prediction", set_to(0, "p_source", value="guess"), "p_source, row 1"),
        (
            "prediction",
            set_to(0, "p_source", value="none"),
            "prediction_up, row 1: '0.3', expected a value, unless",
        ),
        ("prediction", set_to(0, "flags", value="strange"), "flags: 'strange'"),
        ("prediction", set_to(0, "flags", value="role_collapse  de_fallback"), "flags, row 1"),
        ("prediction", set_to(0, "tokens", value=-7), "tokens, row 1"),
        ("prediction", set_to(0, "pair_id", value=""), "pair_id, row 1"),
        ("prediction", set_to(1, "pair_id", value="Pa_Ga"), "1 rows repeat the pair_id"),
        (
            "prediction",
            lambda rows: rows.pop(0),
            "trace_event, pair_id, row 1: 'Pa_Ga', expected one that stands in prediction",
        ),
        (
            "trace_event",
            set_to(0, "pair_id", value="Px_Gx"),
            "trace_event, pair_id, row 1: 'Px_Gx'",
        ),
        ("trace_event", set_to(1, "seq", value=0), "repeat the pair_id and seq"),
        ("trace_event", set_to(0, "findings", value="<b>"), "findings, row 1"),
        ("trace_event", set_to(0, "latency_ms", value=float("nan")), "latency_ms, row 1"),
        ("trace_event", set_to(0, "meta", value="[]"), "expected a JSON object"),
        ("trace_event", set_to(0, "meta", value='{"p": NaN}'), "expected a JSON object"),
        ("trace_event", set_to(0, "meta", value='{"a":' * 100_000), "expected a JSON object"),
        ("evidence", set_to(0, "status", value="fine"), "status, row 1"),
        ("evidence", set_to(0, "id", value="e2"), "row_evidence, evidence, row 1: 'e1'"),
        (
            "evidence",
            lambda rows: rows.append({**rows[0], "id": "e2"}),
            "evidence, id, row 2: 'e2', expected one that stands in",
        ),
        ("call", set_to(0, "request", value="no JSON"), "expected a JSON object"),
        ("call", lambda rows: rows.append(rows[0]), "1 rows repeat the id"),
        ("row_call", set_to(0, "call", value="c2"), "row_call, call, row 1: 'c2'"),
        ("note", set_to(0, "id", value="../x"), "12 hexadecimal digits"),
        ("note", set_to(0, "author", value=""), "author, row 1"),
        (
            "note",
            set_to(0, "written_at", value=datetime(9999, 12, 31)),
            "note, written_at, row 1: '9999-12-31 .*, expected a time from 1900 to 2199",
        ),
    ],
)
def test_rows_that_no_run_can_have(
    sound: bytes, part: str, change: Callable[[Rows], object], words: str
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read_bundle(with_rows(sound, part, change), "b.zip")
    assert str(refused.value).startswith("b.zip")
    assert "\n" not in str(refused.value)


def without_predictions(rows: Rows) -> None:
    for row in rows:
        if row["error"] is None:
            row.update({**NOTHING, "p_source": "none"})


def test_rows_without_predictions_are_those_of_a_reading_alone(sound: bytes) -> None:
    mute = with_rows(sound, "prediction", without_predictions)
    with pytest.raises(
        InputError, match="method is 'debate', but p_source is none; expected none of a reading"
    ):
        read_bundle(mute, "b.zip")
    reading = with_manifest(mute, set_to("run", "method", value="judge_rubric"))
    assert read_bundle(reading, "b.zip").run.method == "judge_rubric"
    with pytest.raises(InputError, match="method is 'judge_rubric', but p_source is trace"):
        read_bundle(with_manifest(sound, set_to("run", "method", value="judge_rubric")), "b.zip")


def table_of(part: str, **changed: pa.Array) -> pa.Table:
    table = tables()[part]
    for name, column in changed.items():
        at = table.schema.get_field_index(name)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
    return table


def bomb() -> bytes:
    """A thousand rows that share one text of a million characters."""
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * 1_000, pa.int32()), pa.array(["z" * 1_000_000])
    )
    columns = {
        "id": pa.array(map(str, range(1_000))),
        "key": pa.array(["x"] * 1_000),
        "request": pa.array(["x"] * 1_000),
    }
    columns |= {"reply": text}
    table = pa.table(columns).cast(pa.schema([(name, columns[name].type) for name in columns]))
    not_null = pa.schema([pa.field(name, columns[name].type, nullable=False) for name in columns])
    return written(table.cast(not_null), use_dictionary=["reply"])


@pytest.mark.parametrize(
    ("part", "data", "words"),
    [
        ("note", b"", "note.parquet: cannot be read as parquet"),
        ("note", b"id,text\n1,hello\n", "cannot be read as parquet"),
        ("note", b"PAR1" + bytes(100) + b"PAR1", "cannot be read as parquet"),
        ("note", written(table_of("note"))[:-30], "cannot be read as parquet"),
        (
            "note",
            written(table_of("note", more=pa.array([1]))),
            "columns 'more int64', expected id string",
        ),
        ("note", written(table_of("note").drop_columns("text")), "text string, never missing"),
        ("note", written(table_of("note", text=pa.array([5]))), "columns 'text int64', expected"),
        (
            "note",
            written(table_of("note", text=pa.array(["x"]))),
            "columns 'text string', expected .*text string, never missing",
        ),
        (
            "note",
            written(tables()["note"].select(["text", "id", "pair_id", "author", "written_at"])),
            "in this order",
        ),
        ("prediction", written(tables()["note"]), "columns "),
        (
            "note",
            written(tables()["note"], compression="zstd"),
            "packed by ZSTD, expected plain pages",
        ),
        (
            "call",
            bomb(),
            r"call.parquet: packed by .*DICTIONARY, expected plain pages",
        ),
    ],
)
def test_files_that_are_no_part(sound: bytes, part: str, data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_bundle(with_files(sound, {"call": 1_000}, **{part: data}), "b.zip")


def test_text_that_is_no_text(sound: bytes) -> None:
    column = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    table = table_of("note", text=column).cast(SCHEMAS["note"])
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read_bundle(with_files(sound, note=written(table)), "b.zip")


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (part, field.name)
        for part, schema in SCHEMAS.items()
        for field in schema
        if pa.types.is_timestamp(field.type)
    ],
)
@pytest.mark.parametrize("microseconds", [2**63 - 1, -(2**62)])
def test_times_that_no_clock_shows(sound: bytes, part: str, name: str, microseconds: int) -> None:
    times = {name: pa.array([microseconds], pa.timestamp("us"))}
    table = table_of(part, **times).cast(SCHEMAS[part])
    with pytest.raises(InputError, match=rf"b\.zip/{part}, {name}, row 1: .* from 1900 to 2199"):
        read_bundle(with_files(sound, **{part: written(table)}), "b.zip")


def test_members_that_are_too_many_or_too_few(sound: bytes) -> None:
    manifest, files = opened(sound)
    with pytest.raises(InputError, match=r"holds .*label\.parquet"):
        read_bundle(closed(manifest, files | {"label": b"x"}), "b.zip")
    with pytest.raises(InputError, match="expected a bundle's"):
        read_bundle(
            closed(manifest, {part: data for part, data in files.items() if part != "note"}),
            "b.zip",
        )
    twice = io.BytesIO(sound)
    with zipfile.ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("note.parquet", b"x")
    with pytest.raises(UnsafeFile, match=r"'note\.parquet' is there 2 times"):
        read_bundle(twice.getvalue(), "b.zip")
    with pytest.raises(UnsafeFile, match="leaves the archive"):
        read_bundle(closed(manifest, files | {"../note": b"x"}), "b.zip")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_a_bundle_that_was_cut(sound: bytes, share: float) -> None:
    with pytest.raises(InputError, match=r"b\.zip: damaged zip"):
        read_bundle(sound[: int(share * len(sound))], "b.zip")


def test_what_cannot_be_written_down() -> None:
    odd = replace(RUN, spec={"x": float("nan")})
    with pytest.raises(InputError, match="run one: cannot be written down"):
        write_bundle(Bundle(odd, DATASET, parts()))
