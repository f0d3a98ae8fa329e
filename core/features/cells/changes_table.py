"""Labels of a table of differential expression, with a row for each perturbation and gene."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.cells.change_rows import (
    ChangeTable,
    ask_about_repeats,
    read_changes,
    tell_filter,
)
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
    left out. Pairs without a row have no label. Raise InputError as `read_changes`, for invalid
    numbers, repeated pairs, a table of changed genes alone, perturbed genes without a row (unless
    they are kept), and settings about cells.
    """
    _refuse_cell_settings(path, settings)
    options = TableOptions(settings.columns, settings.where)
    table = read_changes(path, options)
    if bad := [row for row in table.rejected if row.reason != "no gene symbol"]:
        raise InputError(  # some of them may have an effect
            f"{path.name}, line {bad[0].line}: {bad[0].reason}, {bad[0].detail} (the first of"
            f" {len(bad):,} such rows)"
        )
    rows = table.rows
    names = read_perturbations(
        rows["pert"],
        {*rows["gene"]},
        settings.control,
        settings.separator or "",
        need_controls=False,
    )
    rows = rows.assign(
        target=rows["pert"].map(
            {
                value: meaning.genes[0]
                for value, meaning in names.of_value.items()
                if len(meaning.genes) == 1
            }
        )
    ).dropna(subset="target")
    if rows.empty:
        raise InputError(
            f"{path.name}: no perturbation of a single gene, the values are"
            f" {', '.join(sorted(names.counts)[:5])}"
        )
    keys = ["target", "gene"]
    repeated = rows[rows.duplicated(keys, keep=False)]
    if len(repeated):
        ask_about_repeats(path, options, repeated.groupby(keys).ngroup())
        of_pair = repeated[(repeated[keys] == repeated[keys].iloc[0]).all(axis=1)]
        raise InputError(
            f"{path.name}: a pair is repeated ({' and '.join(pd.unique(of_pair['pert']))},"
            f" {of_pair['gene'].iloc[0]}), expected one row for each"
        )
    unknown = tuple(sorted({*rows["target"]} - {*rows["gene"]}))
    if unknown and not settings.groups.keep_unknown:
        odd = [name for name in unknown if looks_like_treatment(name)]
        look = f"{list_some(odd)} look like drugs, doses or times, which are no genes; "
        raise InputError(
            f"{path.name}: perturbed genes that are not among the measured ones:"
            f" {list_some(unknown)}; {look if odd else ''}leave them out or, if they are genes that"
            " were not measured, keep them with --keep-unknown"
        )
    p = "p" if "p" in rows else "adjusted_p"
    if lacking := tell_filter(rows["log2_fc"].to_numpy(), rows[p].to_numpy()):
        raise InputError(
            f"{path.name}: {lacking}: a table of changed genes alone. Labels also need those that"
            " do not change, and their p-values; write all tested genes (FindAllMarkers with"
            " logfc.threshold = 0, min.pct = 0, return.thresh = 1.01 and only.pos = FALSE)"
        )
    wide = rows.pivot(index="target", columns="gene", values=[p, "log2_fc"])
    tested, fdr = wide[p].to_numpy(), wide[p].to_numpy()
    if p == "p":
        fdr = np.apply_along_axis(benjamini_hochberg, 1, tested)
    else:
        tested = np.full_like(fdr, np.nan)
    changes = GeneChanges(tested, fdr, wide["log2_fc"].to_numpy(), ())
    targets, genes = tuple(map(str, wide.index)), tuple(map(str, wide["log2_fc"].columns))
    codes = label_pairs(changes, targets, GeneNames(genes), settings.thresholds)
    nobody = np.empty(0, dtype=np.intp)
    columns = Columns(table.columns["pert"], ", ".join(names.controls) or "none in the table")
    return ScreenLabels(
        conditions=Conditions(columns, names, nobody, nobody.astype(np.bool_), ()),
        gene_names=GeneNames(genes),
        whole_numbers=True,
        groups=CellGroups(targets, nobody, None, unknown=unknown, multiple=names.multiple),
        changes=changes,
        codes=codes,
        sample=sample_pairs(codes, fdr, settings.sampling),
        knockdown=knockdown_table(()),
        rejected=table.rejected,
        of_table=_describe_table(table, names),
    )


def _describe_table(table: ChangeTable, names: PerturbationNames) -> dict[str, Any]:
    """Return what the record of a dataset says of its table, in the place of what it says of
    cells."""
    is_adjusted = "p" not in table.columns
    p = table.columns["adjusted_p" if is_adjusted else "p"]
    fdr = (
        f"as in {p}, not adjusted again"
        if is_adjusted
        else f"Benjamini and Hochberg, from {p} among the genes of a perturbation"
    )
    notes = [*table.notes, f"FDR: {fdr}"]
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
