from __future__ import annotations

import json
from typing import Any

import pytest

from core.base.errors import InputError, UnknownFormat
from core.features.importing.files import recognise
from core.features.importing.reader import read
from core.features.importing.roles import TableOptions
from core.features.importing.submissions import SubmissionTable

ROWS = [
    {"id": "Pa_Ga", "prediction_up": 0.2, "prediction_down": 0.3},
    {"id": "Pa_Gb", "prediction_up": 0.1, "prediction_down": 0.4},
]
SPLIT = [
    {"pair_id": "Pa_Ga", "p_de": 0.5, "p_up_given_de": 0.4},
    {"pair_id": "Pa_Gb", "p_de": 0.5, "p_up_given_de": 0.2},
]


@pytest.mark.parametrize("rows", [ROWS, SPLIT])
@pytest.mark.parametrize("form", ["list", "lines", "mark", "rows", "by id"])
def test_every_form_of_rows_is_read(form: str, rows: list[dict[str, Any]]) -> None:
    key = next(iter(rows[0]))
    forms = {
        "list": json.dumps(rows),
        "lines": "\n".join(map(json.dumps, rows)),
        "mark": "\ufeff" + json.dumps(rows),
        "rows": json.dumps({"rows": rows}),
        "by id": json.dumps(
            {"rows": {row[key]: {k: v for k, v in row.items() if k != key} for row in rows}}
        ),
    }
    table = read(forms[form].encode(), "x.json")
    assert isinstance(table, SubmissionTable)
    numbers = [
        (r.prediction.pair_id, r.prediction.prediction_up, r.prediction.prediction_down)
        for r in table.rows
    ]
    assert numbers == [
        ("Pa_Ga", pytest.approx(0.2), pytest.approx(0.3)),
        ("Pa_Gb", pytest.approx(0.1), pytest.approx(0.4)),
    ]
    assert (table.kind, table.track, table.lines) == ("submission", "C", (1, 2))


def test_reasoning_model_and_tokens_stay() -> None:
    more = {"reasoning_trace": "It binds.", "tokens_used": 12, "model_name": "m"}
    table = read(
        json.dumps({"rows": {row["id"]: {**row, **more} for row in ROWS}}).encode(),
        "responses_cache.json",
    )
    assert isinstance(table, SubmissionTable)
    assert table.model_name == "m"
    assert [(row.prediction.tokens, row.events[0].content) for row in table.rows] == [
        (12, "It binds.")
    ] * 2


def test_replies_by_seed_are_read_or_the_seed_is_asked_for() -> None:
    ids = [f"P{i}_Ga" for i in range(6)]

    def by_seed(*seeds):
        reply = {"text": "<answer>A</answer>", "tokens": 12}
        return json.dumps(
            {"rows": {key: {"seeds": dict.fromkeys(seeds, reply)} for key in ids}}
        ).encode()

    one = read(by_seed("42"), "cache.json")
    assert isinstance(one, SubmissionTable)
    assert [
        (row.prediction.pair_id, row.prediction.prediction_up, row.prediction.tokens)
        for row in one.rows
    ] == [(key, 1.0, 12) for key in ids]
    with pytest.raises(InputError, match="--where seed=42"):
        read(by_seed("42", "43"), "cache.json")
    assert read(
        by_seed("42", "43"), "cache.json", options=TableOptions(where={"seed": "42"})
    ).lines == tuple(range(1, 12, 2))


def test_rows_that_cannot_be_read_are_rejected_by_name() -> None:
    odd = [
        {"prediction_up": 0.2},
        ROWS[0],
        {"id": "Pb_Ga"},
        {**ROWS[0], "id": "Pb_Gb", "prediction_up": 20},
        None,
    ]
    table = read(json.dumps([ROWS[0], *odd]).encode(), "x.json")
    assert {(row.line, row.reason) for row in table.rejected} == {
        (2, "empty cell"), (3, "duplicate"), (4, "empty cell"), (5, "out of range"), (6, "empty cell"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([{"id": "a", "traceId": "t", "name": "n"}], "a log of calls or examples"),
        ({"resourceSpans": []}, "a log of calls or examples"),
        ([{"trace_id": "a", "span_id": "b"}], "a log of calls or examples"),
        (
            [{"custom_id": "a", "response": {}}, {"custom_id": "b", "response": {}}],
            "a log of calls or examples",
        ),
        ([{"messages": []}], "a log of calls or examples"),
    ],
)
def test_what_is_not_imported_is_named_for_what_it_is(value: Any, what: str, tmp_path: Any) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps(value))
    with pytest.raises(UnknownFormat, match=what):
        recognise(file)
