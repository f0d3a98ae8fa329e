"""The rows of a file of labels, read beside the texts that a rubric asks about."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar, get_args

from core.audit.rubric import Rubric
from core.audit.sample_request import Design
from core.datasets.tables import Table, quote
from core.errors import InputError
from core.store import Cursor, rubrics
from core.store.rubrics import GivenBy, Sample, SampledText, TextLabel
from core.texts import check_name

T = TypeVar("T")
REQUIRED = ("pair_id", "role", "answer", "author")
COLUMNS = (
    *("pair_id", "seq", "role", "answer", "author", "given_by", "labelled_at"),
    *("sample", "position", "probability", "design", "reading", "seed", "drawn_by", "rubric"),
)
_GIVEN_BY: tuple[GivenBy, ...] = get_args(GivenBy)
_DESIGNS: tuple[Design, ...] = get_args(Design)


def key_of(label: TextLabel) -> tuple[str, int, str, str]:
    """The text that a label is about, and who gave it."""
    return label.pair_id, label.seq, label.author, label.given_by


@dataclass(frozen=True, slots=True)
class ReadLabels:
    """The labels of a file, and its samples that are not here yet."""

    labels: Sequence[TextLabel]
    new_samples: Sequence[Sample]


class LabelRows:
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

    def read(self, content: bytes) -> ReadLabels:
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
        return ReadLabels(
            [label for label in found if label is not None], [self._whole_sample(each) for each in self.made.values()]
        )

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
        if (twice := self.lines.setdefault(key_of(label), line)) != line:
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
