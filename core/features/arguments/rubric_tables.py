"""Rubrics of the user's own, the texts of runs that they ask about, samples of these texts, and
labels: the answers of people.

A text is one event of a trace (unit brief, speech or verdict), found by its row and seq; or a whole
row, of seq -1 and without a role.
Tables of labels and samples name the rubric by its name and its content's hash: an answer to
another wording is another answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa

from core.base.fields.setting import Count, Whole, setting
from core.base.records import parse, to_json
from core.base.types import MarkedPassage
from core.features.arguments.rubric import Rubric
from core.methods.text_rules.text import Unit
from core.store.connection import Cursor
from core.store.evidence import has_evidence
from core.store.queries import insert, records
from core.store.traces import OF_PAIRS, TEXT_KINDS, split_events

if TYPE_CHECKING:
    import pandas as pd

Design = Literal["simple", "stratified"]
WHOLE_ROW = -1  # the seq of a text that is a whole row
KINDS: Mapping[Unit, tuple[str, ...]] = {
    "brief": ("brief",),
    "speech": ("brief", "rebuttal", "verdict"),
    "verdict": ("verdict",),
    "row": TEXT_KINDS,
}  # of events, by unit
_ROLES_IN_ORDER = (
    "coalesce(list_position(['EFFECT', 'NULL', 'UP', 'DOWN', 'JUDGE'], role), 9), role"
)


def put(cursor: Cursor, rubric: Rubric, author: str) -> None:
    """Keep a rubric under a name that none has."""
    cursor.execute(
        "INSERT INTO rubric VALUES (?, ?, ?, ?, now()::TIMESTAMP)",
        [rubric.name, rubric.sha256, json.dumps(to_json(rubric), sort_keys=True), author],
    )


def list_own(cursor: Cursor) -> list[Rubric]:
    """Return the rubrics added by people, in the order of adding."""
    rows = cursor.execute("SELECT content FROM rubric ORDER BY added_at, name").fetchall()
    return [parse(Rubric, content, "rubric") for (content,) in rows]


def texts(
    cursor: Cursor, run: str, rubric: Rubric, pair_ids: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the texts of a run that a rubric asks about, rows in file order.

    Columns: pair_id, pert, gene, seq, stage, role, content, findings, flags, briefs, has_dossier.
    pair_ids: of the rows whose texts are wanted, None for all. findings: a list of the keys of
    `core.methods.brief_checks.FINDINGS`; empty for whole rows. A whole row's content
    joins its events, each under a line "ROLE (kind)"; roles and stages then choose among the
    events. flags, briefs, has_dossier: as of `core.methods.text_rules.text.RuleText`.
    """
    where, values = _event_condition(run, rubric)
    if pair_ids is not None:
        where, values = f"{where} AND list_contains(?, e.pair_id)", [*values, list(pair_ids)]
    return (
        cursor.execute(_texts_query(rubric, where), values)
        .df()
        .assign(has_dossier=has_evidence(cursor, run))
    )


def text_batches(cursor: Cursor, run: str, rubric: Rubric) -> Iterator[pd.DataFrame]:
    """Yield all of `texts`, the texts of some rows at a time; a run without any yields once,
    nothing."""
    has_dossier, found = has_evidence(cursor, run), False
    for batch in split_events(cursor, *_event_condition(run, rubric), "p.position, e.seq"):
        found = True
        yield (
            cursor.execute(_texts_query(rubric, batch.condition), batch.values)
            .df()
            .assign(has_dossier=has_dossier)
        )
    if not found:
        yield texts(cursor, run, rubric)


def rows_with_texts(cursor: Cursor, run: str, rubric: Rubric) -> set[str]:
    """Return the ids of the rows that have a text which a rubric asks about."""
    where, values = _event_condition(run, rubric)
    return {
        key
        for (key,) in cursor.execute(
            f"SELECT DISTINCT e.pair_id FROM {OF_PAIRS} WHERE {where}", values
        ).fetchall()
    }


def _event_condition(run: str, rubric: Rubric) -> tuple[str, list[object]]:
    """Return the SQL condition for the events of a run that a rubric asks about, and its
    parameters."""
    conditions = ["e.run = ?", "list_contains(?, e.kind)"]
    values: list[object] = [run, list(KINDS[rubric.unit])]
    for column, chosen in (("role", rubric.roles), ("stage", rubric.stages)):
        if chosen:
            conditions.append(f"list_contains(?, e.{column})")
            values.append(list(chosen))
    return " AND ".join(conditions), values


def _texts_query(rubric: Rubric, where: str) -> str:
    source = (
        f"FROM {OF_PAIRS} LEFT JOIN prediction q ON q.run = e.run AND q.pair_id = e.pair_id WHERE"
        f" {where}"
    )
    brief = "{'role': e.role, 'findings': e.findings}"
    briefs = f"coalesce(list({brief} ORDER BY e.seq) FILTER (e.kind = 'brief'), [])"
    flags = "coalesce(q.flags, []::VARCHAR[])"
    if rubric.unit == "row":
        return f"""SELECT e.pair_id, any_value(p.pert) AS pert, any_value(p.gene) AS gene,
        {WHOLE_ROW} AS seq, '' AS stage,
                      '' AS role, string_agg(e.role || ' (' || e.kind || '):' || chr(10) ||
                      e.content, chr(10) || chr(10)
                      ORDER BY e.seq) AS content, []::VARCHAR[] AS findings, any_value({flags}) AS
                      flags, {briefs} AS briefs
                    {source} GROUP BY e.pair_id ORDER BY any_value(p.position)"""
    return f"""SELECT e.pair_id, p.pert, p.gene, e.seq, e.stage, e.role, e.content, e.findings,
    {flags} AS flags,
                 [] AS briefs {source} ORDER BY p.position, e.seq"""


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Texts to draw. size: None for no draw. seed: the same seed draws the same texts."""

    size: Annotated[
        Count | None,
        setting("Draw N texts to read.", title="Texts", name="sample", metavar="N", key="size"),
    ] = None
    design: Annotated[
        Design,
        setting(
            "At random, or by a model's answers, which needs a reading.",
            title="How they are drawn",
            words={
                "simple": "at random",
                "stratified": "equal numbers of each of the judge's answers",
            },
            name="by",
            key="by",
        ),
    ] = "simple"
    seed: Annotated[
        Whole, setting("Random seed; the same seed draws the same texts.", where="command")
    ] = 0


@dataclass(frozen=True, slots=True)
class SampledText:
    """One text of a sample. probability: with which the design includes it, in (0, 1]."""

    pair_id: str
    seq: int
    role: str
    probability: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts of a run drawn for a rubric, in the order in which they are read, which is random.

    id: a hash of what was drawn. rubric_sha256: of the rubric's content. reading: the run of
    `judge_rubric` whose answers are the strata, "" for none.
    """

    id: str
    rubric: str
    rubric_sha256: str
    run: str
    design: Design
    reading: str
    seed: int
    author: str
    texts: tuple[SampledText, ...]
    drawn_at: datetime | None = field(default=None, compare=False)


def add_sample(cursor: Cursor, sample: Sample) -> None:
    """Keep a sample, dated now."""
    cursor.execute(
        "INSERT INTO text_sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)",
        [
            sample.id,
            sample.rubric,
            sample.rubric_sha256,
            sample.run,
            sample.design,
            sample.reading,
            sample.seed,
            sample.author,
        ],
    )
    insert(
        cursor,
        "sampled_text",
        {
            "sample": pa.repeat(sample.id, len(sample.texts)),
            "position": pa.array(range(len(sample.texts)), pa.int32()),
            "pair_id": [text.pair_id for text in sample.texts],
            "seq": pa.array([text.seq for text in sample.texts], pa.int16()),
            "role": [text.role for text in sample.texts],
            "probability": pa.array([text.probability for text in sample.texts], pa.float64()),
        },
    )


def samples(cursor: Cursor, rubric: Rubric, run: str) -> list[Sample]:
    """Return the samples that were drawn for a rubric, in its present wording, from a run; the
    first drawn first."""
    found = records(
        cursor,
        "SELECT * FROM text_sample WHERE rubric = ? AND rubric_sha256 = ? AND run = ? ORDER BY"
        " drawn_at, id",
        [rubric.name, rubric.sha256, run],
    )
    chosen = (
        "SELECT pair_id, seq, role, probability FROM sampled_text WHERE sample = ? ORDER BY"
        " position"
    )
    return [
        Sample(
            **row,
            texts=tuple(SampledText(**each) for each in records(cursor, chosen, [str(row["id"])])),
        )
        for row in found
    ]


@dataclass(frozen=True, slots=True)
class TextLabel:
    """A person's answer to a rubric for one text.

    sample: the id of the sample in which the text was read, None if it was read outside of any.
    """

    pair_id: str
    seq: int
    role: str
    answer: str
    author: str
    sample: str | None = None
    labelled_at: datetime | None = field(default=None, compare=False)


def put_labels(cursor: Cursor, rubric: Rubric, run: str, labels: Sequence[TextLabel]) -> None:
    """Store labels, dated now unless they have a date, each replacing the same author's label of
    the text."""
    for label in labels:
        delete_label(cursor, rubric, run, label)
        text = [label.pair_id, label.seq, label.role]
        answer = [label.answer, label.author, label.sample, label.labelled_at]
        cursor.execute(
            "INSERT INTO text_label VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?,"
            " now()::TIMESTAMP))",
            [rubric.name, rubric.sha256, run, *text, *answer],
        )


def delete_label(cursor: Cursor, rubric: Rubric, run: str, label: TextLabel) -> None:
    """Delete an author's label of a text."""
    cursor.execute(
        """DELETE FROM text_label WHERE rubric = ? AND rubric_sha256 = ? AND run = ? AND pair_id = ?
        AND seq = ?
           AND author = ?""",
        [rubric.name, rubric.sha256, run, label.pair_id, label.seq, label.author],
    )


def labels(cursor: Cursor, rubric: Rubric, run: str) -> list[TextLabel]:
    """Return the labels of a run's texts for a rubric, in its present wording, in the order in
    which they were given."""
    found = records(
        cursor,
        """SELECT pair_id, seq, role, answer, author, sample, labelled_at FROM text_label
           WHERE rubric = ? AND rubric_sha256 = ? AND run = ? ORDER BY labelled_at, pair_id, seq""",
        [rubric.name, rubric.sha256, run],
    )
    return [TextLabel(**row) for row in found]


def readings(cursor: Cursor, reading: str) -> pd.DataFrame:
    """Return the answers of a reading.

    Columns: pair_id, seq, role, stage, answer ("" if it could not be read), p (of the rubric's
    first answer; NaN without log-probabilities), passage (which decided it; "" if none was asked
    for or found in the text).
    """
    return cursor.execute(
        f"""SELECT pair_id, CAST(json_extract(meta, '$.of_seq') AS SMALLINT) AS seq, role, stage,
              coalesce(json_extract_string(meta, '$.answer'), '') AS answer,
              TRY_CAST(json_extract(meta, '$.p') AS DOUBLE) AS p,
              coalesce(json_extract_string(meta, '$.passage'), '') AS passage
            FROM trace_event WHERE run = ? AND kind = 'reading' ORDER BY pair_id, seq,
            {_ROLES_IN_ORDER}""",
        [reading],
    ).df()


def findings(cursor: Cursor, reading: str, pair_id: str | None = None) -> list[dict[str, Any]]:
    """Return the events of a run of `read_findings`, rows in file order: pair_id, pert, gene, seq,
    stage, role, kind ("reading" of a text or debate, "finding" in it), and what its meta holds.
    pair_id: of one row alone."""
    found = records(
        cursor,
        f"""SELECT e.pair_id, p.pert, p.gene, CAST(json_extract(e.meta, '$.of_seq') AS SMALLINT) AS
        seq, e.stage, e.role,
              e.kind, e.meta FROM {OF_PAIRS}
            WHERE e.run = ? AND e.kind IN ('reading', 'finding') AND (? IS NULL OR e.pair_id = ?)
            ORDER BY p.position, e.seq""",
        [reading, pair_id, pair_id],
    )
    return [{**json.loads(event.pop("meta")), **event} for event in found]


def passages(cursor: Cursor, run: str, pair_id: str) -> list[MarkedPassage]:
    """Return the passages that finished readings of a run (id) marked in a row's texts, those of
    the newest reading first."""
    made = cursor.execute(
        """SELECT id, json_extract_string(json_extract_string(spec, '$.options.rubric'), '$.name')
        FROM run
           WHERE method = 'judge_rubric' AND status = 'done' AND list_contains(parents, ?)
             AND json_extract_string(spec, '$.options.passage') = 'true' ORDER BY created_at DESC,
             name""",
        [run],
    ).fetchall()
    found = []
    for reading, rubric in made:
        marked = cursor.execute(
            """SELECT stage, role, json_extract_string(meta, '$.answer'), json_extract_string(meta,
            '$.passage') FROM trace_event
               WHERE run = ? AND pair_id = ? AND kind = 'reading' AND json_extract(meta,
               '$.passage') IS NOT NULL ORDER BY seq""",
            [reading, pair_id],
        ).fetchall()
        found += [
            MarkedPassage(stage, role, rubric, answer, text) for stage, role, answer, text in marked
        ]
    return found
