"""Labels as CSV: one row an answer, and one without an answer for each text of a sample that nobody has labelled yet, so that the
sample goes along whole. What is exported can be imported elsewhere, also with answers that were filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.actions.export import encode
from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.importing.label_rows import COLUMNS, LabelRows, key_of
from core.store import changes, rubrics, runs
from core.store.rubrics import SampledText, TextLabel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    """What an import changed: labels that are new, that replaced another answer of the same author, and that were there."""

    new: int
    changed: int
    known: int


def export_csv(workspace: Workspace, rubric: Rubric, run: str) -> tuple[bytes, int]:
    """Return `export_frame` as a CSV file, and how many labels it has."""
    frame = export_frame(workspace, rubric, run)
    return encode(frame, "csv"), int(frame["answer"].ne("").sum())


def export_frame(workspace: Workspace, rubric: Rubric, run: str) -> pd.DataFrame:
    """Return the labels of a run for a rubric, and its unlabelled sample texts, one per row.

    Columns: COLUMNS, all of type text, empty if missing. Samples come first, in the order in which they are read.
    """
    import pandas as pd

    with workspace.store.read() as db:
        found = runs.find(db, run)
        labels, samples = rubrics.labels(db, rubric, found.id), rubrics.samples(db, rubric, found.id)
    rows = list[tuple[str, ...]]()
    for sample in samples:
        given: dict[tuple[str, int], list[TextLabel]] = {}
        for label in labels:
            if label.sample == sample.id:
                given.setdefault((label.pair_id, label.seq), []).append(label)
        for position, text in enumerate(sample.texts):
            drawn = (
                sample.id,
                str(position),
                repr(text.probability),
                sample.design,
                sample.reading,
                str(sample.seed),
                sample.author,
            )
            found_labels = given.get((text.pair_id, text.seq), [None])
            rows += [(*_text_cells(text, label), *drawn, rubric.name) for label in found_labels]
    known = {sample.id for sample in samples}
    outside = [label for label in labels if label.sample not in known]
    rows += [(*_text_cells(label, label), *[""] * 7, rubric.name) for label in outside]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=str)


def _text_cells(text: SampledText | TextLabel, label: TextLabel | None) -> tuple[str, ...]:
    """Return a text and its label."""
    place = (text.pair_id, str(text.seq), text.role)
    if label is None:
        return (*place, "", "", "", "")
    at = label.labelled_at.isoformat() if label.labelled_at else ""
    return (*place, label.answer, label.author, label.given_by, at)


def import_csv(workspace: Workspace, rubric: Rubric, run: str, content: bytes, file: str) -> ImportedLabels:
    """Import labels of a run for a rubric; all or none.

    Columns: `label_rows.REQUIRED`, and of the others of COLUMNS those that are known; answer and author may be empty in a row of
    a sample. Without `seq` a role must have one text in the row; without `given_by` a person gave the answer; a sample that is
    not here is kept with the texts that the file has of it.
    Raise InputError, with file and line, what was found and what was expected, for the first row that is wrong; ReadOnly.
    """
    workspace.refuse_if_read_only("import labels", rubric.name)
    with workspace.change("import labels", rubric.name) as (db, detail):
        found = runs.find(db, run)
        rows = LabelRows(rubric, found.id, file, db).read(content)
        before = {key_of(label): label.answer for label in rubrics.labels(db, rubric, found.id)}
        answers = [before.get(key_of(label)) for label in rows.labels]
        for sample in rows.new_samples:
            rubrics.add_sample(db, sample)
        rubrics.put_labels(db, rubric, found.id, rows.labels)
        changes.bump(db, "labels")
        known = sum(answer == label.answer for answer, label in zip(answers, rows.labels, strict=True))
        new = answers.count(None)
        result = ImportedLabels(new, len(answers) - new - known, known)
        detail |= {"run": found.id, "file": file, "new": result.new, "changed": result.changed, "known": result.known}
    return result
