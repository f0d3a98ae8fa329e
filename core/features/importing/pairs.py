"""Tables of pairs: train.csv and test.csv of the BioReasoning challenge, and the -de and -dir files
of PerturbQA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, TypeVar

from core.base.errors import InputError
from core.base.tables import Table
from core.base.texts import quote
from core.base.types import Label, Pair, Rejected
from core.features.importing.perturbations import gene_of_condition
from core.features.importing.roles import Repeats
from core.features.importing.symbols import clean, spreadsheet_damage

Row = TypeVar("Row")
PairKind = Literal["challenge_train", "challenge_test", "perturbqa"]

IDENTITY = ("id", "pert", "gene")
_CHALLENGE_LABELS = {str(label): label for label in (Label.UP, Label.DOWN, Label.NONE)}
_PERTURBQA_COLUMNS = ("pert", "gene", "label", "split")
# Splits in other spellings; those of published files stay as they are.
_SPLITS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "validation",
    "test": "test",
}
_SPLITS |= {"dev": "val", "testing": "test"}
_KNOWN_SPLITS = {*_SPLITS.values()}
# as pandas writes numbers beside missing ones, and truth values
_TRUTH = {"1.0": "1", "true": "1", "0.0": "0", "false": "0"}
# of rows with one label that is none, which is then no slip
_LEAST_OF_CLASS, _SHARE_OF_CLASS = 8, 0.1
_PERTURBQA_LABELS = {
    "de": {"1": Label.DE, "0": Label.NONE},
    "dir": {"1": Label.UP, "0": Label.DOWN},
}


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """What every table of rows has. lines: the line on which each row starts, from 1. sha256: of
    the whole file.

    notes: remarks for people, as on what was not read. header: the columns as the file names them,
    () without any.
    """

    lines: tuple[int, ...]
    rejected: tuple[Rejected, ...]
    sha256: str
    notes: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PairTable(TableRows):
    """The pairs of one file. cell_line: the one that a file of PerturbQA is about, in lower case;
    None for other files."""

    kind: PairKind
    pairs: tuple[Pair, ...]
    cell_line: str | None = None


def unique_rows(
    table: Table,
    unused: Iterable[str],
    read: Callable[[int, list[str]], tuple[str, Row] | Rejected],
) -> Iterator[tuple[str, int, Row]]:
    """Yield the id, the line and the content of each row; of rows with the same id the first
    counts.

    read: given line and cells, returns id and content. Rejected rows go to `table.rejected`.
    unused: columns that may tell repeated ids apart; raise InputError if one does (see `Repeats`).
    """
    lines: dict[str, int] = {}
    repeats = Repeats(table, [*unused])
    for line, cells in table.records():
        row = read(line, cells)
        if not isinstance(row, Rejected) and repeats.add(row[0], cells):
            row = Rejected(
                table.name,
                line,
                "duplicate",
                f"{quote(row[0])} stands on line {lines[row[0]]} already",
            )
        if isinstance(row, Rejected):
            table.rejected.append(row)
            continue
        lines[row[0]] = line
        yield row[0], line, row[1]
    repeats.refuse()


def place_keys(table: Table) -> Mapping[str, int]:
    """Return where id, pert and gene stand, as far as they do."""
    return {name: table.header.index(name) for name in IDENTITY if name in table.header}


def name_row(
    table: Table, line: int, cells: list[str], at: Mapping[str, int]
) -> tuple[str, str, str] | Rejected:
    """Return id, perturbation and gene of a row; the symbols are "" where there is an id alone. at:
    of `place_keys`.

    The rejection of a row without a name, or with an id that names another pair; see
    `read_symbols`.
    """
    has_symbols = {"pert", "gene"} <= at.keys() and all(
        cells[at[name]].strip() for name in ("pert", "gene")
    )
    if empty := table.empty_cell(
        line, cells, [at[name] for name in (("id",) if "id" in at else ("pert", "gene"))]
    ):
        return empty
    if not has_symbols:
        return cells[at["id"]], "", ""
    pert, gene = cells[at["pert"]], cells[at["gene"]]
    expected = (f"{pert}_{gene}", f"{clean(pert)}_{clean(gene)}")
    if "id" in at and clean(cells[at["id"]]) not in expected:
        return Rejected(
            table.name,
            line,
            "id mismatch",
            f"id {quote(cells[at['id']])}, expected {quote(expected[0])}",
        )
    read = read_symbols(table, line, pert, gene)
    return read if isinstance(read, Rejected) else ("_".join(read), *read)


def collect_pairs(
    table: Table, columns: tuple[str, ...], to_pair: Callable[[int, list[str]], Pair | Rejected]
) -> tuple[tuple[Pair, ...], tuple[int, ...]]:
    """Return pairs and their lines; see `unique_rows`. to_pair: is given rows of which no cell of
    `columns` is empty."""
    positions = table.require(*columns)
    if positions is None:
        return (), ()

    def read(line: int, cells: list[str]) -> tuple[str, Pair] | Rejected:
        pair = table.empty_cell(line, cells, positions) or to_pair(line, cells)
        return pair if isinstance(pair, Rejected) else (pair.pair_id, pair)

    rows = [*unique_rows(table, [name for name in table.header if name not in columns], read)]
    return tuple(pair for _, _, pair in rows), tuple(line for _, line, _ in rows)


def is_challenge(header: tuple[str, ...]) -> bool:
    """Return whether a header is train.csv's, perhaps with further columns, or exactly test.csv's.

    Of id, pert and gene the id may be missing; another one is reported.

    A file with a column `split` is neither: its test rows must not become training rows.
    """
    known = sum(column in header for column in IDENTITY)
    return (
        known >= 2 and ("label" in header or set(header) <= set(IDENTITY)) and "split" not in header
    )


def read_challenge(table: Table, sha256: str) -> PairTable:
    """Return labelled pairs of split "train", or unlabelled ones of split "test" if there is no
    column `label`."""
    at = place_keys(table)
    where = table.column("label")

    def to_pair(line: int, cells: list[str]) -> Pair | Rejected:
        name = name_row(table, line, cells, at)
        if isinstance(name, Rejected):
            return name
        if where is None:
            return Pair(*name, None, "test")
        label = _CHALLENGE_LABELS.get(cells[where].strip().lower())
        if label is None:
            detail = f"{quote(cells[where])}, expected {', '.join(_CHALLENGE_LABELS)}"
            return Rejected(table.name, line, "bad label", detail)
        return Pair(*name, label, "train")

    columns = ("pert", "gene", *(name for name in ("label", "id") if name in table.header))
    pairs, lines = collect_pairs(table, columns, to_pair)
    _refuse_other_class(table, len(pairs))
    kind: PairKind = "challenge_test" if where is None else "challenge_train"
    return PairTable(
        kind=kind, pairs=pairs, lines=lines, rejected=tuple(table.rejected), sha256=sha256
    )


def is_perturbqa(header: tuple[str, ...]) -> bool:
    """Return whether a header has PerturbQA's `split` and at least two of its other columns, and no
    id."""
    return (
        "split" in header
        and "id" not in header
        and sum(column in header for column in _PERTURBQA_COLUMNS) >= 3
    )


def read_perturbqa(table: Table, sha256: str) -> PairTable:
    """Return pairs with their split; 1 means changed in a -de file and up in a -dir file.

    The columns are the same in both, so the file's name decides; raises InputError unless it is
    <line>-de or <line>-dir.
    """
    cell_line, task = _line_and_task(table.name)
    others: Counter[str] = Counter()
    at = place_keys(table)

    def to_pair(line: int, cells: list[str]) -> Pair | Rejected:
        name = name_row(table, line, cells, at)
        if isinstance(name, Rejected):
            return name
        code, split = (clean(cells[table.header.index(column)]) for column in ("label", "split"))
        label = _PERTURBQA_LABELS[task].get(_TRUTH.get(code.lower(), code))
        if label is None:
            return Rejected(table.name, line, "bad label", f"{quote(code)}, expected 0 or 1")
        split = _SPLITS.get(split.lower(), split)
        if split not in _KNOWN_SPLITS:
            others[split] += 1
        return Pair(*name, label, split)

    pairs, lines = collect_pairs(table, _PERTURBQA_COLUMNS, to_pair)
    _refuse_other_class(table, len(pairs))
    rejected = tuple(table.rejected)
    return PairTable(
        kind="perturbqa",
        pairs=pairs,
        cell_line=cell_line,
        lines=lines,
        rejected=rejected,
        sha256=sha256,
        notes=_note_splits(others),
    )


def read_symbols(table: Table, line: int, pert: str, gene: str) -> tuple[str, str] | Rejected:
    """Return the perturbed gene and the target gene of a row, without blanks; "A+ctrl" is A.

    The rejection of a row with a control, several genes, or what a spreadsheet made of a symbol.
    """
    for what, symbol in (("pert", clean(pert)), ("gene", clean(gene))):
        if damage := spreadsheet_damage(symbol):
            return Rejected(
                table.name, line, "no gene symbol", f"{quote(symbol)} as {what}: {damage}"
            )
    perturbed = gene_of_condition(pert)
    if not perturbed:
        return Rejected(
            table.name,
            line,
            "no single gene",
            f"{quote(pert)} as pert: a control, or several genes",
        )
    return perturbed, clean(gene)


def _refuse_other_class(table: Table, n_pairs: int) -> None:
    """Raise InputError for a label that is none and stands in many rows: a class, without which
    other rows mean less."""
    found = Counter(
        rejected.detail for rejected in table.rejected if rejected.reason == "bad label"
    )
    for detail, n in found.most_common(1):
        if n_pairs and n >= max(_LEAST_OF_CLASS, _SHARE_OF_CLASS * (n_pairs + found.total())):
            raise InputError(
                f"{table.name}: label {detail}, stands in {n:,} rows beside {n_pairs:,} others: a"
                " class of its own. For changes in both directions, use up, down and none in a"
                " table with id, pert, gene and label"
            )


def _note_splits(others: Counter[str]) -> tuple[str, ...]:
    if not others:
        return ()
    shown = ", ".join(f"{quote(split)} ({n:,} rows)" for split, n in others.most_common(5))
    return (f"splits that are none of train, val and test, from which nothing is learnt: {shown}",)


def _line_and_task(name: str) -> tuple[str, Literal["de", "dir"]]:
    cell_line, _, task = PurePosixPath(name).stem.lower().rpartition("-")
    if cell_line and task == "de":
        return cell_line, "de"
    if cell_line and task == "dir":
        return cell_line, "dir"
    raise InputError(
        f"{name}: a PerturbQA table, but of which task? Name it <line>-de.csv or <line>-dir.csv"
    )
