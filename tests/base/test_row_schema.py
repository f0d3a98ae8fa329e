"""All forms of a row have the columns of `core.base.row_schema`: records, journal, packaged trace, bundle and store."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from core.base.row_schema import RECORDS, ROW_TABLES, TABLES, field_names
from core.base.types import Call, Evidence, Flag, Prediction, RowResult, TraceEvent
from core.features.importing.bundle_parts import SCHEMAS
from core.features.importing.traces import write_trace
from core.runs.journal import encode_entry
from core.runs.workspace import Workspace

# What no record has: what tells rows of a table apart, what others refer to, and what is found out when a row is stored.
NOT_OF_A_RECORD = {
    "prediction": {"pert", "gene", "error"},
    "trace_event": {"pair_id", "seq", "findings"},
    "evidence": {"id"},
    "call": {"id"},
    "row_call": {"pair_id", "seq", "call"},
}
IN_THE_STORE = {  # what DuckDB calls the types, where it is not "VARCHAR"
    "words": "VARCHAR[]",
    **dict.fromkeys(("share", "number"), "DOUBLE"),
    "index": "SMALLINT",
    "count": "INTEGER",
    "total": "BIGINT",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP",
}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_of_a_record_is_a_column_and_every_column_a_field(record: type) -> None:
    columns = [
        name
        for table in RECORDS[record]
        for name in TABLES[table].names
        if name not in NOT_OF_A_RECORD[table]
    ]
    assert sorted(columns) == sorted(field_names(record))


@pytest.mark.soak
@pytest.mark.parametrize("name", TABLES)
def test_the_table_in_the_store_has_these_columns(workspace: Workspace, name: str) -> None:
    with workspace.store.read() as db:
        found = db.execute(
            'SELECT name, type, "notnull" FROM pragma_table_info(?)', [name]
        ).fetchall()
    table = TABLES[name]
    expected = [
        (column.name, IN_THE_STORE.get(column.kind, "VARCHAR"), column.missing == "never")
        for column in table.columns
        if not column.of_pair
    ]
    expected += [(name, "VARCHAR", False) for name in table.not_sent]
    assert sorted(found) == sorted(
        [*expected, *([] if table.shared else [("run", "VARCHAR", True)])]
    )


def test_a_bundle_has_these_tables_and_columns() -> None:
    assert {part: tuple(schema.names) for part, schema in SCHEMAS.items()} == {
        name: table.names for name, table in TABLES.items()
    }
    assert ROW_TABLES == ("prediction", "trace_event", "row_evidence", "row_call")


ROW = RowResult(
    Prediction("Pa_Ga", 0.3, 0.1, 0.4, 0.75, "trace", (Flag.DE_FALLBACK,), 9, 7, 1),
    (TraceEvent("de", "EFFECT", "brief", "It acts.", 9, 12.5, {"seed": 7}),),
    (
        Evidence(
            "gene_class", "Ga", "ok", "a table", datetime(2026, 1, 2), {"class": "kinase"}, "view"
        ),
    ),
    (Call("k", "de", "EFFECT", "{}", "{}", True, 1, 2.5, 7, 2, 0, ""),),
)


def test_a_line_of_a_journal_has_every_field() -> None:
    row = json.loads(encode_entry(ROW))["row"]
    assert tuple(row["prediction"]) == field_names(Prediction)
    assert len(row["events"][0]) == len(field_names(TraceEvent))
    assert tuple(row["evidence"][0]) == field_names(Evidence)
    assert tuple(row["calls"][0]) == field_names(Call)


def test_a_packaged_trace_has_every_field_that_a_submission_has_no_column_for() -> None:
    trace = json.loads(write_trace(ROW, "debate"))
    spelled = {"P_DE": "p_de", "P_up_given_DE": "p_up_given_de"}
    fields = [
        spelled.get(key, key) for key in trace if key not in ("perturbdesk", "method", "events")
    ]
    assert ("pair_id", "prediction_up", "prediction_down", *fields) == field_names(Prediction)
    assert tuple(trace["events"][0]) == field_names(TraceEvent)
