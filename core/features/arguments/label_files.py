"""Labels as CSV: one row an answer, and one without an answer for each text of a sample that nobody
has labelled yet, so that it may be filled in."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from datetime import datetime

from core.base.errors import InputError
from core.base.frames import encode
from core.base.tables import text_table
from core.base.texts import quote
from core.features.arguments import rubric_tables
from core.features.arguments.labels import check_label, text_keys
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import TextLabel
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
        labels = rubric_tables.labels(db, rubric, found.id)
        samples = rubric_tables.samples(db, rubric, found.id)
    place = ["sample", "pair_id", "seq", "role"]
    given = pd.DataFrame(map(asdict, labels), columns=[*place, "answer", "author", "labelled_at"])
    drawn = pd.DataFrame(
        [(each.id, text.pair_id, text.seq, text.role) for each in samples for text in each.texts],
        columns=place,
    ).astype({"seq": given["seq"].dtype})
    rows = pd.concat([drawn.merge(given, "left", place), given[given["sample"].isna()]])
    at = rows["labelled_at"].map(datetime.isoformat, na_action="ignore")
    rows = rows.assign(labelled_at=at, rubric=rubric.name)
    return encode(rows[list(COLUMNS)], "csv"), len(labels)


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
        labels = dict[tuple[str, int, str], TextLabel]()
        for line, row in _rows(content, file):
            try:
                label = _label(row, rubric, texts)
                check_label(rubric, texts, label)
                place = (label.pair_id, label.seq)
                if label.sample is not None and place not in sampled.get(label.sample, ()):
                    what = f"{label.pair_id}, seq {label.seq}: not in a sample {label.sample} here"
                    raise InputError(f"{what}; draw it with the same seed before")
                if (*place, label.author) in labels:
                    raise InputError("repeats a text and author, expected one row for each")
            except (InputError, ValueError) as error:
                raise InputError(f"{file}, line {line}: {error}") from error
            labels[*place, label.author] = label
        before = {
            (each.pair_id, each.seq, each.author): each.answer
            for each in rubric_tables.labels(db, rubric, found.id)
        }
        rubric_tables.put_labels(db, rubric, found.id, [*labels.values()])
        changes.bump(db, "labels")
        known = sum(before.get(key) == label.answer for key, label in labels.items())
        new = len(labels.keys() - before.keys())
        result = ImportedLabels(new, len(labels) - new - known, known)
        detail |= {"run": found.id, "file": file, **asdict(result)}
    return result


def _rows(content: bytes, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and cells of each row of a file that somebody labelled. Raise InputError for a
    file without rows, or of other columns."""
    table = text_table(io.BytesIO(content), file)
    table.require(*REQUIRED)
    unknown = [name for name in table.header if name not in COLUMNS]
    rows = [*table.records()]
    if table.rejected:
        first = table.rejected[0]
        raise InputError(f"{file}, line {first.line}: {first.reason}, {first.detail}")
    if unknown or not rows:
        got = f"column {quote(unknown[0])}" if unknown else "no row"
        raise InputError(f"{file}, line 1: {got}, expected rows of {', '.join(COLUMNS)}")
    for line, cells in rows:
        row = dict.fromkeys(COLUMNS, "") | dict(zip(table.header, cells, strict=True))
        if row["answer"] or row["author"] or not row["sample"]:
            yield line, row


def _label(row: Mapping[str, str], rubric: Rubric, texts: Set[tuple[str, int, str]]) -> TextLabel:
    """Return the label of a row. Raise InputError, or ValueError for a number or time that is
    none."""
    if row["rubric"] not in ("", rubric.name):
        raise InputError(f"rubric {quote(row['rubric'])}, expected {rubric.name}")
    pair_id, role, sample = row["pair_id"], row["role"], row["sample"] or None
    at = datetime.fromisoformat(row["labelled_at"]) if row["labelled_at"] else None
    seqs = [int(row["seq"])] if row["seq"] else [t[1] for t in texts if t[::2] == (pair_id, role)]
    if len(seqs) != 1:
        what = f"{len(seqs)} texts of {quote(pair_id)} and role {quote(role)}"
        raise InputError(f"{what}, expected one, or a column seq that chooses one")
    return TextLabel(pair_id, seqs[0], role, row["answer"], row["author"], sample, at)
