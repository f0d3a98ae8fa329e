"""Labels of a table of differential expression, with a row for each perturbation and gene."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.cells.anndata_file import CountSummary
from core.features.cells.change_rows import ChangeRows, ask_about_repeats, open_changes, tell_filter
from core.features.cells.columns import Columns, GeneNames
from core.features.cells.conditions import Conditions
from core.features.cells.differential_expression import GeneChanges
from core.features.cells.groups import CellGroups
from core.features.cells.labels import knockdown_table, label_pairs, sample_pairs
from core.features.cells.screen import LabelSettings, ScreenLabels
from core.features.importing.perturbations import PerturbationNames, read_perturbations
from core.features.importing.roles import TableOptions
from core.features.importing.symbols import looks_like_treatment
from core.stats.multiplicity import benjamini_hochberg

# Settings that a table can have.
_USED: Final = ("thresholds", "sampling", "separator", "control", "where", "columns")


def label_changes(path: Path, settings: LabelSettings) -> ScreenLabels:
    """Return the labels of a table with perturbation, gene, fold change and p.

    The FDR is computed from p among the genes of a perturbation, as for cells; a p that is adjusted
    already is the FDR. Perturbations are read as in cells; those of several genes and controls are
    left out. Pairs without a row have no label. Raise InputError as `ChangeRows`, for invalid
    numbers, repeated pairs, a table of changed genes alone, perturbed genes without a row (unless
    they are kept), and settings about cells.
    """
    _refuse_cell_settings(path, settings)
    options = TableOptions(settings.columns, settings.where)
    with open_changes(path, options, for_labels=True) as table:
        rows = pd.concat(table.parts(lambda perts, _: np.ones(len(perts), dtype=np.bool_)))
    _refuse_bad_rows(path, table)
    perts, genes = rows["pert"].to_numpy(), rows["gene"].to_numpy()
    names = read_perturbations(
        perts, {*genes}, settings.control, settings.separator or "", need_controls=False
    )
    single = {
        value: meaning.genes[0]
        for value, meaning in names.of_value.items()
        if len(meaning.genes) == 1
    }
    rows = rows[[value in single for value in perts]]
    if rows.empty:
        raise InputError(
            f"{path.name}: no perturbation of a single gene, the values are"
            f" {', '.join(sorted(names.counts)[:5])}"
        )
    target, targets = pd.factorize(rows["pert"].map(single).to_numpy(), sort=True)
    gene, measured = pd.factorize(rows["gene"].to_numpy(), sort=True)
    _refuse_repeats(path, options, rows, target * len(measured) + gene)
    unknown = tuple(sorted({*targets} - {*genes}))
    if unknown and not settings.groups.keep_unknown:
        raise InputError(_describe_unknown(path, unknown))
    changes = _changes_of(path, rows, (target, gene), (len(targets), len(measured)))
    gene_names = GeneNames(tuple(map(str, measured)))
    codes = label_pairs(changes, targets, gene_names, settings.thresholds)
    nobody = np.empty(0, dtype=np.intp)
    columns = Columns(table.columns["pert"], ", ".join(names.controls) or "none in the table")
    return ScreenLabels(
        genes=gene_names.names,
        conditions=Conditions(columns, names, nobody, nobody.astype(np.bool_), ()),
        gene_names=gene_names,
        counts=CountSummary(np.empty(0), nobody, np.empty(0), nobody, whole_numbers=True),
        groups=CellGroups(
            tuple(map(str, targets)), nobody, None, unknown=unknown, multiple=tuple(names.multiple)
        ),
        changes=changes,
        codes=codes,
        sample=sample_pairs(codes, changes.fdr, settings.sampling),
        knockdown=knockdown_table(()),
        rejected=tuple(table.rejected),
        of_table=_describe_table(table, names),
    )


def _changes_of(
    path: Path, rows: pd.DataFrame, places: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]
) -> GeneChanges:
    """Return the numbers of each pair, NaN where the table has no row. Raise InputError for a table
    of changed genes alone."""
    role = "p" if "p" in rows else "adjusted_p"
    if lacking := tell_filter(rows["log2_fc"].to_numpy(), rows[role].to_numpy()):
        raise InputError(
            f"{path.name}: {lacking}: a table of changed genes alone. Labels also need those that"
            " do not change, and their p-values; write all tested genes (FindAllMarkers with"
            " logfc.threshold = 0, min.pct = 0, return.thresh = 1.01 and only.pos = FALSE)"
        )
    p, change = np.full(shape, np.nan), np.full(shape, np.nan)
    p[places], change[places] = rows[role], rows["log2_fc"]
    fdr = p
    if role == "p":
        fdr = np.vstack([benjamini_hochberg(row) for row in p])
    else:
        p = np.full(shape, np.nan)
    return GeneChanges(p, fdr, change, ())


def _describe_table(table: ChangeRows, names: PerturbationNames) -> dict[str, Any]:
    """Return what the record of a dataset says of its table, in the place of what it says of
    cells."""
    is_adjusted = "p" not in table.columns
    p = table.columns["adjusted_p" if is_adjusted else "p"]
    fdr = (
        f"as in {p}, not adjusted again"
        if is_adjusted
        else f"Benjamini and Hochberg, from {p} among the genes of a perturbation"
    )
    notes = [*table.notes(), f"FDR: {fdr}"]
    if missing := sum(names.count_values("missing").values()):
        notes.append(f"{missing:,} rows name no perturbation and are left out")
    if table.rejected:
        notes.append(
            f"{len(table.rejected):,} rows name no gene and are left out, the first"
            f" {table.rejected[0].detail}"
        )
    return {
        "test": f"as in the table ({p})",
        "false_discovery_rate": fdr,
        "fold_change": f"as in the table ({table.columns[table.change]})",
        "table": dict(table.columns),
        "infinite_changes": table.n_infinite,
        "rejected": len(table.rejected),
        "notes": notes,
    }


def _refuse_bad_rows(path: Path, table: ChangeRows) -> None:
    """Raise InputError for rows that are no rows, and for numbers that are none: those with an
    effect may be lost."""
    bad = [row for row in table.rejected if row.reason != "no gene symbol"]
    if bad:
        raise InputError(
            f"{path.name}, line {bad[0].line}: {bad[0].reason}, {bad[0].detail} (the first of"
            f" {len(bad):,} such rows)"
        )


def _refuse_repeats(
    path: Path, options: TableOptions, rows: pd.DataFrame, pair: np.ndarray
) -> None:
    """Raise InputError for a pair with several rows, and name the columns that tell them apart."""
    repeated = pd.Series(pair, rows.index)[pd.Series(pair).duplicated(keep=False).to_numpy()]
    if len(repeated):
        ask_about_repeats(path, options, repeated)
        of_pair = rows[pair == repeated.iloc[0]]
        raise InputError(
            f"{path.name}: a pair is repeated ({' and '.join(pd.unique(of_pair['pert']))},"
            f" {of_pair['gene'].iloc[0]}), expected one row for each"
        )


def _describe_unknown(path: Path, unknown: tuple[str, ...]) -> str:
    odd = [name for name in unknown if looks_like_treatment(name)]
    look = f"{list_some(odd)} look like drugs, doses or times, which are no genes; " if odd else ""
    return (
        f"{path.name}: perturbed genes that are not among the measured ones: {list_some(unknown)};"
        f" {look}leave them out or, if they are genes that were not measured, keep them with"
        " --keep-unknown"
    )


def _refuse_cell_settings(path: Path, settings: LabelSettings) -> None:
    usual = LabelSettings()
    usual = replace(usual, groups=replace(usual.groups, keep_unknown=settings.groups.keep_unknown))
    given = [
        f.name
        for f in fields(settings)
        if f.name not in _USED and getattr(settings, f.name) != getattr(usual, f.name)
    ]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(
            f"{path.name}: {option} is about cells, got a table of differential expression; leave"
            " it out"
        )
