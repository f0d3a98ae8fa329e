"""Labels as CSV: one row an answer, and one without an answer for each text of a sample that nobody
has labelled yet, so that it may be filled in."""

from __future__ import annotations

import io
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime

from core.base.errors import InputError
from core.base.tables import text_table
from core.base.texts import quote
from core.base.workbook import encode
from core.features.arguments import rubric_tables
from core.features.arguments.labels import check_label, text_keys
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import SampledText, TextLabel
from core.runs.workspace import Workspace
from core.store import changes, runs

REQUIRED = ("pair_id", "role", "answer", "author")
COLUMNS = ("pair_id", "seq", "role", "answer", "author", "labelled_at", "sample", "rubric")


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    """What an import changed: labels that are new, that replaced another answer of the same author,
    and that were there."""

    new: int
    changed: int
    known: int


def export_csv(workspace: Workspace, rubric: Rubric, run: str) -> tuple[bytes, int]:
    """Return the labels of a run for a rubric, and its unlabelled sample texts, one per row, and
    how many labels these are.

    Samples come first, in the order in which they are read.
    """
    import pandas as pd

    with workspace.store.read() as db:
        found = runs.find(db, run)
        labels, samples = (
            rubric_tables.labels(db, rubric, found.id),
            rubric_tables.samples(db, rubric, found.id),
        )
    given: dict[tuple[str | None, str, int], list[TextLabel]] = {}
    for label in labels:
        given.setdefault((label.sample, label.pair_id, label.seq), []).append(label)
    rows = list[tuple[str, ...]]()
    for sample in samples:
        for text in sample.texts:
            of_text = given.get((sample.id, text.pair_id, text.seq), [None])
            rows += [(*_cells(text, label), sample.id, rubric.name) for label in of_text]
    rows += [(*_cells(label, label), "", rubric.name) for label in labels if label.sample is None]
    return encode(pd.DataFrame(rows, columns=list(COLUMNS), dtype=str), "csv"), len(labels)


def _cells(text: SampledText | TextLabel, label: TextLabel | None) -> tuple[str, ...]:
    place = (text.pair_id, str(text.seq), text.role)
    if label is None:
        return (*place, "", "", "")
    return (
        *place,
        label.answer,
        label.author,
        label.labelled_at.isoformat() if label.labelled_at else "",
    )


def import_csv(
    workspace: Workspace, rubric: Rubric, run: str, content: bytes, file: str
) -> ImportedLabels:
    """Import labels of a run for a rubric; all or none.

    Columns: REQUIRED, and any others of COLUMNS; answer and author may be empty in a row of a
    sample. Without `seq` a role must have one text in the row. Raise InputError, with file and
    line, what was found and what was expected, for the first row that is wrong; ReadOnly.
    """
    with workspace.change("import labels", rubric.name) as (db, detail):
        found = runs.find(db, run)
        texts = text_keys(db, rubric, found.id)
        sampled = {
            sample.id: {(text.pair_id, text.seq) for text in sample.texts}
            for sample in rubric_tables.samples(db, rubric, found.id)
        }
        labels = _read_labels(content, file, rubric, texts, sampled)
        before = {
            (each.pair_id, each.seq, each.author): each.answer
            for each in rubric_tables.labels(db, rubric, found.id)
        }
        answers = [before.get((each.pair_id, each.seq, each.author)) for each in labels]
        rubric_tables.put_labels(db, rubric, found.id, labels)
        changes.bump(db, "labels")
        known = sum(answer == label.answer for answer, label in zip(answers, labels, strict=True))
        new = answers.count(None)
        result = ImportedLabels(new, len(answers) - new - known, known)
        detail |= {
            "run": found.id,
            "file": file,
            "new": result.new,
            "changed": result.changed,
            "known": result.known,
        }
    return result


def _read_labels(
    content: bytes,
    file: str,
    rubric: Rubric,
    texts: Set[tuple[str, int, str]],
    sampled: Mapping[str, Set[tuple[str, int]]],
) -> list[TextLabel]:
    """Return the labels of a file. texts: that the rubric asks about; sampled: those of each
    sample, by its id."""
    table = text_table(io.BytesIO(content), file)
    table.require(*REQUIRED)
    unknown = [name for name in table.header if name not in COLUMNS]
    if unknown:
        raise InputError(
            f"{file}, line 1: column {quote(unknown[0])}, expected columns of {', '.join(COLUMNS)}"
        )
    rows = [] if table.rejected else [*table.records()]
    if table.rejected:
        first = table.rejected[0]
        raise InputError(f"{file}, line {first.line}: {first.reason}, {first.detail}")
    if not rows:
        raise InputError(f"{file}: no row, expected a label or a text of a sample in each")
    found: dict[tuple[str, int, str], tuple[int, TextLabel]] = {}
    for line, cells in rows:
        row = dict.fromkeys(COLUMNS, "") | dict(zip(table.header, cells, strict=True))
        if row["sample"] and not row["answer"] and not row["author"]:
            continue  # a text that nobody has labelled
        try:
            label = _label(row, rubric, texts)
            check_label(rubric, texts, label)
            _check_sample(label, sampled)
        except InputError as error:
            raise InputError(f"{file}, line {line}: {error}") from error
        earlier, _ = found.setdefault((label.pair_id, label.seq, label.author), (line, label))
        if earlier != line:
            raise InputError(
                f"{file}, line {line}: a repeat of the text and author of line {earlier}, expected"
                " one row for each"
            )
    return [label for _, label in found.values()]


def _label(row: Mapping[str, str], rubric: Rubric, texts: Set[tuple[str, int, str]]) -> TextLabel:
    if row["rubric"] not in ("", rubric.name):
        raise InputError(f"rubric {quote(row['rubric'])}, expected {rubric.name}")
    try:
        at = datetime.fromisoformat(row["labelled_at"]) if row["labelled_at"] else None
    except ValueError:
        raise InputError(
            f"labelled_at {quote(row['labelled_at'])}, expected a time such as 2026-01-31T09:30:00"
        ) from None
    if at is not None and at.tzinfo is not None:
        raise InputError(f"labelled_at {quote(row['labelled_at'])}, expected a time without a zone")
    if row["seq"] and not row["seq"].lstrip("-").isdecimal():
        raise InputError(f"seq {quote(row['seq'])}, expected a whole number")
    same_role = [
        seq for pair_id, seq, role in texts if (pair_id, role) == (row["pair_id"], row["role"])
    ]
    seqs = [int(row["seq"])] if row["seq"] else same_role
    if len(seqs) != 1:
        what = f"{len(seqs)} texts of {quote(row['pair_id'])} and role {quote(row['role'])}"
        raise InputError(f"{what}, expected one, or a column seq that chooses one")
    return TextLabel(
        row["pair_id"],
        seqs[0],
        row["role"],
        row["answer"],
        row["author"],
        row["sample"] or None,
        at,
    )


def _check_sample(label: TextLabel, sampled: Mapping[str, Set[tuple[str, int]]]) -> None:
    if label.sample is None:
        return
    if label.sample not in sampled:
        raise InputError(
            f"sample {quote(label.sample)}: not known here, expected one that was drawn; draw it"
            " with the same seed"
        )
    if (label.pair_id, label.seq) not in sampled[label.sample]:
        raise InputError(
            f"{label.pair_id}, seq {label.seq}: not in sample {label.sample}, expected one of its"
            " texts"
        )
