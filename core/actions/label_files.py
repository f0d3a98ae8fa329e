"""Labels as CSV: one row an answer, and one without an answer for each text of a sample that nobody has labelled yet, so that the
sample goes along whole. What is exported can be imported elsewhere, also with answers that were filled in."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from core.actions.export import encode
from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.audit.sample_request import Design
from core.datasets.tables import Table, quote
from core.errors import InputError
from core.store import Cursor, changes, rubrics, runs
from core.store.rubrics import GivenBy, Sample, SampledText, TextLabel
from core.texts import check_name

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
REQUIRED = ("pair_id", "role", "answer", "author")
COLUMNS = (
    *("pair_id", "seq", "role", "answer", "author", "given_by", "labelled_at"),
    *("sample", "position", "probability", "design", "reading", "seed", "drawn_by", "rubric"),
)
_GIVEN_BY: tuple[GivenBy, ...] = get_args(GivenBy)
_DESIGNS: tuple[Design, ...] = get_args(Design)


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

    Columns: REQUIRED, and of the others of COLUMNS those that are known; answer and author may be empty in a row of a sample.
    Without `seq` a role must have one text in the row; without `given_by` a person gave the answer; a sample that is not here is
    kept with the texts that the file has of it. Raise InputError, with file and line, what was found and what was expected, for
    the first row that is wrong; ReadOnly.
    """
    workspace.refuse_if_read_only("import labels", rubric.name)
    with workspace.change("import labels", rubric.name) as (db, detail):
        found = runs.find(db, run)
        rows = _Rows(rubric, found.id, file, db).read(content)
        before = {_key(label): label.answer for label in rubrics.labels(db, rubric, found.id)}
        answers = [before.get(_key(label)) for label in rows.labels]
        for sample in rows.new_samples:
            rubrics.add_sample(db, sample)
        rubrics.put_labels(db, rubric, found.id, rows.labels)
        changes.bump(db, "labels")
        known = sum(answer == label.answer for answer, label in zip(answers, rows.labels, strict=True))
        new = answers.count(None)
        result = ImportedLabels(new, len(answers) - new - known, known)
        detail |= {"run": found.id, "file": file, "new": result.new, "changed": result.changed, "known": result.known}
    return result


def _key(label: TextLabel) -> tuple[str, int, str, str]:
    return label.pair_id, label.seq, label.author, label.given_by


@dataclass(frozen=True, slots=True)
class _Read:
    labels: Sequence[TextLabel]
    new_samples: Sequence[Sample]


class _Rows:
    """Reads the rows of a file of labels."""

    def __init__(self, rubric: Rubric, run: str, file: str, db: Cursor) -> None:
        self.rubric, self.run, self.file = rubric, run, file
        texts = rubrics.texts(db, run, rubric)
        self.texts = set(zip(texts["pair_id"], texts["seq"].astype(int), texts["role"], strict=True))
        self.pair_ids = set(texts["pair_id"])
        self.samples = {sample.id: sample for sample in rubrics.samples(db, rubric, run)}
        self.made: dict[str, Sample] = {}
        self.made_texts: dict[str, dict[int, SampledText]] = {}  # by sample and position
        self.lines: dict[tuple[str, int, str, str], int] = {}

    def read(self, content: bytes) -> _Read:
        """Raise InputError for the first row that is wrong."""
        table = Table(io.BytesIO(content), self.file)
        table.require(*REQUIRED)
        unknown = [name for name in table.header if name not in COLUMNS]
        if unknown:
            raise self._error(1, f"column {quote(unknown[0])}", f"columns of {', '.join(COLUMNS)}")
        found = [] if table.rejected else [self._label(n, _cells(table, row)) for n, row in table.records()]
        if table.rejected:
            first = table.rejected[0]
            raise InputError(f"{self.file}, line {first.line}: {first.reason}, {first.detail}")
        if not found:
            raise InputError(f"{self.file}: no row, expected a label or a text of a sample in each")
        return _Read([label for label in found if label is not None], [self._whole_sample(each) for each in self.made.values()])

    def _whole_sample(self, sample: Sample) -> Sample:
        texts = self.made_texts[sample.id]
        return replace(sample, texts=tuple(texts[position] for position in sorted(texts)))

    def _label(self, line: int, row: Mapping[str, str]) -> TextLabel | None:
        """Return the label of a row, None for a text of a sample that nobody has labelled."""
        if row["rubric"] not in ("", self.rubric.name):
            raise self._error(line, f"rubric {quote(row['rubric'])}", self.rubric.name)
        is_labelled = bool(row["answer"] or row["author"] or not row["sample"])
        if is_labelled and row["answer"] not in self.rubric.answers:
            raise self._error(line, f"answer {quote(row['answer'])}", ", ".join(self.rubric.answers))
        given_by = next((each for each in _GIVEN_BY if each == (row["given_by"] or "person")), None)
        if given_by is None:
            raise self._error(line, f"given_by {quote(row['given_by'])}", " or ".join(_GIVEN_BY))
        at = self._value(line, row, "labelled_at", _naive_time, "a time such as 2026-01-31T09:30:00, without a zone")
        label = TextLabel(row["pair_id"], self._seq(line, row), row["role"], row["answer"], row["author"], given_by, None, at)
        if is_labelled:
            try:
                check_name("label's author", label.author)
            except InputError as error:
                raise InputError(f"{self.file}, line {line}: {error}") from error
        if (label.pair_id, label.seq, label.role) not in self.texts:
            found = f"{quote(label.pair_id)}, {label.role or 'row'}, seq {label.seq}"
            raise self._error(line, found, f"a {self.rubric.unit} of the run that {self.rubric.name} asks about")
        if (twice := self.lines.setdefault(_key(label), line)) != line:
            raise self._error(line, f"a repeat of the text and author of line {twice}", "one row for each")
        sample = self._sample(line, row, label)
        return replace(label, sample=sample) if is_labelled else None

    def _seq(self, line: int, row: Mapping[str, str]) -> int:
        if row["seq"]:
            seq = self._value(line, row, "seq", int, "a whole number")
            assert seq is not None
            return seq
        found = [seq for pair_id, seq, role in self.texts if (pair_id, role) == (row["pair_id"], row["role"])]
        if len(found) != 1:
            what = f"{len(found)} texts of {quote(row['pair_id'])} and role {quote(row['role'])}"
            raise self._error(line, what, "one, or a column seq that chooses one")
        return found[0]

    def _sample(self, line: int, row: Mapping[str, str], label: TextLabel) -> str | None:
        """Return the id of the row's sample, which is made if it is not here."""
        if not row["sample"]:
            return None
        probability = self._value(line, row, "probability", float, "a number above 0 and up to 1")
        if probability is None or not 0 < probability <= 1:
            raise self._error(line, f"probability {quote(row['probability'])}", "a number above 0 and up to 1")
        text = SampledText(label.pair_id, label.seq, label.role, probability)
        if (known := self.samples.get(row["sample"])) is not None:
            if text not in known.texts:
                raise self._error(
                    line, f"{label.pair_id} with probability {probability:g}", f"a text of sample {known.id} as drawn"
                )
            return known.id
        sample = self.made.setdefault(row["sample"], self._new_sample(line, row))
        texts = self.made_texts.setdefault(sample.id, {})
        position = self._value(line, row, "position", int, "a whole number")
        position = line if position is None else position
        if texts.setdefault(position, text) != text:
            raise self._error(line, f"another text at position {position} of sample {sample.id}", "one text at each")
        return sample.id

    def _new_sample(self, line: int, row: Mapping[str, str]) -> Sample:
        check_name("sample", row["sample"])
        design = next((each for each in _DESIGNS if each == row["design"]), None)
        if design is None:
            raise self._error(line, f"design {quote(row['design'])} of an unknown sample", " or ".join(_DESIGNS))
        seed = self._value(line, row, "seed", int, "a whole number")
        if seed is None:
            raise self._error(line, "no seed of an unknown sample", "a whole number")
        author = row["drawn_by"] or row["author"]
        names = (self.rubric.name, self.rubric.sha256, self.run)
        return Sample(*names, design, row["reading"], seed, author, (), id=row["sample"])

    def _value(self, line: int, row: Mapping[str, str], column: str, parse: Callable[[str], T], expected: str) -> T | None:
        if not row[column]:
            return None
        try:
            return parse(row[column])
        except ValueError:
            raise self._error(line, f"{column} {quote(row[column])}", expected) from None

    def _error(self, line: int, found: str, expected: str) -> InputError:
        return InputError(f"{self.file}, line {line}: {found}, expected {expected}")


def _naive_time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError(text)
    return found


def _cells(table: Table, row: Sequence[str]) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS, "") | dict(zip(table.header, row, strict=True))
