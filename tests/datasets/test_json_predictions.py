from __future__ import annotations

import json
from typing import Any

import pytest

from core.datasets import SubmissionTable, read
from core.errors import UnknownFormat
from core.importing.files import recognise

ROWS = [{"id": "Pa_Ga", "prediction_up": 0.2, "prediction_down": 0.3}, {"pair_id": "Pa_Gb", "p_de": 0.5, "p_up_given_de": 0.2}]


@pytest.mark.parametrize("text", [json.dumps(ROWS), "\n".join(map(json.dumps, ROWS)), "\ufeff" + json.dumps(ROWS)])
def test_a_list_and_lines_are_read(text: str) -> None:
    found = read(text.encode(), "x.json")
    assert isinstance(found, SubmissionTable)
    numbers = [(r.prediction.pair_id, r.prediction.prediction_up, r.prediction.prediction_down) for r in found.rows]
    assert numbers == [("Pa_Ga", 0.2, 0.3), ("Pa_Gb", pytest.approx(0.1), pytest.approx(0.4))]
    assert (found.kind, found.track, found.lines) == ("submission", "C", (1, 2))


def test_rows_that_cannot_be_read_are_rejected_by_name() -> None:
    odd: list[Any] = [{"prediction_up": 0.2}, ROWS[0], {"id": "Pb_Ga"}, {**ROWS[0], "id": "Pb_Gb", "prediction_up": 20}, None]
    found = read(json.dumps([ROWS[0], *odd]).encode(), "x.json")
    assert [(row.line, row.reason) for row in found.rejected] == [
        (2, "empty cell"), (3, "duplicate"), (4, "not a number"), (5, "out of range"), (6, "empty cell"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([{"id": "a", "traceId": "t", "name": "n"}], "an export of Langfuse"),
        ({"resourceSpans": []}, "traces of OpenTelemetry"),
        ([{"trace_id": "a", "span_id": "b"}], "traces of OpenTelemetry"),
        ([{"custom_id": "a", "response": {}}, {"custom_id": "b", "response": {}}], "the output of a batch of completions"),
        ([{"messages": []}], "examples for fine-tuning"),
    ],
)
def test_what_is_not_imported_is_named_for_what_it_is(value: Any, what: str, tmp_path: Any) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps(value))
    with pytest.raises(UnknownFormat, match=what):
        recognise(file)


def test_excels_line_of_a_separator_is_named() -> None:
    with pytest.raises(UnknownFormat, match="begins with Excel's line 'sep='"):
        read(b"sep=,\nid,up\n", "x.csv")
