"""Predicted expression as AnnData, of cells or one profile per perturbation: log2 fold changes over
real controls.

The file is read in blocks, so it may be larger than memory. Expression is averaged on a linear
scale: counts per 10,000 of a cell, or expm1 of values that are log1p already, over the same genes
in both files (`core.features.cells.scales`). The log2 fold change is that of the means. Where one
mean is 0 it is plus or minus log2(20), as in pdex; where both are, nothing is said of the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.base.fields.setting import setting
from core.features.cells.anndata_file import (
    COUNTS_PER_CELL,
    CellFile,
    ValueScale,
    expm1_of,
    open_cells,
)
from core.features.cells.columns import Columns, require_column
from core.features.cells.comparisons import log2_fold_change
from core.features.cells.conditions import Conditions, ReadingSettings, read_conditions
from core.features.cells.confounders import DIFFERS
from core.features.cells.predicted_table import SHOWN_VALUES, PredictedChanges, WantedPairs
from core.features.cells.scales import (
    Scale,
    ValueFacts,
    measure_values,
    tell_scale,
    without_negatives,
)
from core.stats.arrays import Codes, Floats

CONTROL = ""  # the group of the controls
_PREDICTED_LAYERS = (
    "pred",
    "prediction",
    "predictions",
    "predicted",
    "x_pred",
    "y_pred",
    "reconstructed",
    "decoded",
    "x_hat",
)


@dataclass(frozen=True, slots=True)
class CellOptions(ReadingSettings):
    """Settings for reading predicted cells.

    real: a file with real control cells, for predictions without controls. clip_negative: read
    small negative values, for instance from linear decoders, as 0, and count them.
    """

    real: Annotated[
        Path | None,
        setting(
            "AnnData with real control cells, for predictions without any.",
            title="Real control cells, if the predictions have none",
            key="real_path",
        ),
    ] = None
    clip_negative: Annotated[
        bool,
        setting(
            "AnnData: read negative values (for instance from linear decoders) as 0.",
            title="Read negative values as 0",
        ),
    ] = False


@dataclass(frozen=True, slots=True, eq=False)
class ReadSource:
    """A file of cells that was checked, and how its values become counts per 10,000.

    genes: the names of its genes as the real file has them. shared: positions of the genes that
    both files have.
    """

    file: CellFile
    conditions: Conditions
    genes: tuple[str, ...]
    shared: Codes
    facts: ValueFacts
    scale: Scale


def read_predicted_cells(path: Path, wanted: WantedPairs, options: CellOptions) -> PredictedChanges:
    """Return the predicted log2 fold changes of the wanted pairs, which are their evidence too.

    Controls are those of the file if it has any, else those of `options.real`. A perturbation of
    several genes is not a pair. A pair is not covered if its perturbation or gene is missing, if
    the gene is not in the controls' file, or if both means are 0. Raise InputError for files and
    columns as `open_cells` and `read_conditions` do, for values that are negative, not finite, or
    of a scale that cannot be told, for cells of several lines, without any controls, and for files
    without a gene in common.
    """
    with open_cells(path, layer=options.layer) as file:
        if options.real is None:
            found = read_conditions(file, options, wanted_genes=wanted.genes)
            _refuse_unclear(file, found, options)
            shared = np.arange(file.n_genes)
            facts = measure_values(
                file, shared, options.values, clip_negative=options.clip_negative
            )
            used = found.is_control | (found.genes_of_cell != "")
            scale = tell_scale(str(file.path), facts, options.values, cells=used)
            return _changes(
                ReadSource(file, found, file.genes, shared, facts, scale),
                None,
                wanted,
            )
        with open_cells(options.real) as real:
            return _changes(*_read_beside(file, real, options, wanted.genes), wanted)


def _changes(
    predicted: ReadSource, real: ReadSource | None, wanted: WantedPairs
) -> PredictedChanges:
    """Return the changes of the wanted pairs. real: the real cells, None if the controls are in the
    same file."""
    conditions = predicted.conditions
    known, genes = set(wanted.perts), set(wanted.genes)
    groups = np.array(
        [gene if gene in known else None for gene in conditions.genes_of_cell], dtype=object
    )
    groups[conditions.is_control] = CONTROL
    found = controls = mean_expression(predicted, groups, genes)
    of_real = None if conditions.is_control.any() else real
    if of_real is not None:
        is_control = of_real.conditions.is_control
        controls = mean_expression(
            of_real,
            np.array([CONTROL if each else None for each in is_control], dtype=object),
            genes,
        )
    change = _changes_of_pairs(found, controls, wanted)
    of_dataset = {
        v
        for v, meaning in conditions.names.of_value.items()
        if meaning.kind == "genes" and meaning.name not in known
    }
    return PredictedChanges(
        evidence=np.abs(change),
        signed=change,
        log2_fc=change,
        measure="log2_fc",
        read_as=_read_as(
            predicted,
            real,
            "of the file" if of_real is None else f"of the real file, {of_real.scale.kind}",
        ),
        other_pairs=len(of_dataset),
        values=tuple(sorted(conditions.names.of_value)[:SHOWN_VALUES]),
    )


def _read_as(predicted: ReadSource, real: ReadSource | None, controls: str) -> dict[str, str]:
    conditions, facts, n_genes = predicted.conditions, predicted.facts, predicted.file.n_genes
    read_as = {
        "perturbation": conditions.columns.perturbation,
        "control": conditions.columns.control,
        "values": predicted.scale.words,
        "controls": controls,
        "perturbations": "; ".join(conditions.names.lines()),
    }
    if conditions.is_control.any():
        read_as[DIFFERS] = "; ".join(each.line() for each in conditions.confounders)
    if facts.negative:
        read_as["negative values read as 0"] = (
            f"{facts.negative:,}, the smallest {facts.smallest:.3g}"
        )
    if real is not None:
        n_common, n_real = len({*predicted.genes} & {*real.genes}), real.file.n_genes
        if not n_common == n_genes == n_real:
            read_as["genes of both files"] = (
                f"{n_common:,} of the predictions' {n_genes:,} and the real {n_real:,}"
            )
    return {name: text for name, text in read_as.items() if text}


def _read_beside(
    file: CellFile, real: CellFile, options: CellOptions, genes: Sequence[str]
) -> tuple[ReadSource, ReadSource]:
    """Return a file of predictions and the real cells that it is compared with, over the genes that
    both have."""
    ours, theirs = _read_both(file, real, options, genes)
    for each, found in ((file, ours), (real, theirs)):
        _refuse_unclear(each, found, options)
    spellings = real.gene_names.spellings
    named = tuple(spellings.get(gene, gene) for gene in file.genes)
    common = set(named) & set(real.genes)
    if not common:
        raise InputError(
            f"{file.path} and {real.path}: no gene in common: {', '.join(file.genes[:3])} … and"
            f" {', '.join(real.genes[:3])} …; say which column of var names the genes with"
            " --gene-names"
        )
    shared, of_real = (
        np.flatnonzero([gene in common for gene in names]) for names in (named, real.genes)
    )
    facts = measure_values(file, shared, options.values, clip_negative=options.clip_negative)
    real_facts = measure_values(real, of_real)
    of_real_given: ValueScale | None = (
        "counts" if options.values == "counts" and real_facts.are_unclear else None
    )
    real_scale = tell_scale(str(real.path), real_facts, of_real_given)
    used = ours.is_control | (ours.genes_of_cell != "")
    alike = np.isin(theirs.genes_of_cell.astype(str), sorted(set(ours.genes_of_cell) - {""}))
    beside = (real_facts, real_scale.kind, alike if alike.any() else theirs.is_control)
    scale = tell_scale(str(file.path), facts, options.values, used, beside)
    if scale.factor is None:
        real_scale = replace(real_scale, factor=None)
    else:
        of_real = np.arange(real.n_genes)
    return (
        ReadSource(file, ours, named, shared, facts, scale),
        ReadSource(real, theirs, real.genes, of_real, real_facts, real_scale),
    )


def _read_both(
    file: CellFile, real: CellFile, options: CellOptions, genes: Sequence[str]
) -> tuple[Conditions, Conditions]:
    """Return the perturbations of the predicted cells, whose column is that of the real ones, and
    of the real cells.

    The column of the real cells is found by name; `where` applies to each file that has its column.
    """
    of_file = {name: value for name, value in options.where.items() if name in file.obs.columns}
    of_real = {
        name: value
        for name, value in options.where.items()
        if name in real.obs.columns or name not in of_file
    }
    settings = ReadingSettings(control=options.control, separator=options.separator, where=of_real)
    theirs = read_conditions(real, settings, wanted_genes=genes)
    name = options.perturbation or theirs.columns.perturbation
    require_column(file.obs, "--perturbation", name)
    ours = read_conditions(
        file, replace(options, where=of_file), columns=Columns(name, ""), wanted_genes=genes
    )
    ours = replace(ours, columns=replace(ours.columns, control=theirs.columns.control))
    return ours, theirs


def _refuse_unclear(file: CellFile, found: Conditions, options: CellOptions) -> None:
    """Raise InputError for cells of several lines, and if a layer may contain the predictions."""
    found.refuse_unclear(str(file.path), options.across)
    layers = [name for name in file.layers if name.lower() in _PREDICTED_LAYERS]
    if layers and options.layer is None and file.path != options.real:
        raise InputError(
            f"{file.path}: X and {', '.join(layers)} may each hold the predictions; say which with"
            f" --layer {layers[0]} or --layer X"
        )


def mean_expression(source: ReadSource, groups: np.ndarray, wanted_genes: set[str]) -> pd.DataFrame:
    """Return the mean expression on a linear scale of each group's cells (rows) for the wanted
    genes that the file has (columns).

    groups: of shape (n_cells,), a name or None for cells that belong to none. Cells without counts
    are left out.
    """
    codes, names = pd.factorize(groups, sort=True)
    shared, factor = set(source.shared.tolist()), source.scale.factor
    genes = np.array(
        [i for i, gene in enumerate(source.genes) if gene in wanted_genes and i in shared],
        dtype=np.intp,
    )
    sums, n_cells = np.zeros((len(names), len(genes))), np.zeros(len(names), dtype=np.int64)
    for rows, block in source.file.blocks():
        block = without_negatives(block) if source.facts.negative else block
        linear = block.astype(np.float64) if source.scale.kind == "counts" else expm1_of(block)
        total = np.asarray(linear[:, source.shared].sum(axis=1)).ravel()
        used = np.flatnonzero((codes[rows] >= 0) & (total > 0))
        factors = COUNTS_PER_CELL / total[used] if factor is None else np.full(len(used), factor)
        members = csr_matrix(
            (factors, (codes[rows][used], np.arange(len(used)))), shape=(len(names), len(used))
        )
        kept = linear[used][:, genes]
        sums += np.asarray(
            (members @ kept).todense() if isinstance(kept, csr_matrix) else members @ kept
        )
        n_cells += np.bincount(codes[rows][used], minlength=len(names))
    means = np.divide(
        sums, n_cells[:, None], out=np.full_like(sums, np.nan), where=n_cells[:, None] > 0
    )
    return pd.DataFrame(means, names, [source.genes[i] for i in genes])


def _changes_of_pairs(found: pd.DataFrame, controls: pd.DataFrame, wanted: WantedPairs) -> Floats:
    """Return the log2 fold change of each wanted pair over its group's controls, of shape
    (n_pairs,); NaN if not covered."""
    group = found.index.get_indexer(pd.Index(wanted.perts))
    genes = pd.Index(wanted.genes)
    gene, control_gene = (each.columns.get_indexer(genes) for each in (found, controls))
    covered = (group >= 0) & (gene >= 0) & (control_gene >= 0)
    change = np.full(len(wanted.pairs), np.nan)
    base = controls.loc[CONTROL].to_numpy()[control_gene[covered]]
    change[covered] = log2_fold_change(found.to_numpy()[group[covered], gene[covered]], base)
    return change
