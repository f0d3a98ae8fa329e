"""Predicted expression as AnnData, of cells or one profile per perturbation: log2 fold changes over real controls.

The file is read in blocks, so it may be larger than memory. Expression is averaged on a linear scale: counts per 10,000 of a
cell, or expm1 of values that are log1p already, over the same genes in both files (`core.cells.scales`). The log2 fold change is
that of the means. Where one mean is 0 it is plus or minus log2(20), as in pdex; where both are, nothing is said of the pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from core.cells.anndata_file import COUNTS_PER_CELL, CellFile, ValueScale, open_cells
from core.cells.columns import Columns
from core.cells.conditions import Conditions, ReadingSettings, read_conditions
from core.cells.confounders import refuse_mixed_lines
from core.cells.contradictions import refuse_contradictions
from core.cells.differential_expression import log2_fold_change
from core.cells.predicted_changes import SHOWN_VALUES, PredictedChanges, WantedPairs
from core.cells.scales import Scale, tell_scale, tell_scale_beside
from core.cells.strata import stratum_of_cells
from core.cells.value_facts import ValueFacts, linear_values, measure_values
from core.errors import InputError
from core.fields.record import setting
from core.stats.arrays import Codes, Floats

CONTROL = ""  # the group of the controls
_ONE = "all"  # the stratum of all cells
_OF_REAL = "write real cells as counts, or say --values counts where both files hold counts or their means"
_PREDICTED_LAYERS = ("pred", "prediction", "predictions", "predicted", "x_pred", "y_pred", "reconstructed", "decoded", "x_hat")


@dataclass(frozen=True, slots=True)
class CellOptions(ReadingSettings):
    """Settings for reading predicted cells.

    real: a file with real control cells, for predictions without controls. clip_negative: read small negative values, for
    instance from linear decoders, as 0, and count them.
    """

    real: Path | None = setting(
        None,
        "AnnData with real control cells, for predictions without any.",
        title="Real control cells, if the predictions have none",
        key="real_path",
    )
    clip_negative: bool = setting(
        False,
        "AnnData: read negative values (for instance from linear decoders) as 0.",
        title="Read negative values as 0",
    )


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeans:
    """Mean expression on a linear scale, of shape (n_groups, n_genes), and the cells behind each group.

    groups: symbols of the perturbed genes, CONTROL for the controls; with a stratum as (symbol, stratum).
    """

    groups: tuple[Any, ...]
    genes: tuple[str, ...]
    means: Floats
    n_cells: Codes


@dataclass(frozen=True, slots=True, eq=False)
class ReadSource:
    """A file of cells that was checked. genes: the names of its genes as the real file has them.

    shared: positions of the genes that both files have.
    """

    file: CellFile
    conditions: Conditions
    genes: tuple[str, ...]
    shared: Codes
    facts: ValueFacts
    clip_negative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Predicted cells and the cells for comparison; real is None if the controls are in the same file."""

    predicted: ReadSource
    real: ReadSource | None
    scale: Scale
    real_scale: Scale | None
    notes: Mapping[str, str] = field(default_factory=dict)


def read_predicted_cells(path: Path, wanted: WantedPairs, options: CellOptions, within: Sequence[str] = ()) -> PredictedChanges:
    """Return the predicted log2 fold changes of the wanted pairs, which are their evidence too.

    within: columns of obs inside of whose values cells are compared; means are then those of the perturbed cells' composition.
    Controls are those of the file if it has any, else those of `options.real`. A perturbation of several genes is not a pair. A
    pair is not covered if its perturbation or gene is missing, if the gene is not in the controls' file, or if both means are 0.
    Raise InputError for files and columns as `open_cells` and `read_conditions` do, for values that are negative, not finite, or
    of a scale that cannot be told, for cells of several lines, and without any controls.
    """
    known = set(wanted.perts)
    with open_cells(path, layer=options.layer) as file:
        if options.real is None:
            both = compare_with_itself(file, options, wanted.genes, within)
            return _changes(both, wanted, known, within)
        with open_cells(options.real) as real:
            return _changes(compare_files(file, real, options, wanted.genes, within), wanted, known, within)


def _changes(both: Comparison, wanted: WantedPairs, known: set[str], within: Sequence[str]) -> PredictedChanges:
    predicted, real = both.predicted, both.real
    conditions = predicted.conditions
    has_controls = bool(conditions.is_control.any())
    groups = np.array([gene if gene in known else None for gene in conditions.genes_of_cell], dtype=object)
    groups[conditions.is_control] = CONTROL
    found = mean_expression(predicted, _in_strata(predicted, groups, within), set(wanted.genes), both.scale)
    controls = found
    if not has_controls:
        assert real is not None
        assert both.real_scale is not None
        of_real = np.array([CONTROL if is_control else None for is_control in real.conditions.is_control], dtype=object)
        controls = mean_expression(real, _in_strata(real, of_real, within), set(wanted.genes), both.real_scale)
    change = _changes_of_pairs(*pool_strata(found, controls), wanted)
    of_dataset = {v for v, meaning in conditions.names.of_value.items() if meaning.kind == "genes" and meaning.name not in known}
    values = tuple(sorted(conditions.names.of_value)[:SHOWN_VALUES])
    read_as = _read_as(both, has_controls)
    return PredictedChanges(np.abs(change), change, change, "log2_fc", read_as, other_pairs=len(of_dataset), values=values)


def _in_strata(source: ReadSource, groups: np.ndarray, within: Sequence[str]) -> np.ndarray:
    """Return the groups, each with the stratum of its cells: (group, stratum) or None, of shape (n_cells,)."""
    strata = stratum_of_cells(source.file.obs, within) if within else np.full(len(groups), _ONE, dtype=object)
    pairs = np.empty(len(groups), dtype=object)
    pairs[:] = [None if group is None or not stratum else (group, stratum) for group, stratum in zip(groups, strata, strict=True)]
    return pairs


def pool_strata(found: GroupMeans, controls: GroupMeans) -> tuple[GroupMeans, GroupMeans]:
    """Return the means of perturbed groups over their strata, and of controls of the same composition for each of these groups.

    found, controls: of groups (group, stratum). A stratum without controls counts for nothing.
    """
    base = {stratum: controls.means[i] for i, (group, stratum) in enumerate(controls.groups) if group == CONTROL}
    names = tuple(sorted({group for group, stratum in found.groups if group != CONTROL and stratum in base}))
    place = {name: at for at, name in enumerate(names)}
    means, control_means = np.zeros((len(names), len(found.genes))), np.zeros((len(names), len(controls.genes)))
    n_cells = np.zeros(len(names), dtype=np.int64)
    for i, (group, stratum) in enumerate(found.groups):
        if group != CONTROL and stratum in base and found.n_cells[i]:
            at = place[group]
            means[at] += found.n_cells[i] * found.means[i]
            control_means[at] += found.n_cells[i] * base[stratum]
            n_cells[at] += found.n_cells[i]
    n = np.where(n_cells > 0, n_cells, np.nan)[:, None]
    return GroupMeans(names, found.genes, means / n, n_cells), GroupMeans(names, controls.genes, control_means / n, n_cells)


def _read_as(both: Comparison, has_controls: bool) -> dict[str, str]:
    columns = both.predicted.conditions.columns
    read_as = {"perturbation": columns.perturbation, "control": columns.control, "values": both.scale.words}
    assert has_controls or both.real_scale is not None
    read_as["controls"] = (
        "of the file" if has_controls else f"of the real file, {both.real_scale.kind if both.real_scale else ''}"
    )
    facts = both.predicted.facts
    if facts.negative:
        read_as["negative values read as 0"] = f"{facts.negative:,}, the smallest {facts.smallest:.3g}"
    return read_as | dict(both.notes)


def compare_with_itself(
    file: CellFile, options: CellOptions, genes: Sequence[str] = (), within: Sequence[str] = ()
) -> Comparison:
    """Return a file of predictions that holds its own controls. genes: the requested ones.

    Raise what `read_predicted_cells` raises.
    """
    conditions = read_conditions(file, options, wanted_genes=genes)
    _refuse_unclear(file, conditions, options, within)
    shared = np.arange(file.n_genes)
    facts = measure_values(file, shared, options.values, clip_negative=options.clip_negative)
    used = conditions.is_control | (conditions.genes_of_cell != "")
    scale = tell_scale(str(file.path), facts, options.values, cells=used)
    return Comparison(ReadSource(file, conditions, file.genes, shared, facts, options.clip_negative), None, scale, None)


def compare_files(
    file: CellFile, real: CellFile, options: CellOptions, genes: Sequence[str] = (), within: Sequence[str] = ()
) -> Comparison:
    """Return a file of predictions and the real cells that it is compared with, over the genes that both have.

    genes: that are asked for. within: as of `read_predicted_cells`. Raise as `read_predicted_cells`, and InputError for
    files without a gene in common.
    """
    ours, theirs = _read_both(file, real, options, genes)
    for each, found in ((file, ours), (real, theirs)):
        _refuse_unclear(each, found, options, within)
    spellings = real.gene_names.spellings
    named = tuple(spellings.get(gene, gene) for gene in file.genes)
    common = set(named) & set(real.genes)
    if not common:
        raise InputError(
            f"{file.path} and {real.path}: no gene in common: {', '.join(file.genes[:3])} … and {', '.join(real.genes[:3])} …; "
            "say which column of var names the genes with --gene-names"
        )
    shared, of_real = (np.flatnonzero([gene in common for gene in names]) for names in (named, real.genes))
    facts = measure_values(file, shared, options.values, clip_negative=options.clip_negative)
    real_facts = _align(measure_values(real, of_real), of_real, real.genes, [named[i] for i in shared.tolist()])
    of_real_given: ValueScale | None = "counts" if options.values == "counts" and real_facts.are_unclear else None
    real_scale = tell_scale(str(real.path), real_facts, of_real_given, advice=_OF_REAL)
    used = ours.is_control | (ours.genes_of_cell != "")
    alike = np.isin(theirs.genes_of_cell.astype(str), sorted(set(ours.genes_of_cell) - {""}))
    beside = (real_facts, real_scale.kind, alike if alike.any() else theirs.is_control)
    scale = tell_scale_beside(str(file.path), facts, options.values, beside, used)
    predicted, source = (
        ReadSource(file, ours, named, shared, facts, options.clip_negative),
        ReadSource(real, theirs, real.genes, of_real if scale.factor is None else np.arange(real.n_genes), real_facts),
    )
    counted = f"{len(common):,} of the predictions' {file.n_genes:,} and the real {real.n_genes:,}"
    notes = {} if len(common) == file.n_genes == real.n_genes else {"genes of both files": counted}
    factor = None if scale.factor is None else real_scale.factor
    return Comparison(predicted, source, scale, Scale(real_scale.kind, factor, real_scale.kind), notes)


def _align(facts: ValueFacts, shared: Codes, genes: Sequence[str], names: Sequence[str]) -> ValueFacts:
    """Return facts whose sums of the shared genes stand in the order of names."""
    place = {genes[at]: i for i, at in enumerate(shared.tolist())}
    return replace(facts, of_genes=facts.of_genes[:, [place[name] for name in names]])


def _read_both(file: CellFile, real: CellFile, options: CellOptions, genes: Sequence[str]) -> tuple[Conditions, Conditions]:
    """Return the perturbations of the predicted cells, whose column is that of the real ones, and of the real cells."""
    theirs = read_conditions(real, _for_real(real, file, options), wanted_genes=genes)
    name = options.perturbation or theirs.columns.perturbation
    if name not in file.obs.columns:
        raise InputError(
            f"{file.path}: no column {name!r}, which {real.path.name} has; obs has {', '.join(map(str, file.obs.columns))}; "
            "say which holds the perturbations with --perturbation"
        )
    where = {column: value for column, value in options.where.items() if column in file.obs.columns}
    ours = read_conditions(file, replace(options, where=where), columns=Columns(name, ""), wanted_genes=genes)
    ours = replace(ours, columns=replace(ours.columns, control=theirs.columns.control))
    return ours, theirs


def describe_predicted_cells(path: Path, options: CellOptions) -> list[str]:
    """Return how predicted cells are read, in lines for people, without reading values. Raise as `read_predicted_cells`."""
    with open_cells(path, layer=options.layer) as file:
        if options.real is None:
            ours, controls = read_conditions(file, options), "of the file"
        else:
            with open_cells(options.real) as real:
                ours, theirs = _read_both(file, real, options, ())
            here = bool(ours.is_control.any())
            controls = "of the file" if here else f"of {options.real.name}: {int(theirs.is_control.sum()):,} cells"
        return [
            f"{file.n_cells:,} cells × {file.n_genes:,} genes",
            f"perturbation  {ours.columns.perturbation}",
            f"controls      {controls}",
            *ours.lines(),
            f"perturbations of one gene: {len(ours.names.singles):,}",
        ]


def _for_real(real: CellFile, file: CellFile, options: CellOptions) -> ReadingSettings:
    """Return the settings for reading the real cells: their column is found by name, and `where` applies if they have its
    column.
    """
    known = {*map(str, real.obs.columns), *map(str, file.obs.columns)}
    unknown = next((column for column in options.where if column not in known), None)
    if unknown is not None:
        raise InputError(
            f"--where {unknown}={options.where[unknown]}: neither {file.path.name} nor {real.path.name} has the column"
        )
    where = {column: value for column, value in options.where.items() if column in real.obs.columns}
    return ReadingSettings(control=options.control, separator=options.separator, where=where)


def _refuse_unclear(file: CellFile, found: Conditions, options: CellOptions, within: Sequence[str]) -> None:
    """Raise InputError for cells of several lines, and if a layer may contain the predictions."""
    refuse_mixed_lines(str(file.path), found.confounders, (*options.across, *within), within=True)
    refuse_contradictions(str(file.path), found.contradictions)
    layers = [name for name in file.layers if name.lower() in _PREDICTED_LAYERS]
    if layers and options.layer is None and file.path != options.real:
        raise InputError(
            f"{file.path}: X and {', '.join(layers)} may each hold the predictions; say which with --layer {layers[0]} or "
            "--layer X"
        )


def mean_expression(source: ReadSource, groups: np.ndarray, wanted_genes: set[str], scale: Scale) -> GroupMeans:
    """Return the mean of each group's cells for the wanted genes that the file has.

    groups: of shape (n_cells,), a name or None for cells that belong to none. Cells without counts are left out.
    """
    names = tuple(sorted({name for name in groups if name is not None}))
    code = {name: i for i, name in enumerate(names)}
    codes = np.array([code.get(name, -1) for name in groups])
    shared = set(source.shared.tolist())
    genes = np.array([i for i, gene in enumerate(source.genes) if gene in wanted_genes and i in shared], dtype=np.intp)
    sums, n_cells = np.zeros((len(names), len(genes))), np.zeros(len(names), dtype=np.int64)
    for rows, block in source.file.blocks():
        linear = linear_values(block, scale.kind, clip_negative=source.clip_negative)
        total = np.asarray(linear[:, source.shared].sum(axis=1)).ravel()
        used = np.flatnonzero((codes[rows] >= 0) & (total > 0))
        factors = np.full(len(used), scale.factor) if scale.factor is not None else COUNTS_PER_CELL / total[used]
        members = csr_matrix((factors, (codes[rows][used], np.arange(len(used)))), shape=(len(names), len(used)))
        kept = linear[used][:, genes]
        sums += np.asarray((members @ kept).todense() if isinstance(kept, csr_matrix) else members @ kept)
        n_cells += np.bincount(codes[rows][used], minlength=len(names))
    means = np.divide(sums, n_cells[:, None], out=np.full_like(sums, np.nan), where=n_cells[:, None] > 0)
    return GroupMeans(names, tuple(source.genes[i] for i in genes), means, n_cells)


def _changes_of_pairs(found: GroupMeans, controls: GroupMeans, wanted: WantedPairs) -> Floats:
    """Return the log2 fold change of each wanted pair over its group's controls, of shape (n_pairs,); NaN if not covered."""
    group, gene = _places(found.groups, wanted.perts), _places(found.genes, wanted.genes)
    control_gene = _places(controls.genes, wanted.genes)
    covered = (group >= 0) & (gene >= 0) & (control_gene >= 0)
    change = np.full(len(wanted), np.nan)
    base = controls.means[group[covered], control_gene[covered]]
    change[covered] = log2_fold_change(found.means[group[covered], gene[covered]], base)
    return change


def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> Codes:
    """Return the position of each wanted name among the names, -1 for a missing one; of shape (n_wanted,)."""
    place: Mapping[str, int] = {name: i for i, name in enumerate(names)}
    return np.array([place.get(name, -1) for name in wanted], dtype=np.intp)
