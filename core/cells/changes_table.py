"""Labels of a table of differential expression, as pdex, cell-eval or scanpy writes it: a row for each perturbation and gene."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd

from core.base.tables import Table, open_table
from core.cells.anndata_file import CountSummary
from core.cells.change_scales import LEAST_VALUES, count_kinds, refuse_other_scales
from core.cells.columns import Columns, texts
from core.cells.conditions import Conditions
from core.cells.differential_expression import GeneChanges, log2_fold_change
from core.cells.gene_names import GeneNames
from core.cells.groups import CellGroups
from core.cells.labels import knockdown_table, label_pairs
from core.cells.predicted_columns import KEYS, choose_columns
from core.cells.predicted_table import MOST_BYTES
from core.cells.sampling import sample_pairs
from core.cells.screen import LabelSettings, ScreenLabels
from core.errors import InputError
from core.stats.arrays import Floats
from core.stats.multiplicity import benjamini_hochberg
from core.symbols.perturbations import read_perturbations
from core.symbols.spelling import clean, is_missing

_USED = ("thresholds", "sampling", "separator", "control")  # settings that a table can have


def label_changes(path: Path, settings: LabelSettings) -> ScreenLabels:
    """Return the labels of a table with perturbation, gene, log2 fold change (or ratio) and p.

    The FDR is computed from p among the genes of a perturbation, as for cells. Perturbations are read as in cells; those of
    several genes and controls are left out. Pairs without a row have no label. Raise InputError for missing columns, invalid
    numbers, repeated pairs, and settings about cells.
    """
    _refuse_cell_settings(path, settings)
    with open_table(path, most_bytes=MOST_BYTES) as table:
        return _label_table(path, table, settings)


def _label_table(path: Path, table: Table, settings: LabelSettings) -> ScreenLabels:
    columns = choose_columns(path.name, table.header, {}, labels=True)
    if "p" not in columns or not {"log2_fc", "fold_change"} & set(columns):
        raise InputError(
            f"{path.name}: columns {', '.join(columns.values())}; labels need a p-value and a fold change of each pair, expected "
            "p_value and log2_fc (or fold_change)"
        )
    rows = pd.concat(table.frames(list(columns.values())))
    if table.rejected:
        first = table.rejected[0]
        raise InputError(f"{first.file}, line {first.line}: {first.reason}, {first.detail}")
    numbers = {role: _numbers(table, rows[name], name) for role, name in columns.items() if role not in KEYS}
    rows = rows.rename(columns={name: role for role, name in columns.items()}).assign(**numbers)
    perts, genes = texts(rows["pert"]), texts(rows["gene"])
    names = read_perturbations(perts, set(genes), settings.control, settings.separator or "", need_controls=False)
    single = {value: meaning.genes[0] for value, meaning in names.of_value.items() if len(meaning.genes) == 1}
    used = np.array([value in single for value in perts], dtype=np.bool_)
    if not used.any():
        raise InputError(f"{path.name}: no perturbation of a single gene, the values are {', '.join(sorted(names.counts)[:5])}")
    target, targets = pd.factorize(np.array([single[value] for value in perts[used]], dtype=object), sort=True)
    gene, measured = pd.factorize(genes[used], sort=True)
    if pd.MultiIndex.from_arrays([target, gene]).has_duplicates:
        twice = pd.MultiIndex.from_arrays([perts[used], genes[used]])
        pert, symbol = twice[twice.duplicated()][0] if twice.has_duplicates else (perts[used][0], genes[used][0])
        raise InputError(f"{path.name}: a pair is repeated ({pert}, {symbol}), expected one row for each")
    changes = _changes(path, columns, rows[used], (target, gene), (len(targets), len(measured)))
    gene_names = GeneNames(tuple(map(str, measured)))
    codes = label_pairs(changes, targets, gene_names, settings.thresholds)
    nobody = np.empty(0, dtype=np.intp)
    multiple = tuple(names.multiple)
    return ScreenLabels(
        genes=gene_names.names,
        conditions=Conditions(
            Columns(columns["pert"], ", ".join(names.controls) or "none in the table"), names, nobody, nobody.astype(np.bool_), ()
        ),
        gene_names=gene_names,
        counts=CountSummary(np.empty(0), nobody, np.empty(0), nobody, whole_numbers=True),
        groups=CellGroups(
            tuple(map(str, targets)), nobody, None, unknown=tuple(sorted(set(targets) - set(genes))), multiple=multiple
        ),
        changes=changes,
        codes=codes,
        sample=sample_pairs(codes, changes.fdr, settings.sampling),
        knockdown=knockdown_table(()),
    )


def _refuse_cell_settings(path: Path, settings: LabelSettings) -> None:
    usual = LabelSettings()
    given = [f.name for f in fields(settings) if f.name not in _USED and getattr(settings, f.name) != getattr(usual, f.name)]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(f"{path.name}: {option} is about cells, got a table of differential expression; leave it out")


def _numbers(table: Table, column: pd.Series, role: str) -> Floats:
    """Return a column's numbers, NaN where a value is missing. Raise InputError for other texts."""
    numbers = table.numbers(role, column)
    cells = column[np.isnan(numbers) & column.notna().to_numpy()].astype(str)
    other = [cell for cell in cells if not is_missing(clean(cell))]
    if other:
        raise InputError(f"{table.name}: {len(other):,} values of {role} are not numbers, the first {other[0][:40]!r}")
    return numbers


def _changes(
    path: Path, columns: Mapping[str, str], rows: pd.DataFrame, places: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]
) -> GeneChanges:
    """Return the numbers of each pair, NaN if the table has no such row."""
    role = "log2_fc" if "log2_fc" in rows else "fold_change"
    p, change = (rows[name].to_numpy(dtype=np.float64) for name in ("p", role))
    if outside := int(((p < 0) | (p > 1)).sum()):
        raise InputError(f"{path.name}: {outside:,} p-values outside [0, 1], expected p-values and not their logarithms")
    refuse_other_scales(path.name, columns, {role: (counts := count_kinds(change))}, by_option=False)
    if role == "log2_fc" and counts["values"] >= LEAST_VALUES and not (np.abs(change) < 1).any():  # 0 is unchanged
        raise InputError(
            f"{path.name}: no log2 fold change lies between -1 and 1. Perhaps they are ratios with a sign (-2 for a half). A "
            "column fold_change takes x above 0 and -1 / x below. Or the file has only changed genes; labels also need the "
            "unchanged ones"
        )
    if role == "fold_change":
        change = log2_fold_change(change, np.ones_like(change))
    found: list[Floats] = [np.full(shape, np.nan), np.full(shape, np.nan)]
    for values, into in zip((p, change), found, strict=True):
        into[places] = values
    fdr = np.vstack([benjamini_hochberg(row) for row in found[0]])
    return GeneChanges(found[0], fdr, found[1], np.full(shape[1], np.nan), ())
