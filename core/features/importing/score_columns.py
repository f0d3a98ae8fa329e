"""The runs that a file of external scores brings, by the columns that an import names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.base.archives import bare_name
from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.texts import quote
from core.base.types import EXTERNAL_SCORE, Flag, Prediction, Rejected, RowResult, TraceEvent
from core.features.importing.external_scores import ScoreTable
from core.features.importing.files import (
    BundleFile,
    FileContent,
    PackFile,
    SpaceFile,
    SubmissionFile,
)
from core.features.importing.import_target import ImportOptions, Zeros
from core.features.importing.pairs import PairTable
from core.features.importing.submissions import SubmissionTable, TakeRow
from core.features.importing.symbols.perturbations import read_perturbations
from core.runs.audited_rows import RowSpool
from core.stats.ranks import percentiles
from core.store import Cursor, datasets, pairs

MOST_RUNS = 20  # that a file brings if nobody says which of its columns count
_MIDDLE = 0.5
# the share of zeros that is asked about; of a column of more values than yes, no and unknown
MANY_ZEROS, FEW_VALUES = 0.2, 3
Importable = PairTable | SubmissionFile | BundleFile | PackFile | SpaceFile


def split_scores(
    table: FileContent, path: str, options: ImportOptions
) -> Iterator[tuple[Importable, str]]:
    """Return the parts of a file with their names: the runs of a file of external scores, else the
    file itself.

    A run is made when it is asked for, since each has the rows of the file. Raise InputError for
    options that name columns of another kind of file, and for one name for several runs.
    """
    if not isinstance(table, ScoreTable):
        if options.de is not None or options.dir is not None:
            raise InputError(
                f"{path}: --de and --dir name columns of external scores, got a file of kind"
                f" {table.kind}. Expected id, or pert and gene, and columns of numbers, without the"
                " column label beside all three"
            )
        return iter([(table, path)])
    found = choose_columns(table, options.de, options.dir)
    if options.name and len(found) > 1:
        raise InputError(
            f"--name {options.name}: {path} makes {len(found)} runs, expected one; choose columns"
            " by --de and --dir"
        )
    return (
        (_file_of(table, columns, options.zeros), f"{path} [{columns.name}]") for columns in found
    )


def name_by_dataset(table: ScoreTable, dataset_pairs: Sequence[tuple[str, str]]) -> ScoreTable:
    """Return a table whose perturbations are read beside a dataset's genes: "A-1" is a guide of A,
    and "A_B" two genes.

    dataset_pairs: perturbation and gene of each row of the dataset. Of rows that name one pair the
    first counts; the others are rejected.
    """
    known = {gene for pair in dataset_pairs for gene in pair}
    names = read_perturbations([pert for pert, _ in table.named], known)
    ids: dict[str, int] = {}
    kept, rejected = [], list(table.rejected)
    for i, ((pert, gene), key, line) in enumerate(
        zip(table.named, table.ids, table.lines, strict=True)
    ):
        meaning = names.of_value[pert]
        key = f"{meaning.name}_{gene}" if len(meaning.genes) == 1 else key
        if key in ids:
            detail = f"{quote(key)} stands on line {ids[key]} already, by another name"
            rejected.append(Rejected(table.name, line, "duplicate", detail))
            continue
        ids[key] = line
        kept.append(i)
    columns = {name: tuple(values[i] for i in kept) for name, values in table.columns.items()}
    named = tuple(table.named[i] for i in kept)
    return replace(
        table,
        ids=tuple(ids),
        named=named,
        lines=tuple(ids.values()),
        columns=columns,
        rejected=tuple(rejected),
    )


def name_by_datasets(db: Cursor, table: ScoreTable, options: ImportOptions) -> ScoreTable:
    """Return scores whose perturbations are named as in the dataset that then knows most of their
    rows."""
    best, most = table, 0
    chosen = (
        [datasets.find(db, options.dataset)]
        if options.dataset is not None
        else datasets.list_all(db)
    )
    for dataset in chosen:
        rows = pairs.frame(db, dataset.id)
        named = name_by_dataset(table, list(zip(rows["pert"], rows["gene"], strict=True)))
        found = len({*rows["pair_id"]} & {*named.ids})
        if found > most:
            best, most = named, found
    return best


def _file_of(table: ScoreTable, columns: Columns, zeros: Zeros) -> SubmissionFile:
    spool = RowSpool()
    if zeros == "not-covered":  # then an exact 0 is an empty cell
        kept = {
            name: tuple(number or None for number in numbers)
            for name, numbers in table.columns.items()
        }
        table = replace(table, columns=kept)
    run = run_of(table, columns, spool.add)
    if zeros == "not-covered":
        sha256 = sha256_of(f"{run.sha256} zeros={zeros}")
        run = replace(
            run,
            spec={**run.spec, "zeros": zeros},
            sha256=sha256,
            note=f"{run.note} Rows with 0 are not covered.",
        )
    elif not zeros:
        run = replace(
            run, remark=" ".join(filter(None, (run.remark, *_ask_about_zeros(table, columns))))
        )
    return SubmissionFile(run, spool.finish())


def _ask_about_zeros(table: ScoreTable, columns: Columns) -> Iterator[str]:
    """Yield a question for each column of a run of which many numbers are exactly 0, and the others
    are not all alike."""
    for name in dict.fromkeys(name for name in (columns.de, columns.dir) if name is not None):
        numbers = [number for number in table.columns[name] if number is not None]
        share = sum(number == 0 for number in numbers) / max(len(numbers), 1)
        if share >= MANY_ZEROS and len({*numbers}) > FEW_VALUES:
            yield (
                f"Column {name} is exactly 0 in {share:.0%} of the rows. If 0 means that a row was"
                " not covered, import again with --zeros not-covered (on the page: Options). Now"
                " these rows are ranked as equal."
            )


def run_name(table: SubmissionTable, path: str) -> str:
    """Return the name of a file's run: from the file, and from the columns of external scores."""
    if table.kind != EXTERNAL_SCORE:
        return Path(bare_name(path)).stem
    file, _, columns = Path(path).name.partition(" [")
    return f"{Path(bare_name(file)).stem} {columns.removesuffix(']')}"


class Columns(NamedTuple):
    """The columns of a run of external scores. name: the suffix of the file's name. de, dir: of
    `choose_columns`."""

    name: str
    de: str | None
    dir: str | None


def choose_columns(table: ScoreTable, de: str | None, direction: str | None) -> list[Columns]:
    """Return the columns of each run of a file.

    de, direction: the column that ranks rows by an effect, and the one that ranks them by up given
    an effect; if one is None, the run has no score for that question. Without either, every column
    of numbers becomes a run that answers both questions with it; p-values (by their name) answer
    that for an effect alone, the smaller the more; of ranks, too, the smaller is the more. Raise
    InputError for a missing column, one without numbers, and too many columns.
    """
    if de is None and direction is None:
        if not table.columns:
            raise InputError(
                f"{table.name}: columns {quote(', '.join(table.left_out), 120)}, expected one of"
                " numbers"
            )
        if len(table.columns) > MOST_RUNS:
            raise InputError(
                f"{table.name}: {len(table.columns):,} columns of numbers, expected at most"
                f" {MOST_RUNS}; choose the columns with --de and --dir"
            )
        return [
            Columns(
                name,
                None if name in table.downs else name,
                None if name in table.p_values else name,
            )
            for name in table.columns
        ]
    for option, name in (("--de", de), ("--dir", direction)):
        if name is not None and name not in table.columns:
            found = ", ".join(table.columns) or "none"
            problem = "holds no numbers" if name in table.left_out else "not in the file"
            raise InputError(
                f"{table.name}: {option} {name}: {problem}; expected one of its columns of numbers:"
                f" {found}"
            )
    if direction in table.p_values:
        raise InputError(
            f"{table.name}: --dir {direction}: p-values have no direction, expected a column that"
            " rises with up"
        )
    return [
        Columns(", ".join(dict.fromkeys(name for name in (de, direction) if name)), de, direction)
    ]


def run_of(table: ScoreTable, columns: Columns, take: TakeRow) -> SubmissionTable:
    """Return the run of the rows for which at least one of the columns has a number, and hands its
    rows on."""
    _, de, direction = columns
    used = tuple(dict.fromkeys(name for name in (de, direction) if name is not None))
    nothing: tuple[float | None, ...] = (None,) * len(table.ids)
    turned = [name for name in used if name in table.p_values | table.ranks | table.downs]
    values = [
        nothing if name is None else _turn(table, name) if name in turned else table.columns[name]
        for name in (de, direction)
    ]
    ranks = [percentiles(np.array(column, dtype=np.float64)).tolist() for column in values]
    lines = []
    for i, (key, line) in enumerate(zip(table.ids, table.lines, strict=True)):
        numbers = {name: number for name in used if (number := table.columns[name][i]) is not None}
        if numbers:
            take(_build_row(key, ranks[0][i], ranks[1][i], numbers))
            lines.append(line)
    text = f"{table.sha256} de={de} dir={direction}{' turned' if turned else ''}"
    identity = sha256_of(text)
    spec: dict[str, Any] = {
        "file_sha256": table.sha256,
        "de": de,
        "dir": direction,
        **({"turned": turned} if turned else {}),
    }
    return SubmissionTable(
        "external_score",
        None,
        EXTERNAL_SCORE,
        "",
        (),
        spec=spec,
        note=describe(de, direction, turned=_what(table, turned)),
        lines=tuple(lines),
        sha256=identity,
        rejected=(*table.rejected, *(fault for name in used for fault in table.faults[name])),
        notes=table.notes,
    )


def _turn(table: ScoreTable, name: str) -> tuple[float | None, ...]:
    """Return the numbers of a column of p-values or ranks with reversed sign. Raise InputError for
    other columns."""
    numbers = table.columns[name]
    if name in table.p_values:
        _refuse_no_p_values(table, name, numbers)
    elif name in table.ranks:
        _refuse_no_ranks(table, name, numbers)
    return tuple(None if number is None else -number for number in numbers)


def _what(table: ScoreTable, turned: Sequence[str]) -> str:
    """Return the content of the reversed columns according to their names, "" without any."""
    kinds = (
        ("p-values or the like", table.p_values),
        ("ranks", table.ranks),
        ("probabilities of down", table.downs),
    )
    return " and ".join(kind for kind, names in kinds if names & set(turned))


def _refuse_no_ranks(table: ScoreTable, name: str, numbers: Sequence[float | None]) -> None:
    """Raise InputError for shares, means of ranks and the like, of which a name does not say
    whether smaller is better."""
    filled = [number for number in numbers if number is not None]
    # half a rank: of a tie
    odd = next((number for number in filled if not (2 * number).is_integer()), None)
    if odd is None and max(filled, default=0) > 1:
        return
    raise InputError(
        f"{table.name}: column {name} has a name of ranks, which would be reversed, but contains"
        f" {f'{odd:g}' if odd is not None else 'nothing above 1'}; expected 1, 2, 3, … for the"
        " first, second, third. A column that rises with an effect needs another name"
    )


def _refuse_no_p_values(table: ScoreTable, name: str, numbers: Sequence[float | None]) -> None:
    """Raise InputError for numbers that are no p-values, as their logarithms."""
    odd = next((number for number in numbers if number is not None and not 0 <= number <= 1), None)
    if odd is not None:
        raise InputError(
            f"{table.name}: column {name} has a name of p-values, which would be reversed, but"
            f" contains {odd:g}; expected 0 to 1. A column that rises with an effect needs another"
            " name"
        )


def _build_row(pair_id: str, p_de: float, p_up: float, numbers: Mapping[str, float]) -> RowResult:
    """Return a row of percentiles; the middle rank is written for a question without a score, and
    flagged."""
    flags = tuple(
        flag for flag, rank in ((Flag.NO_DE, p_de), (Flag.NO_DIR, p_up)) if math.isnan(rank)
    )
    de = _MIDDLE if math.isnan(p_de) else p_de
    up = de * (_MIDDLE if math.isnan(p_up) else p_up)
    text = "\n".join(f"{name}: {number!r}" for name, number in numbers.items())
    event = TraceEvent("external score", "SCORE", "arithmetic", text, tokens=0, meta=dict(numbers))
    prediction = Prediction(
        pair_id, up, de - up, de, None if math.isnan(p_up) else p_up, "trace", flags, 0, 0, 0
    )
    return RowResult(prediction, (event,))


def describe(de: str | None, direction: str | None, *, turned: str = "") -> str:
    """Return which question each column of a run of external scores answers, in a sentence.

    turned: the content of reversed columns.
    """
    if turned:
        return (
            f"{describe(de, direction)} Their names indicate {turned}: a smaller value ranks a row"
            " higher."
        )
    if de == direction:
        return (
            f"External score: column {de} ranks rows by an effect and by its direction; the file"
            " does not state which it is about."
        )
    parts = [
        f"column {de} ranks rows by an effect" if de else "no score for an effect",
        (
            f"column {direction} ranks them by up given an effect"
            if direction
            else "no score for a direction"
        ),
    ]
    return f"External score: {'; '.join(parts)}."
