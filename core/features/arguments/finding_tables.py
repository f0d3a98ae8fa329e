"""The audit's findings in a run's briefs: computed again from the store, and counted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from core.base.types import Flag
from core.features.arguments.brief_checks import check_brief, citable_by, citable_terms
from core.features.arguments.debate_audit import DebateFacts
from core.store import evidence, predictions, traces
from core.store.connection import Cursor
from core.store.traces import split_events


def update(cursor: Cursor, run: str) -> None:
    """Set the findings of a run's briefs, the flag of the rows in which a role collapsed, and the
    number of these rows.

    A row whose method found the collapse keeps its flag.
    """
    dossiers = dict(_dossiers(cursor, run))
    places: list[tuple[str, int]] = []
    found: list[tuple[str, ...]] = []
    for batch in split_events(cursor, "e.run = ? AND e.kind = 'brief'", [run], "e.pair_id, e.seq"):
        query = (
            f"SELECT e.pair_id, e.seq, e.role, e.content FROM trace_event e WHERE {batch.condition}"
            " ORDER BY e.pair_id, e.seq"
        )
        for pair_id, seq, role, text in cursor.execute(query, batch.values).fetchall():
            places.append((pair_id, seq))
            found.append(check_brief(role, text, pair_id, dossiers.get(pair_id, ())))
    columns = {
        "pair_id": [pair_id for pair_id, _ in places],
        "seq": pa.array([seq for _, seq in places], pa.int16()),
        "findings": pa.array(found, pa.list_(pa.string())),
        "is_collapsed": pa.array(["answers" in findings for findings in found], pa.bool_()),
    }
    cursor.register("found", pa.table(columns))
    try:
        cursor.execute(
            """UPDATE trace_event e SET findings = f.findings FROM found f
               WHERE e.run = ? AND e.pair_id = f.pair_id AND e.seq = f.seq""",
            [run],
        )
        cursor.execute(
            """UPDATE prediction SET flags = list_append(flags, ?) WHERE run = ? AND NOT
            list_contains(flags, ?)
               AND pair_id IN (SELECT pair_id FROM found WHERE is_collapsed)""",
            [str(Flag.ROLE_COLLAPSE), run, str(Flag.ROLE_COLLAPSE)],
        )
    finally:
        cursor.unregister("found")
    cursor.execute(
        "UPDATE run SET collapsed = (SELECT count(*) FROM prediction WHERE run = ? AND"
        " list_contains(flags, ?)) WHERE id = ?",
        [run, str(Flag.ROLE_COLLAPSE), run],
    )


def _dossiers(cursor: Cursor, run: str) -> Iterator[tuple[str, set[str]]]:
    """Yield pair id and the terms of its dossier that a brief can cite, for every row that has a
    dossier."""
    bodies = cursor.execute(
        "SELECT id, body FROM evidence WHERE id IN (SELECT evidence FROM row_evidence WHERE run"
        " = ?)",
        [run],
    ).fetchall()
    terms = {key: citable_terms(json.loads(body)) for key, body in bodies}
    rows = cursor.execute(
        "SELECT pair_id, list(evidence) FROM row_evidence WHERE run = ? GROUP BY pair_id", [run]
    ).fetchall()
    for pair_id, keys in rows:
        yield pair_id, citable_by(pair_id, [terms[key] for key in keys])


def debate_facts(cursor: Cursor, run: str) -> DebateFacts:
    """Return the data for the audit of a debate."""
    return DebateFacts(
        briefs=traces.briefs(cursor, run),
        rows_by_arguing=traces.rows_by_arguing(cursor, run),
        flags=predictions.flag_counts(cursor, run),
        p_de=predictions.p_de_of(cursor, run),
        has_dossier=evidence.has_evidence(cursor, run),
    )
