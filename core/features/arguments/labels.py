"""Labels: texts of a run are sampled for a rubric, people answer it, and answers are exported and
imported as CSV. An answer is stored at once and replaces the same person's earlier answer for the
text.

A file has one row an answer, and one without an answer for each text of a sample that nobody has
labelled yet, so that it may be filled in.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.tables import text_table
from core.base.texts import check_name, quote
from core.base.workbook import encode, without_apostrophe
from core.features.arguments import readings, rubric_tables
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Design, Sample, SampledText, TextLabel
from core.runs.workspace import Workspace
from core.store import Cursor, changes, runs
from core.store.runs import Run


def draw_sample(
    workspace: Workspace,
    rubric: Rubric,
    run: str,
    size: int,
    design: Design = "simple",
    seed: int = 0,
) -> Sample:
    """Return texts of a run to read for a rubric, drawn now or, if the same ones were drawn before,
    then.

    seed: the same draws the same again. Strata are the answers of the newest reading by a model.
    Raise InputError if the run has no text that the rubric asks about, and for a rubric that takes
    no labels; NotFound if no model answered it; ReadOnly.
    """
    workspace.refuse_if_read_only("draw sample", rubric.name)
    with workspace.store.read() as db:
        found = runs.find(db, run)
        texts = rubric_tables.texts(db, found.id, rubric)
        if not takes_labels(rubric, readings.list_readings(db, rubric, found.id)):
            raise InputError(
                f"sample for {rubric.name}: a rule answers it, which has no error rate; expected a"
                " rubric that a model has read"
            )
    if texts.empty:
        raise InputError(
            f"sample for {rubric.name}: {found.name} has no text that it asks about, expected a run"
            " with briefs"
        )
    strata, reading = pd.Series("", texts.index), ""
    if design == "stratified":
        answers, reading = readings.answers(workspace, rubric, found.id, "model")
        keys = ["pair_id", "seq"]
        strata = texts[keys].merge(answers[[*keys, "answer"]], "left", keys)["answer"].fillna("")
    drawn = draw(strata.tolist(), size, np.random.default_rng(seed))
    chosen = texts.iloc[drawn.places][["pair_id", "seq", "role"]].astype({"seq": object})
    sampled = tuple(
        map(SampledText, *(chosen[name] for name in chosen), drawn.probabilities.tolist())
    )
    what = (rubric.name, rubric.sha256, found.id, design, reading, seed)
    identity = sha256_of(json.dumps([*what, [(text.pair_id, text.seq) for text in sampled]]))[:12]
    sample = Sample(identity, *what, workspace.settings.author, sampled)
    with workspace.change("draw sample", rubric.name) as (db, detail):
        detail |= {"run": found.id, "sample": sample.id, "design": design, "texts": len(sampled)}
        known = {each.id: each for each in rubric_tables.samples(db, rubric, found.id)}
        if sample.id not in known:
            rubric_tables.add_sample(db, sample)
            changes.bump(db, "labels")
    return known.get(sample.id, sample)


def takes_labels(rubric: Rubric, of_run: Sequence[Run]) -> bool:
    """Return whether people's labels say anything about a rubric's answers: not where only a rule
    answers.

    of_run: the readings of the run.
    """
    return not rubric.is_answered_by_rule or any(
        readings.rubric_of(each).sha256 == rubric.sha256 for each in of_run
    )


def give_labels(workspace: Workspace, rubric: Rubric, run: str, given: Sequence[TextLabel]) -> None:
    """Store answers, all or none. Raise InputError for an answer or a text that does not belong to
    the rubric."""
    with workspace.change("label", rubric.name) as (db, detail):
        found = runs.find(db, run)
        texts = text_keys(db, rubric, found.id, sorted({label.pair_id for label in given}))
        for label in given:
            check_label(rubric, texts, label)
        rubric_tables.put_labels(db, rubric, found.id, given)
        changes.bump(db, "labels")
        detail |= {"run": found.id, "labels": [_describe(label) for label in given]}


def take_back(workspace: Workspace, rubric: Rubric, run: str, label: TextLabel) -> None:
    """Delete an author's answer for a text, if there is one. The answer itself is ignored."""
    with workspace.change("take label back", rubric.name) as (db, detail):
        found = runs.find(db, run)
        rubric_tables.delete_label(db, rubric, found.id, label)
        changes.bump(db, "labels")
        detail |= {"run": found.id, "labels": [_describe(label)]}


def _describe(label: TextLabel) -> str:
    return f"{label.pair_id} {label.seq} {label.answer} by {label.author}"


def text_keys(
    db: Cursor, rubric: Rubric, run: str, pair_ids: Sequence[str] | None = None
) -> set[tuple[str, int, str]]:
    """Return the texts of a run (id) that a rubric asks about: pair_id, seq, role. pair_ids: of
    these rows, None for all."""
    asked = rubric_tables.texts(db, run, rubric, pair_ids)
    return set(zip(asked["pair_id"], asked["seq"].astype(int), asked["role"], strict=True))


def check_label(rubric: Rubric, texts: Set[tuple[str, int, str]], label: TextLabel) -> None:
    """Raise InputError for a label without an author, of another answer, or of a text that is not
    among `texts`."""
    check_name("label's author", label.author)
    if label.answer not in rubric.answers:
        raise InputError(
            f"label of {label.pair_id}: answer {label.answer!r}, expected"
            f" {', '.join(rubric.answers)}"
        )
    if (label.pair_id, label.seq, label.role) not in texts:
        raise InputError(
            f"label of {label.pair_id}, {label.role or 'row'} (seq {label.seq}): no such text in"
            f" the run, expected a {rubric.unit} that {rubric.name} asks about"
        )


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
        texts = map(without_apostrophe, cells)
        row = dict.fromkeys(COLUMNS, "") | dict(zip(table.header, texts, strict=True))
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


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The drawn texts. places: their positions among all texts, shape (size,), in random reading
    order. probabilities: of shape (size,), each in (0, 1].
    """

    places: NDArray[np.int64]
    probabilities: NDArray[np.float64]


def draw(strata: Sequence[str], size: int, rng: np.random.Generator) -> Drawn:
    """Draw equally many texts from each stratum, or all of a small one; the largest strata give the
    rest.

    strata: of each text, shape (n,); a simple random sample has only one. Raise InputError without
    a text, and if there are more strata than texts to draw, because some texts would have
    probability 0.
    """
    names = np.asarray(strata, dtype=str)
    if not len(names):
        raise InputError("sample: there is no text to draw from, expected at least 1")
    known, stratum, counts = np.unique(names, return_inverse=True, return_counts=True)
    if size < len(known):
        raise InputError(
            f"sample: {size} texts from {len(known)} strata, expected at least one from each"
        )
    drawn = _equal_shares(counts, min(len(names), size))
    order = rng.permutation(len(names))
    in_order = stratum[order]
    place_in_stratum = pd.Series(in_order).groupby(in_order).cumcount().to_numpy()
    places = order[place_in_stratum < drawn[in_order]]
    return Drawn(places, (drawn / counts)[stratum[places]])


def _equal_shares(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the number to draw from strata of these sizes: equal numbers, as far as the sizes
    allow."""
    drawn = np.zeros_like(counts)
    while (left := size - int(drawn.sum())) > 0:
        open_strata = np.flatnonzero(drawn < counts)
        share = left // len(open_strata)
        if share == 0:
            largest = open_strata[np.argsort(-counts[open_strata], kind="stable")]
            drawn[largest[:left]] += 1
        else:
            drawn[open_strata] += np.minimum(share, (counts - drawn)[open_strata])
    return drawn
