"""The rows of a table of differential expression, read alike for labels and for predictions.

Percentages, ratios less 1 and ratios with a sign that are called log2 fold changes are refused; so,
for labels, are tables of changed genes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
_MAX_SEEN: Final = 1_000_000  # values of a column that tell its scale
Keep = Callable[[np.ndarray, np.ndarray], Bools]  # of perturbations and genes: which rows count


class ChangeRows:
    """Reads a table of perturbation, gene, change and its evidence in parts.

    columns: role → column, of those that are read. change: the role of the change, "" for a table
    of z alone. for_labels: p counts beside a standard error, and a row without a number says
    nothing instead of being bad. rejected, n_rows, n_chosen, n_infinite: grow while rows are read.
    """

    def __init__(self, table: Table, options: TableOptions, *, for_labels: bool) -> None:
        roles = choose_roles(table, options.columns)
        self.columns = _choose(table, roles.of, options.columns, for_labels)
        self.change = next((role for role in CHANGES if role in self.columns), "")
        self.rejected = table.rejected
        self.n_rows = self.n_chosen = self.n_infinite = 0
        self._table, self._for_labels = table, for_labels
        self._numbers = {role: name for role, name in self.columns.items() if role not in KEYS}
        self._seen: dict[str, list[Floats]] = {role: [] for role in self._numbers}
        table.keep(options.where)
        for role in KEYS:
            table.fill_down(self.columns[role])
        table.refuse_unclear(self._numbers.values())
        table.note_unused(name for name in table.header if name not in self.columns.values())

    def parts(self, keep: Keep) -> Iterator[pd.DataFrame]:
        """Yield pert, gene and the numbers by role, with the change as log2_fc; index: lines.

        Raise InputError for a table without rows, most of whose rows name no gene, or on other
        scales than its columns' roles.
        """
        factor = _BASES.get(self.change, ("", 1.0))[1]
        for raw in self._table.frames([*self.columns.values()]):
            rows = pd.DataFrame(
                {role: texts(raw[self.columns[role]]) for role in KEYS}, index=raw.index
            )
            for role, name in self._numbers.items():
                scale = factor if role in (*CHANGES, "standard_error") else 1.0
                rows[role] = self._table.numbers(name, raw[name]) * scale
                if self.n_rows < _MAX_SEEN:
                    self._seen[role].append(rows[role].to_numpy())
            self.n_rows += len(rows)
            chosen = self._name_genes(rows) & keep(rows["pert"].to_numpy(), rows["gene"].to_numpy())
            self.n_chosen += int(chosen.sum())
            good = self._check_numbers(raw[chosen], rows[chosen])
            yield self._as_log2(rows[chosen][good])
        self._refuse()

    def _refuse(self) -> None:
        file = self._table.name
        if not self.n_rows:
            raise InputError(f"{file}: no row below the names of its columns")
        no_genes = [row for row in self.rejected if row.reason == "no gene symbol"]
        if 2 * len(no_genes) > self.n_rows:
            raise InputError(
                f"{file}: {len(no_genes):,} rows name no gene, the first {no_genes[0].detail}"
            )
        for role, name in self._numbers.items():
            refuse_other_scale(file, name, role, np.concatenate(self._seen[role]))

    def _reject(self, line: int, reason: RejectReason, detail: str) -> None:
        self.rejected.append(Rejected(self._table.name, int(line), reason, detail))

    def _name_genes(self, rows: pd.DataFrame) -> Bools:
        """Return the flags of the rows whose symbols are some, and reject the others."""
        good = np.ones(len(rows), dtype=np.bool_)
        for role in KEYS:
            codes, distinct = pd.factorize(rows[role])
            damage = np.array([_damage_of(role, value) for value in distinct], dtype=object)[codes]
            for i in np.flatnonzero(good & (damage != "")).tolist():
                detail = f"{quote(rows[role].iloc[i])} as {role}: {damage[i]}"
                self._reject(rows.index[i], "no gene symbol", detail)
            good &= damage == ""
        return good

    def _check_numbers(self, raw: pd.DataFrame, rows: pd.DataFrame) -> Bools:
        """Return the flags of the rows with numbers that their columns may hold, and reject the
        others."""
        good = np.ones(len(rows), dtype=np.bool_)
        for role, name in self._numbers.items():
            low, high, expected = _RANGES.get(role, _ANY)
            values = rows[role].to_numpy()
            fine = (values >= low) & (values <= high) & (np.isfinite(values) | (role in CHANGES))
            for i in np.flatnonzero(~fine & good).tolist():
                cell = raw[name].iloc[i]
                cell = "" if cell is None else str(cell)
                reason: RejectReason = "out of range"
                if np.isnan(values[i]):
                    reason = "empty cell" if is_missing(clean(cell)) else "not a number"
                if reason == "empty cell" and self._for_labels:
                    fine[i] = True
                    continue
                where = f"{rows['pert'].iloc[i]}, {rows['gene'].iloc[i]}"
                detail = f"{where}: {quote(cell)} as {role}, expected {expected}"
                self._reject(rows.index[i], reason, detail)
            good &= fine
        return good

    def _as_log2(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with log2 fold changes; an infinite one is the largest that is computed
        from cells."""
        if not self.change:
            return rows
        change = rows[self.change].to_numpy()
        is_infinite = np.isinf(change)
        if self.change == "fold_change":
            is_infinite |= change == 0
            change = log2_fold_change(change, np.ones_like(change))
        self.n_infinite += int(is_infinite.sum())
        change = np.where(np.isinf(change), np.copysign(math.log2(FOLD_LIMIT), change), change)
        return rows.drop(columns=self.change).assign(log2_fc=change)

    def notes(self) -> tuple[str, ...]:
        """Return what was understood of the table, in words: its form, what is not used, the base
        of its changes."""
        notes = [*self._table.notes]
        if self.change:
            notes.append(f"{self.columns[self.change]}: {_BASES[self.change][0]}")
        if self.n_infinite:
            notes.append(
                f"{self.n_infinite:,} infinite changes are read as {FOLD_LIMIT:g}-fold, as from"
                " cells"
            )
        return tuple(notes)


def _choose(
    table: Table, of: Mapping[str, str], named: Mapping[str, str], for_labels: bool
) -> dict[str, str]:
    """Return the columns that are read, by role, those that a person names first.

    Raise InputError for missing ones, and for logarithms of a base that nobody says.
    """
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
            + ("; a table of one perturbation needs a column with its name" * ("pert" in missing))
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


@contextmanager
def open_changes(path: Path, options: TableOptions, *, for_labels: bool) -> Iterator[ChangeRows]:
    """Give the rows of a file. Raise InputError for columns that are missing, ambiguous or of an
    unknown base."""
    with open_table(path, most_bytes=MOST_BYTES) as table:
        yield ChangeRows(stack(table), options, for_labels=for_labels)


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


LEAST_VALUES: Final = 8  # from this many values on, it is odd if all are alike
_LARGEST: Final = 50  # log2 of means over 1e-9, as in scanpy's logfoldchanges, is smaller
_LEAST_SHARE: Final = 0.05  # of values beyond the largest, which are then no outliers
_MANY: Final = 100  # values, of which some are then below -1 where others are above 3
_SHARE_NEAR_1: Final = 0.6  # of ratios with a sign: most genes change little
_SHARE_OF_RATIOS: Final = 0.3  # of ratios of all genes, at least, between a half and the double
_LEAST_GAP: Final = 0.05  # log2 fold changes; smaller ones may all be 0 by rounding
_BESIDE_GAP: Final = 10  # changes between a gap and its double, none inside: chance 2 ** -10
_LARGEST_P: Final = 0.1  # of a table cut at a p-value: others have p-values up to 1
_LEAST_P: Final = 20  # p-values
_IS_RATIO: Final = "is the ratio that a column fold_change holds"


def tell_other_scale(values: Floats) -> str:
    """Return the actual scale of values named log2 fold changes, and the remedy; "" if the name may
    be right. Values that are 0 or not finite do not count."""
    known = values[np.isfinite(values) & (values != 0)]
    n, size = len(known), np.abs(known)
    if n < LEAST_VALUES:
        return ""
    n_large, n_above = int((size > _LARGEST).sum()), int((known > 1).sum())
    if n_large > _LEAST_SHARE * n:
        return (
            f"{n_large:,} of {n:,} values are beyond {_LARGEST}, which log2 fold changes are not:"
            f" percentages, perhaps, of which 1 + x / 100 {_IS_RATIO}"
        )
    many_lost = n_above > 0 and (known == -1).sum() >= LEAST_VALUES
    many_rise = n >= _MANY and n_above >= LEAST_VALUES and known.max() > 3
    if known.min() >= -1 and (many_lost or many_rise):
        return (
            f"none of {n:,} values is below -1, and {n_above:,} are above 1: ratios less 1,"
            f" perhaps, of which x + 1 {_IS_RATIO}"
        )
    if known.min() < -1 and size.min() >= 1 and (size < 1.25).mean() > _SHARE_NEAR_1:
        return (
            f"none of {n:,} values lies between -1 and 1: ratios with the sign of the change (-2"
            " for a half), perhaps; a column fold_change takes x above 0 and -1 / x below"
        )
    return ""


def refuse_other_scale(file: str, name: str, role: str, values: Floats) -> None:
    """Raise InputError for a column whose values are on another scale than its role's. values:
    logarithms as log2."""
    is_log, where = role.startswith("log") or role == "ln_fc", f"{file}: column {name}, as {role},"
    n, is_negative = int((values > 0).sum()), bool((values < 0).any())
    if (is_log or role == "z") and not is_negative and n >= LEAST_VALUES:
        is_ratio = is_log and ((values > 0.5) & (values < 2)).sum() > _SHARE_OF_RATIOS * n
        raise InputError(
            f"{where} has no negative value among {n:,} above 0: a size without a direction, or a"
            " table of rises alone (only.pos of Seurat), cannot be taken"
            + (f"; a ratio is --column fold_change={name}" if is_ratio else "")
        )
    if is_log and (other := tell_other_scale(values)):
        raise InputError(
            f"{where[:-1]}: {other}; predictions take a score that only ranks as --column z={name}"
        )
    if role == "fold_change" and is_negative:
        how = f"a logarithm is --column log2_fc={name}, ln_fc={name} or log10_fc={name}"
        raise InputError(f"{where} has negative values: {how}")
    n_over_1 = int((values > 1).sum())
    if role in ("p", "adjusted_p") and 2 * n_over_1 > n:
        raise InputError(
            f"{where} is above 1 in {n_over_1:,} rows: it is no p-value (-log10 p, perhaps); name"
            f" another with --column {role}=NAME"
        )


def tell_filter(change: Floats, p: Floats) -> str:
    """Return how a table of changed genes alone is known, "" for a table that seems to have all
    tested genes.

    change: log2 fold changes; p: p-values, adjusted or not.
    """
    size = np.abs(change[np.isfinite(change)])
    if len(size) >= LEAST_VALUES and not (change > 0).any():
        return "no change is above 0"
    least = float(size.min(initial=np.inf))
    beside = int((size < 2 * least).sum())
    if (beside >= _BESIDE_GAP and least >= _LEAST_GAP) or (
        least >= 1 and len(size) >= LEAST_VALUES
    ):
        return f"none of {len(size):,} log2 fold changes lies between {-least:.2g} and {least:.2g}"
    tested = p[np.isfinite(p)]
    if len(tested) >= _LEAST_P and tested.max() <= _LARGEST_P:
        return f"none of {len(tested):,} p-values is above {tested.max():.2g}"
    return ""
