"""The rows of a table of differential expression, read alike for labels and for predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.tables import Table, open_table
from core.base.texts import quote
from core.base.types import Rejected, RejectReason
from core.features.cells.columns import texts
from core.features.cells.comparisons import FOLD_LIMIT, log2_fold_change
from core.features.importing.roles import (
    CHANGES,
    TableOptions,
    choose_roles,
    explain_repeats,
    stack,
)
from core.features.importing.symbols import clean, is_missing, spreadsheet_damage
from core.stats.arrays import Bools, Floats

MOST_BYTES: Final = 1 << 40  # it is read in parts
KEYS: Final = ("pert", "gene")
# Role of a fold change → what it is, and what log2 of it is; one ratio has no such factor.
_BASES: Final[Mapping[str, tuple[str, float]]] = {
    "log2_fc": ("log2 fold changes", 1.0),
    "ln_fc": ("natural logarithms of fold changes, made log2", 1 / math.log(2)),
    "log10_fc": ("log10 of fold changes, made log2", math.log2(10)),
    "fold_change": ("ratios, made log2", 1.0),
}
# Role → the lowest and the highest number, and these in words; others may be any.
_ANY: Final = (-math.inf, math.inf, "a finite number")
_RANGES: Final[Mapping[str, tuple[float, float, str]]] = {
    "p": (0, 1, "0 to 1"),
    "adjusted_p": (0, 1, "0 to 1"),
    "fold_change": (0, math.inf, "0 or more"),
    "standard_error": (math.nextafter(0, 1), math.inf, "a number above 0"),
}
_MAX_SEEN: Final = 1_000_000  # rows that tell the scale of a column
Keep = Callable[[np.ndarray, np.ndarray], Bools]  # of perturbations and genes: which rows count


@dataclass(frozen=True, eq=False)
class ChangeTable:
    """rows: pert, gene and the numbers by role, the change as log2_fc; index: lines. columns: role
    → column, of those that are read. change: the role of the change, "" for a table of z alone.
    n_rows: of the file; n_chosen: those that counted. n_infinite: changes without an end. notes:
    what was understood of the table, in words."""

    rows: pd.DataFrame
    columns: Mapping[str, str]
    change: str
    rejected: tuple[Rejected, ...]
    n_rows: int
    n_chosen: int
    n_infinite: int
    notes: tuple[str, ...]


def read_changes(path: Path, options: TableOptions, keep: Keep | None = None) -> ChangeTable:
    """Return the rows of a table of perturbation, gene, change and its evidence.

    keep: for predictions, the rows that count. None: all do, for labels: p counts beside a standard
    error, and a row without a number says nothing instead of being bad. Raise InputError for
    columns that are missing, ambiguous or of an unknown base, a table without rows, most of whose
    rows name no gene, or on other scales than its columns' roles.
    """
    parts, seen, n_rows, n_chosen = list[pd.DataFrame](), list[pd.DataFrame](), 0, 0
    with open_table(path, most_bytes=MOST_BYTES) as opened:
        table = stack(opened)
        columns = _choose(table, options.columns, for_labels=keep is None)
        change = next((role for role in CHANGES if role in columns), "")
        what, factor = _BASES.get(change, ("", 1.0))
        numbers = {role: name for role, name in columns.items() if role not in KEYS}
        table.keep(options.where)
        for role in KEYS:
            table.fill_down(columns[role])
        table.refuse_unclear(numbers.values())
        table.note_unused(name for name in table.header if name not in columns.values())
        for raw in table.frames([*columns.values()]):
            part = pd.DataFrame({role: texts(raw[columns[role]]) for role in KEYS}, raw.index)
            for role, name in numbers.items():
                scale = factor if role in (*CHANGES, "standard_error") else 1.0
                part[role] = table.numbers(name, raw[name]) * scale
            n_rows += len(part)
            if n_rows < _MAX_SEEN:
                seen.append(part[[*numbers]])
            chosen = _name_genes(table, part)
            if keep is not None:
                chosen &= keep(part["pert"].to_numpy(), part["gene"].to_numpy())
            n_chosen += int(chosen.sum())
            part, raw = part[chosen], raw[chosen]
            parts.append(part[_check_numbers(table, raw, part, numbers, for_labels=keep is None)])
        no_genes = [row for row in table.rejected if row.reason == "no gene symbol"]
        if not n_rows:
            raise InputError(f"{table.name}: no row below the names of its columns")
        if 2 * len(no_genes) > n_rows:
            raise InputError(
                f"{table.name}: {len(no_genes):,} rows name no gene, the first {no_genes[0].detail}"
            )
        of_role = pd.concat(seen)
        for role, name in numbers.items():
            refuse_other_scale(table.name, name, role, of_role[role].to_numpy())
        rows, notes, n_infinite = pd.concat(parts), [*table.notes], 0
        if change:
            rows, n_infinite = _as_log2(rows, change)
            notes.append(f"{columns[change]}: {what}")
        if n_infinite:
            notes.append(
                f"{n_infinite:,} infinite changes are read as {FOLD_LIMIT:g}-fold, as from cells"
            )
        return ChangeTable(
            rows,
            columns,
            change,
            tuple(table.rejected),
            n_rows,
            n_chosen,
            n_infinite,
            tuple(notes),
        )


def _choose(table: Table, named: Mapping[str, str], *, for_labels: bool) -> dict[str, str]:
    """Return the columns that are read, by role, those that a person names first.

    Raise InputError for missing ones, and for logarithms of a base that nobody says.
    """
    of = choose_roles(table, named).of
    evidence = ("p", "adjusted_p") if for_labels else ("z", "standard_error", "p", "adjusted_p")
    change, proof = (
        min((role for role in roles if role in of), key=lambda role: role not in named, default="")
        for roles in (CHANGES, evidence)
    )
    missing = [role for role in KEYS if role not in of]
    if not change and proof != "z":
        missing.append("log2_fc (or ln_fc, log10_fc, fold_change)")
    if not proof and for_labels:
        missing.append("p")
    if missing:
        raise InputError(
            f"{table.name}: columns {quote(', '.join(table.header), 200)}; expected perturbation,"
            f" gene, a fold change{' and a p-value' if for_labels else ' or z'} of each pair; say"
            f" which column is {' and which is '.join(missing)} with --column ROLE=NAME"
        )
    if change == "log_fc" and proof != "z":
        name = of["log_fc"]
        raise InputError(
            f"{table.name}: column {name} is a logarithm of the fold change, of a base that its"
            f" name does not say; say it with --column log2_fc={name}, ln_fc={name} (natural, as of"
            f" presto, nebula and Seurat 3) or log10_fc={name}"
        )
    used = (*KEYS, "" if change == "log_fc" else change, proof)
    return {role: of[role] for role in used if role}


@lru_cache(maxsize=1 << 16)
def _damage_of(role: str, text: str) -> str:
    """Return why a text is no symbol; a perturbation that is missing names nobody, as in cells."""
    if is_missing(text):
        return "" if role == "pert" else "no gene"
    return spreadsheet_damage(text)


def _name_genes(table: Table, part: pd.DataFrame) -> Bools:
    """Return the flags of the rows whose symbols are some, and reject the others."""
    good = np.ones(len(part), dtype=np.bool_)
    for role in KEYS:
        codes, distinct = pd.factorize(part[role])
        damage = np.array([_damage_of(role, value) for value in distinct], dtype=object)[codes]
        for i in np.flatnonzero(good & (damage != "")).tolist():
            detail = f"{quote(part[role].iloc[i])} as {role}: {damage[i]}"
            table.rejected.append(
                Rejected(table.name, int(part.index[i]), "no gene symbol", detail)
            )
        good &= damage == ""
    return good


def _check_numbers(
    table: Table,
    raw: pd.DataFrame,
    part: pd.DataFrame,
    numbers: Mapping[str, str],
    *,
    for_labels: bool,
) -> Bools:
    """Return the flags of the rows with numbers that their columns may hold, and reject the
    others."""
    good = np.ones(len(part), dtype=np.bool_)
    for role, name in numbers.items():
        low, high, expected = _RANGES.get(role, _ANY)
        values = part[role].to_numpy()
        fine = (values >= low) & (values <= high) & (np.isfinite(values) | (role in CHANGES))
        for i in np.flatnonzero(~fine & good).tolist():
            cell = "" if raw[name].iloc[i] is None else str(raw[name].iloc[i])
            reason: RejectReason = "out of range"
            if np.isnan(values[i]):
                reason = "empty cell" if is_missing(clean(cell)) else "not a number"
            if for_labels and reason == "empty cell":
                fine[i] = True
                continue
            pair = f"{part['pert'].iloc[i]}, {part['gene'].iloc[i]}"
            detail = f"{pair}: {quote(cell)} as {role}, expected {expected}"
            table.rejected.append(Rejected(table.name, int(part.index[i]), reason, detail))
        good &= fine
    return good


def _as_log2(rows: pd.DataFrame, role: str) -> tuple[pd.DataFrame, int]:
    """Return the rows with log2 fold changes, and how many changes are infinite: the largest that
    is computed from cells."""
    change = rows[role].to_numpy()
    is_infinite = np.isinf(change)
    if role == "fold_change":
        is_infinite |= change == 0
        change = log2_fold_change(change, np.ones_like(change))
    limit = math.log2(FOLD_LIMIT)
    change = np.where(np.isinf(change), np.copysign(limit, change), change)
    return rows.drop(columns=role).assign(log2_fc=change), int(is_infinite.sum())


def ask_about_repeats(path: Path, options: TableOptions, keys: pd.Series) -> None:
    """Raise InputError if other columns tell rows with the same key apart. keys: by line."""
    if not keys.index.is_unique:
        return  # several of a line, of a table that was stacked
    with open_table(path, most_bytes=MOST_BYTES) as table:
        pert_gene = {choose_roles(table, options.columns).of[role] for role in KEYS}
        table.keep(options.where)
        names = [name for name in table.header if name and name not in pert_gene]
        if names:
            others = pd.concat([part[part.index.isin(keys.index)] for part in table.frames(names)])
            explain_repeats(path.name, keys, others.astype(str).reindex(keys.index))


_LEAST_VALUES: Final = 8  # from this many values on, it is odd if all are alike
_LARGEST: Final = 50  # log2 of means over 1e-9, as in scanpy's logfoldchanges, is smaller
_LEAST_SHARE: Final = 0.05  # of values beyond the largest, which are then no outliers
_SHARE_OF_RATIOS: Final = 0.3  # of ratios of all genes, at least, between a half and the double
_LEAST_GAP: Final = 0.05  # log2 fold changes; smaller ones may all be 0 by rounding
_BESIDE_GAP: Final = 10  # changes between a gap and its double, none inside: chance 2 ** -10
_LARGEST_P: Final = 0.1  # of a table cut at a p-value: others have p-values up to 1
_LEAST_P: Final = 20  # p-values


def refuse_other_scale(file: str, name: str, role: str, values: Floats) -> None:
    """Raise InputError for a column whose values are on another scale than its role's. values:
    logarithms as log2."""
    is_log, why = role in CHANGES and role != "fold_change", ""
    known = values[np.isfinite(values) & (values != 0)]
    n, is_negative = int((values > 0).sum()), bool((values < 0).any())
    n_over_1 = int((values > 1).sum())
    is_enough = len(known) >= _LEAST_VALUES
    if (is_log or role == "z") and is_enough and not is_negative:
        is_ratio = is_log and ((known > 0.5) & (known < 2)).sum() > _SHARE_OF_RATIOS * n
        why = (
            f"has no negative value among {n:,} above 0: a size without a direction, or a table of"
            " rises alone (only.pos of Seurat), cannot be taken"
            + (f"; a ratio is --column fold_change={name}" if is_ratio else "")
        )
    elif is_log and is_enough:
        n_large, n_lost = int((np.abs(known) > _LARGEST).sum()), int((known == -1).sum())
        of_lost = known.min() >= -1 and n_over_1 > 0 and n_lost >= _LEAST_VALUES
        if of_lost or n_large > _LEAST_SHARE * len(known):
            why = (
                f"holds percentages or ratios less 1, perhaps ({n_large:,} of {len(known):,} values"
                f" are beyond {_LARGEST}, {n_lost:,} are -1); write the ratio as a column"
                f" fold_change. Predictions take a score that only ranks as --column z={name}"
            )
    elif role == "fold_change" and is_negative:
        why = (
            "has negative values: a logarithm is"
            f" --column log2_fc={name}, ln_fc={name} or log10_fc={name}"
        )
    elif role in ("p", "adjusted_p") and 2 * n_over_1 > n:
        why = (
            f"is above 1 in {n_over_1:,} rows: it is no p-value (-log10 p, perhaps); name another"
            f" with --column {role}=NAME"
        )
    if why:
        raise InputError(f"{file}: column {name}, as {role}, {why}")


def tell_filter(change: Floats, p: Floats) -> str:
    """Return how a table of changed genes alone is known, "" for a table that seems to have all
    tested genes.

    change: log2 fold changes; p: p-values, adjusted or not.
    """
    size, tested = np.abs(change[np.isfinite(change)]), p[np.isfinite(p)]
    least = float(size.min(initial=np.inf))
    is_gap = least >= _LEAST_GAP and int((size < 2 * least).sum()) >= _BESIDE_GAP
    if len(size) >= _LEAST_VALUES and not (change > 0).any():
        return "no change is above 0"
    if is_gap or (least >= 1 and len(size) >= _LEAST_VALUES):
        return f"none of {len(size):,} log2 fold changes lies between {-least:.2g} and {least:.2g}"
    if len(tested) >= _LEAST_P and tested.max() <= _LARGEST_P:
        return f"none of {len(tested):,} p-values is above {tested.max():.2g}"
    return ""
