"""Tables of pairs: train.csv and test.csv of the BioReasoning challenge, and the -de and -dir files of PerturbQA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from core.base.roles import Repeats
from core.base.tables import Table
from core.errors import InputError
from core.symbols.perturbations import gene_of_condition
from core.symbols.spelling import clean, spreadsheet_damage
from core.texts import quote
from core.types import Label, Pair, Rejected

PairKind = Literal["challenge_train", "challenge_test", "perturbqa"]

_IDENTITY = ("id", "pert", "gene")
_CHALLENGE_LABELS = {str(label): label for label in (Label.UP, Label.DOWN, Label.NONE)}
_PERTURBQA_COLUMNS = ("pert", "gene", "label", "split")
# Splits in other spellings; those of published files stay as they are.
_SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "validation", "test": "test"}
_SPLITS |= {"dev": "val", "testing": "test"}
_KNOWN_SPLITS = {*_SPLITS.values()}
_TRUTH = {"1.0": "1", "true": "1", "0.0": "0", "false": "0"}  # as pandas writes numbers beside missing ones, and truth values
_LEAST_OF_CLASS, _SHARE_OF_CLASS = 8, 0.1  # of rows with one label that is none, which is then no slip
_PERTURBQA_LABELS = {"de": {"1": Label.DE, "0": Label.NONE}, "dir": {"1": Label.UP, "0": Label.DOWN}}


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """What every table of rows has. lines: the line on which each row starts, from 1. sha256: of the whole file.

    notes: remarks for people, as on what was not read. header: the columns as the file names them, () without any.
    """

    lines: tuple[int, ...]
    rejected: tuple[Rejected, ...]
    sha256: str
    notes: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PairTable(TableRows):
    """The pairs of one file. cell_line: the one that a file of PerturbQA is about, in lower case; None for other files."""

    kind: PairKind
    pairs: tuple[Pair, ...]
    cell_line: str | None = None


def duplicate(table: Table, line: int, pair_id: str, first_line: int) -> Rejected:
    """Return the rejection of a row whose id an earlier row has."""
    return Rejected(table.name, line, "duplicate", f"{quote(pair_id)} stands on line {first_line} already")


def collect_pairs(
    table: Table, columns: tuple[str, ...], to_pair: Callable[[int, list[str]], Pair | Rejected]
) -> tuple[tuple[Pair, ...], tuple[int, ...]]:
    """Return pairs and their lines; `to_pair` gets the line and the cells of `columns`, none of them empty.

    Of rows with the same id the first counts; later ones, empty cells and what `to_pair` rejects go to `table.rejected`.
    """
    positions = table.require(*columns)
    if positions is None:
        return (), ()
    pairs: list[Pair] = []
    lines: dict[str, int] = {}
    repeats = Repeats(table, [name for name in table.header if name not in columns])
    for line, cells in table.records():
        result: Pair | Rejected = table.empty_cell(line, cells, positions) or to_pair(
            line, [cells[position] for position in positions]
        )
        if isinstance(result, Pair) and repeats.add(result.pair_id, cells):
            result = duplicate(table, line, result.pair_id, lines[result.pair_id])
        if isinstance(result, Pair):
            pairs.append(result)
            lines[result.pair_id] = line
        else:
            table.rejected.append(result)
    repeats.refuse()
    return tuple(pairs), tuple(lines.values())


def is_challenge(header: tuple[str, ...]) -> bool:
    """Return whether a header is train.csv's, perhaps with further columns, or exactly test.csv's.

    Of id, pert and gene the id may be missing; another one is reported.

    A file with a column `split` is neither: its test rows must not become training rows.
    """
    known = sum(column in header for column in _IDENTITY)
    return known >= 2 and ("label" in header or set(header) <= set(_IDENTITY)) and "split" not in header


def read_challenge(table: Table, sha256: str) -> PairTable:
    """Return labelled pairs of split "train", or unlabelled ones of split "test" if there is no column `label`."""
    labelled, has_id = "label" in table.header, "id" in table.header

    def to_pair(line: int, cells: list[str]) -> Pair | Rejected:
        symbols = cells[:2]
        pair_id = cells[-1] if has_id else "_".join(symbols)
        if clean(pair_id) not in ("_".join(symbols), "_".join(map(clean, symbols))):
            return Rejected(table.name, line, "id mismatch", f"id {quote(pair_id)}, expected {quote('_'.join(symbols))}")
        read = read_symbols(table, line, *symbols)
        if isinstance(read, Rejected):
            return read
        pert, gene = read
        pair_id = f"{pert}_{gene}"
        if not labelled:
            return Pair(pair_id, pert, gene, None, "test")
        label = _CHALLENGE_LABELS.get(cells[2].strip().lower())
        if label is None:
            return Rejected(table.name, line, "bad label", f"{quote(cells[2])}, expected {', '.join(_CHALLENGE_LABELS)}")
        return Pair(pair_id, pert, gene, label, "train")

    columns = ("pert", "gene", *(["label"] if labelled else []), *(["id"] if has_id else []))
    pairs, lines = collect_pairs(table, columns, to_pair)
    _refuse_other_class(table, len(pairs))
    kind: PairKind = "challenge_train" if labelled else "challenge_test"
    return PairTable(kind=kind, pairs=pairs, lines=lines, rejected=tuple(table.rejected), sha256=sha256)


def is_perturbqa(header: tuple[str, ...]) -> bool:
    """Return whether a header has PerturbQA's `split` and at least two of its other columns, and no id."""
    return "split" in header and "id" not in header and sum(column in header for column in _PERTURBQA_COLUMNS) >= 3


def read_perturbqa(table: Table, sha256: str) -> PairTable:
    """Return pairs with their split; 1 means changed in a -de file and up in a -dir file.

    The columns are the same in both, so the file's name decides; raises InputError unless it is <line>-de or <line>-dir.
    """
    cell_line, task = _line_and_task(table.name)
    others: Counter[str] = Counter()

    def to_pair(line: int, cells: list[str]) -> Pair | Rejected:
        read = read_symbols(table, line, *cells[:2])
        if isinstance(read, Rejected):
            return read
        code, split = map(clean, cells[2:])
        label = _PERTURBQA_LABELS[task].get(_TRUTH.get(code.lower(), code))
        if label is None:
            return Rejected(table.name, line, "bad label", f"{quote(code)}, expected 0 or 1")
        split = _SPLITS.get(split.lower(), split)
        if split not in _KNOWN_SPLITS:
            others[split] += 1
        return Pair("_".join(read), *read, label, split)

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
            return Rejected(table.name, line, "no gene symbol", f"{quote(symbol)} as {what}: {damage}")
    perturbed = gene_of_condition(pert)
    if not perturbed:
        return Rejected(table.name, line, "no single gene", f"{quote(pert)} as pert: a control, or several genes")
    return perturbed, clean(gene)


def _refuse_other_class(table: Table, n_pairs: int) -> None:
    """Raise InputError for a label that is none and stands in many rows: a class, without which other rows mean less."""
    found = Counter(rejected.detail for rejected in table.rejected if rejected.reason == "bad label")
    for detail, n in found.most_common(1):
        if n_pairs and n >= max(_LEAST_OF_CLASS, _SHARE_OF_CLASS * (n_pairs + found.total())):
            raise InputError(
                f"{table.name}: label {detail}, stands in {n:,} rows beside {n_pairs:,} others: a class of its own. For changes "
                "in both directions, use up, down and none in a table with id, pert, gene and label"
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
    raise InputError(f"{name}: a PerturbQA table, but of which task? Name it <line>-de.csv or <line>-dir.csv")
