"""A run's events in batches: together they are what one query returns, in its order."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pytest

from core.base.workbook import encode
from core.features.arguments import rubric_tables
from core.features.importing import bundle_actions
from core.features.importing.bundles import read_bundle
from core.features.importing.export import export
from core.features.sharing.site.actions import zip_site
from core.runs.workspace import Workspace
from core.store import Cursor, runs, traces
from core.store.traces import OF_PAIRS, split_events
from tests.features.arguments.test_rubric_tables import RUBRIC

FORMS = ("csv", "jsonl", "parquet", "eval")


@pytest.fixture(params=[1, 300, 1 << 30], ids=["a row a batch", "a few rows", "one batch"])
def batch_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The texts of a batch."""
    monkeypatch.setattr(traces, "BATCH_BYTES", request.param)
    return int(request.param)


@pytest.fixture
def db(small_workspace: Workspace) -> Iterator[Cursor]:
    with small_workspace.store.read() as cursor:
        yield cursor


@pytest.mark.soak
def test_batches_are_all_events_in_order_and_split_no_row(db: Cursor, batch_bytes: int) -> None:
    run, found = runs.find(db, "debate").id, []
    for batch in split_events(db, "e.run = ?", [run], "p.position, e.seq"):
        query = f"SELECT e.pair_id, e.seq FROM {OF_PAIRS} WHERE {batch.condition} ORDER BY p.position, e.seq"
        found.append(db.execute(query, batch.values).fetchall())
    whole = f"SELECT e.pair_id, e.seq FROM {OF_PAIRS} WHERE e.run = ? ORDER BY p.position, e.seq"
    assert [row for rows in found for row in rows] == db.execute(whole, [run]).fetchall()
    rows = [pair_id for of_batch in found for pair_id in {pair_id for pair_id, _ in of_batch}]
    assert len(rows) == len(set(rows))
    assert (len(found) > 1) == (batch_bytes < 1 << 30)


@pytest.mark.few(1)
@pytest.mark.usefixtures("batch_bytes")
def test_frames_and_texts_are_those_of_one_query(db: Cursor) -> None:
    run = runs.find(db, "debate").id
    pd.testing.assert_frame_equal(
        pd.concat(traces.frames(db, run), ignore_index=True), traces.frame(db, run)
    )
    for rubric in (RUBRIC, replace(RUBRIC, unit="row"), replace(RUBRIC, roles=("nobody",))):
        joined = pd.concat(rubric_tables.text_batches(db, run, rubric), ignore_index=True)
        pd.testing.assert_frame_equal(joined, rubric_tables.texts(db, run, rubric))
        assert rubric_tables.rows_with_texts(db, run, rubric) == set(joined["pair_id"])


@pytest.mark.soak
def test_a_reader_that_stops_halfway_leaves_nothing_behind(db: Cursor) -> None:
    run = runs.find(db, "debate").id
    rows = traces.each_row(db, run)
    next(rows)
    assert next(traces.each_row(db, run)).events  # another reads meanwhile
    rows.close()
    assert not db.execute(
        "SELECT 1 FROM duckdb_views() WHERE view_name LIKE 'chosen_events%'"
    ).fetchall()


def content_of(bundle: bytes) -> tuple[object, dict[str, list[dict[str, object]]]]:
    """What a bundle holds: its run and the rows of each part."""
    opened = read_bundle(bundle, "a bundle")
    parts = {name: pq.read_table(part.file).to_pylist() for name, part in opened.parts.items()}
    return opened.run, parts


@pytest.mark.few(1)
@pytest.mark.usefixtures("batch_bytes")
def test_files_of_a_run_are_the_same_however_it_is_read(small_workspace: Workspace) -> None:
    made = bundle_actions.build_bundle(small_workspace, "debate")
    site = zip_site(small_workspace, "debate")
    tables = {form: export(small_workspace, "debate", form, with_traces=True)[0] for form in FORMS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "BATCH_BYTES", 1 << 30)
        assert zip_site(small_workspace, "debate") == site
        whole = bundle_actions.build_bundle(small_workspace, "debate")
        assert content_of(whole.content) == content_of(made.content)
        again = {
            form: export(small_workspace, "debate", form, with_traces=True)[0] for form in FORMS
        }
    assert [again[form] == tables[form] for form in FORMS if form != "parquet"] == [True] * 3
    with small_workspace.store.read() as db:
        expected = traces.frame(db, runs.find(db, "debate").id)
    back, whole_back = (
        pd.read_parquet(io.BytesIO(content))
        for content in (tables["parquet"], encode(expected, "parquet"))
    )
    pd.testing.assert_frame_equal(back, whole_back)
