"""Tables of pairs: train.csv and test.csv of the BioReasoning challenge, and the -de and -dir files
of PerturbQA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from core.base.errors import InputError
from core.base.tables import Table
from core.base.texts import quote
from core.base.types import Label, Pair, Rejected, RejectReason
from core.features.importing.perturbations import gene_of_condition
from core.features.importing.roles import explain_repeats, is_often
from core.features.importing.symbols import clean, spreadsheet_damage
from core.store.pairs import PAIR_COLUMNS

if TYPE_CHECKING:
    from core.stats.arrays import Codes

T = TypeVar("T")
PairKind = Literal["challenge_train", "challenge_test", "perturbqa"]

IDENTITY = ("id", "pert", "gene")
_CHALLENGE_LABELS = {"up": Label.UP, "down": Label.DOWN, "none": Label.NONE}
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
    "de": {"0": Label.NONE, "1": Label.DE},
    "dir": {"0": Label.DOWN, "1": Label.UP},
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
    """The pairs of one file. rows: a column of texts for each field of `Pair`. cell_line: the one
    that a file of PerturbQA is about, in lower case; None for other files."""

    kind: PairKind
    rows: pa.Table
    cell_line: str | None = None

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The rows as records; a million of them take seconds."""
        ids, perts, genes, labels, splits = (column.to_pylist() for column in self.rows.columns)
        typed = [label and Label(label) for label in labels]
        return tuple(map(Pair, ids, perts, genes, typed, splits))


class Part(NamedTuple):
    """Some rows of a table, each of which names another pair. ids, perts, genes: of the pairs, the
    symbols "" where there is an id alone. rows: their cells by column; index: their lines."""

    ids: NDArray[np.object_]
    perts: NDArray[np.object_]
    genes: NDArray[np.object_]
    rows: pd.DataFrame


# which rows are wrong, why, and in words, given the position of one
Fault = tuple[NDArray[np.bool_], RejectReason, Callable[[int], str]]


def unique_rows(
    table: Table,
    unused: Sequence[str],
    check: Callable[[pd.DataFrame], Sequence[Fault]] | None = None,
) -> Iterator[Part]:
    """Yield the rows that name a pair and have no fault; of rows with the same pair the first
    counts. The others go to `table.rejected`.

    unused: columns that may tell repeated pairs apart; raise InputError if one to three of them do
    (see `explain_repeats`).
    """
    lines: dict[str, int] = {}
    read: list[tuple[NDArray[np.object_], pd.DataFrame]] = []
    for rows in table.parts():
        (ids, perts, genes), faults = _name_rows(rows)
        keep = _reject(table, rows.index, [*faults, *(check(rows) if check else ())])
        if not keep.all():
            ids, perts, genes, rows = ids[keep], perts[keep], genes[keep], rows[keep]
        read.append((ids, rows[[*unused]]))
        here = rows.index.to_numpy()
        first = np.fromiter(map(lines.setdefault, ids, here.tolist()), np.intp, len(ids))
        again = first != here
        if again.any():
            _reject(table, rows.index, [(again, "duplicate", partial(_stands, ids, first))])
            ids, perts, genes, rows = ids[~again], perts[~again], genes[~again], rows[~again]
        yield Part(ids, perts, genes, rows)
    if is_often(sum(len(ids) for ids, _ in read) - len(lines), len(lines)):
        others = pd.concat([cells.set_axis(ids) for ids, cells in read])
        others = others[others.index.duplicated(keep=False)]
        others = others.reset_index(names=" id")  # no column is called so
        explain_repeats(table.name, others[" id"], others.drop(columns=" id"))


def _stands(ids: NDArray[np.object_], first: Codes, at: int) -> str:
    return f"{quote(ids[at])} stands on line {first[at]} already"


def _reject(table: Table, lines: pd.Index, faults: Sequence[Fault]) -> NDArray[np.bool_]:
    """Reject each row that has a fault, for its first; return which have none."""
    keep = np.ones(len(lines), dtype=bool)
    for wrong, reason, describe in faults:
        for at in np.flatnonzero(wrong & keep).tolist():
            table.rejected.append(Rejected(table.name, int(lines[at]), reason, describe(at)))
        keep &= ~wrong
    return keep


def find_empty(rows: pd.DataFrame, columns: Iterable[str]) -> list[Fault]:
    """Return the faults of rows with an empty cell in a column."""
    faults = list[Fault]()
    for name in columns:
        says = partial("nothing in column {0}".format, name)
        bare = np.array([*map(str.strip, rows[name].tolist())], dtype=object)
        faults.append((bare == "", "empty cell", says))
    return faults


def each(function: Callable[[str], T], values: Iterable[str]) -> NDArray[np.object_]:
    """Return what a function returns for each value; it is called once for each distinct one."""
    codes, distinct = pd.factorize(np.asarray(values, dtype=object))
    results = np.empty(len(distinct), dtype=object)
    results[:] = [*map(function, distinct)]
    return results[codes]


def _name_rows(rows: pd.DataFrame) -> tuple[tuple[NDArray[np.object_], ...], list[Fault]]:
    """Return ids, perturbations and genes of rows, and the faults of those without a name, with an
    id that names another pair, a control, several genes, or what a spreadsheet made of a symbol.

    "A+ctrl" is A. The symbols are "" where there is an id alone.
    """
    has_id = "id" in rows
    faults = find_empty(rows, ("id",) if has_id else ("pert", "gene"))
    ids = rows["id"].to_numpy() if has_id else np.full(len(rows), "", object)
    if not {"pert", "gene"} <= {*rows}:
        return (ids, np.full(len(rows), "", object), np.full(len(rows), "", object)), faults
    perts, genes = each(clean, rows["pert"]), each(clean, rows["gene"])
    named = (each(str.strip, rows["pert"]) != "") & (each(str.strip, rows["gene"]) != "")
    perturbed = each(gene_of_condition, rows["pert"])
    if has_id:
        written = (rows["pert"] + "_" + rows["gene"]).to_numpy()
        is_other = named & (ids != written)
        if is_other.any():
            stated = each(clean, ids)
            is_other &= (stated != written) & (stated != perts + "_" + genes)
        faults.append(
            (
                is_other,
                "id mismatch",
                lambda at: f"id {quote(ids[at])}, expected {quote(written[at])}",
            )
        )
    for what, symbols in (("pert", perts), ("gene", genes)):
        damage = each(spreadsheet_damage, symbols)
        says = partial(_say_damage, what, symbols, damage)
        faults.append((named & (damage != ""), "no gene symbol", says))
    several = named & (perturbed == "")
    faults.append(
        (
            several,
            "no single gene",
            lambda at: f"{quote(rows['pert'].iloc[at])} as pert: a control, or several genes",
        )
    )
    return (
        np.where(named, perturbed + "_" + genes, ids),
        np.where(named, perturbed, ""),
        np.where(named, genes, ""),
    ), faults


def _say_damage(
    what: str, symbols: NDArray[np.object_], damage: NDArray[np.object_], at: int
) -> str:
    return f"{quote(symbols[at])} as {what}: {damage[at]}"


def is_challenge(names: Collection[str]) -> bool:
    """Return whether columns are train.csv's, perhaps with further ones, or exactly test.csv's.

    Of id, pert and gene the id may be missing; another one is reported.

    A file with a column `split` is neither: its test rows must not become training rows.
    """
    known = len({*IDENTITY} & {*names})
    return known >= 2 and ("label" in names or known == len(names)) and "split" not in names


def is_perturbqa(names: Collection[str]) -> bool:
    """Return whether columns are PerturbQA's `split`, at least two of its others, and no id."""
    return "split" in names and "id" not in names and len({*_PERTURBQA_COLUMNS} & {*names}) >= 3


def read_challenge(table: Table, sha256: str) -> PairTable:
    """Return labelled pairs of split "train", or unlabelled ones of split "test" if there is no
    column `label`."""
    is_test = table.column("label") is None
    return read_pairs(
        table,
        sha256,
        IDENTITY if is_test else (*IDENTITY, "label"),
        "challenge_test" if is_test else "challenge_train",
        labels=_CHALLENGE_LABELS,
        split="test" if is_test else "train",
    )


def read_perturbqa(table: Table, sha256: str) -> PairTable:
    """Return pairs with their split; 1 means changed in a -de file and up in a -dir file.

    The columns are the same in both, so the file's name decides; raises InputError unless it is
    <line>-de or <line>-dir.
    """
    cell_line, _, task = PurePosixPath(table.name).stem.lower().rpartition("-")
    if not cell_line or task not in _PERTURBQA_LABELS:
        raise InputError(
            f"{table.name}: a PerturbQA table, but of which task? Name it <line>-de.csv or"
            " <line>-dir.csv"
        )
    labels = _PERTURBQA_LABELS[task]
    read = read_pairs(table, sha256, _PERTURBQA_COLUMNS, "perturbqa", labels=labels)
    splits = read.rows["split"].value_counts().to_pylist()
    others = Counter({n["values"]: n["counts"] for n in splits if n["values"] not in _KNOWN_SPLITS})
    if not others:
        return replace(read, cell_line=cell_line)
    shown = ", ".join(f"{quote(split)} ({n:,} rows)" for split, n in others.most_common(5))
    note = f"splits that are none of train, val and test, from which nothing is learnt: {shown}"
    return replace(read, cell_line=cell_line, notes=(note,))


def read_pairs(
    table: Table,
    sha256: str,
    columns: Sequence[str],
    kind: PairKind,
    *,
    labels: Mapping[str, Label],
    split: str = "",
) -> PairTable:
    """Return the pairs of a table with these columns, of which `id` may be missing. labels: by
    their codes, in small letters. split: of all rows; "" for that in their column."""
    used = [*columns]
    if "id" in used and "id" not in table.header:
        used.remove("id")
    parts, lines = [_rows_of((), (), (), (), ())], list[int]()

    def label_of(text: str) -> Label | None:
        code = clean(text).lower()
        return labels.get(_TRUTH.get(code, code))

    def find_faults(rows: pd.DataFrame) -> list[Fault]:
        faults = find_empty(rows, used)
        if "label" in used:
            unknown = each(label_of, rows["label"]) == None  # noqa: E711, of an array
            expected = " or ".join(labels) if kind == "perturbqa" else ", ".join(labels)
            says = partial(_say_label, rows["label"].tolist(), expected)
            faults.append((unknown, "bad label", says))
        return faults

    if table.require(*used) is not None:
        unused = [name for name in table.header if name not in columns]
        for part in unique_rows(table, unused, find_faults):
            rows = part.rows
            none = np.full(len(rows), None)
            found = each(label_of, rows["label"]) if "label" in used else none
            splits = np.full(len(rows), split) if split else each(_split_of, rows["split"])
            parts.append(_rows_of(part.ids, part.perts, part.genes, found, splits))
            lines += rows.index.tolist()
    pairs = pa.concat_tables(parts)
    _refuse_other_class(table, len(pairs))
    return PairTable(
        kind=kind,
        rows=pairs,
        lines=tuple(lines),
        rejected=tuple(table.rejected),
        sha256=sha256,
    )


def _rows_of(*columns: ArrayLike) -> pa.Table:
    """Return columns of texts as the `rows` of a `PairTable`."""
    texts = [pa.array(column, pa.string()) for column in columns]
    return pa.table(dict(zip(PAIR_COLUMNS, texts, strict=True)))


def _say_label(texts: Sequence[str], expected: str, at: int) -> str:
    return f"{quote(clean(texts[at]))}, expected {expected}"


def _split_of(text: str) -> str:
    return _SPLITS.get(clean(text).lower(), clean(text))


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
