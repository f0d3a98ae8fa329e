"""Predicted and real cells in the form for cell-eval: the same genes in the same order, the same perturbations, log1p values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from core.cells.anndata_file import COUNTS_PER_CELL, open_cells
from core.cells.columns import require_column, texts
from core.cells.conditions import choose_cells
from core.cells.packages import import_anndata
from core.cells.predicted_expression import CellOptions, ReadSource, compare_files
from core.cells.scales import Scale
from core.cells.value_facts import linear_values
from core.errors import InputError
from core.stats.arrays import Codes

PERTURBATION, CONTROL = "perturbation", "non-targeting"  # cell-eval's column and its value for controls, whatever the files have
# Peak memory of cell-eval: a constant, and so many times the float32 values of both files. Measured, see
# docs/predicted_expression.md.
MEMORY_BYTES, MEMORY_FACTOR = 700_000_000, 4.0


@dataclass(frozen=True, slots=True)
class CellChoice:
    """Which cells are compared. sample: at most so many cells of each perturbation and of the controls, drawn by seed; None
    for all. most_bytes: of memory; None for no limit. within: columns of obs inside of whose values cells are compared. least:
    the fewest cells of a perturbation, in either file, that is compared."""

    predicted: Path
    options: CellOptions
    sample: int | None = None
    seed: int = 0
    most_bytes: int | None = None
    within: tuple[str, ...] = ()
    least: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class CellPair:
    """Two AnnData with the same genes and perturbations.

    left_out: a description of the parts in only one of the files. fewest: cells of the smallest group of the predictions.
    n_real: real cells of each perturbation.
    """

    predicted: Any
    real: Any
    n_perturbations: int
    left_out: tuple[str, ...]
    fewest: int
    read_as: Mapping[str, str]
    n_real: Mapping[str, int]


def load_cell_pair(choice: CellChoice) -> CellPair:
    """Read both files and return the cells that are compared, dense.

    Predictions without controls get the real ones. Raise InputError as `read_predicted_cells` does, without a shared gene or
    perturbation, and where cell-eval would need more memory than `most_bytes`.
    """
    options = choice.options
    assert options.real is not None
    with open_cells(choice.predicted, layer=options.layer) as predicted, open_cells(options.real) as real:
        both = compare_files(predicted, real, options, within=())
        assert both.real is not None
        assert both.real_scale is not None
        sources, scales = (both.predicted, both.real), (both.scale, both.real_scale)
        has_controls = bool(both.predicted.conditions.is_control.any())
        groups = [_groups_of(source) for source in sources]
        enough = [_enough_cells(of, choice.least) for of in groups]
        shared = (enough[0] & enough[1]) - {"", CONTROL}
        if not shared:
            raise InputError(f"{predicted.path} and {real.path}: no perturbation in common, expected at least one")
        wanted = ({*shared, CONTROL} if has_controls else shared, {*shared, CONTROL})
        chosen = [_choose_cells(of, names, choice) for of, names in zip(groups, wanted, strict=True)]
        common = set(both.predicted.genes)
        genes = [gene for gene in real.genes if gene in common]
        _refuse_too_large(choice, sum(map(len, chosen)), len(genes))
        cells = [_read_cells(s, rows, genes, scale) for s, rows, scale in zip(sources, chosen, scales, strict=True)]
        left_out = tuple(
            line
            for where, source, of in zip(("the predictions", "the real cells"), sources, groups, strict=True)
            for line in _only_in(where, source, set(of) - shared - {CONTROL, ""}, genes)
        )
    kept = [of[rows] for of, rows in zip(groups, chosen, strict=True)]
    if not has_controls:
        is_control = kept[1] == CONTROL
        cells[0] = np.vstack([cells[0], cells[1][is_control]])
        kept[0] = np.concatenate([kept[0], kept[1][is_control]])
    counts = pd.Series(kept[0]).value_counts()
    read_as = {
        "predicted": both.scale.words,
        "real": both.real_scale.kind,
        "controls": "of the file" if has_controls else "of the real file",
    }
    predicted_cells, real_cells = (_as_anndata(*each, genes) for each in zip(cells, kept, strict=True))
    return CellPair(predicted_cells, real_cells, len(shared), left_out, int(counts.min()), read_as, _count(kept[1]))


def strata_of(choice: CellChoice) -> list[dict[str, str]]:
    """Return the strata of both files, among the cells that `where` takes: column → value.

    Raise InputError for columns that a file does not have.
    """
    assert choice.options.real is not None
    found = []
    for path in (choice.predicted, choice.options.real):
        with open_cells(path, layer=choice.options.layer if path == choice.predicted else None) as file:
            for name in choice.within:
                require_column(file.obs, f"{path.name}: within", name)
            where = {name: value for name, value in choice.options.where.items() if name in file.obs.columns}
            strata = pd.DataFrame({name: texts(file.obs[name]) for name in choice.within}, dtype=object)
            found.append(strata[choose_cells(file, where)].drop_duplicates())
    both = found[1].merge(found[0]).sort_values(list(choice.within))
    return [dict(zip(choice.within, values, strict=True)) for values in both.itertuples(index=False) if all(values)]


def _count(groups: np.ndarray) -> dict[str, int]:
    return {str(name): int(n) for name, n in pd.Series(groups).value_counts().items()}


def _enough_cells(groups: np.ndarray, least: int) -> set[str]:
    return {name for name, n in _count(groups).items() if n >= least}


def _groups_of(source: ReadSource) -> np.ndarray:
    """Return the perturbation of each cell: CONTROL, its perturbed genes ("A+B"), or "" if unknown."""
    found: np.ndarray = np.where(source.conditions.is_control, CONTROL, source.conditions.genes_of_cell)
    return found


def _choose_cells(groups: np.ndarray, wanted: set[str], choice: CellChoice) -> Codes:
    """Return the places of the cells of wanted groups, in the file's order; at most `choice.sample` of each group."""
    rows = np.flatnonzero(np.isin(groups.astype(str), sorted(wanted)))
    if choice.sample is None:
        return rows
    rng = np.random.default_rng(choice.seed)
    order = rng.permutation(len(rows))
    place = pd.Series(groups[rows[order]]).groupby(groups[rows[order]]).cumcount().to_numpy()
    return np.sort(rows[order[place < choice.sample]])


def _refuse_too_large(choice: CellChoice, n_cells: int, n_genes: int) -> None:
    needed = MEMORY_BYTES + int(MEMORY_FACTOR * 4 * n_cells * n_genes)
    if choice.most_bytes is not None and needed > choice.most_bytes:
        raise InputError(
            f"{choice.predicted}: cell-eval would take about {needed / 1e9:.1f} GB of memory for {n_cells:,} cells and "
            f"{n_genes:,} genes, and {choice.most_bytes / 1e9:.1f} GB are free. Draw fewer cells of each perturbation with "
            "--sample"
        )


def _read_cells(source: ReadSource, rows: Codes, genes: list[str], scale: Scale) -> np.ndarray:
    """Return the log1p values of some cells, float32 of shape (n_rows, n_genes): of counts per 10,000."""
    place = {gene: i for i, gene in enumerate(source.genes)}
    columns = np.array([place[gene] for gene in genes])
    found = np.empty((len(rows), len(genes)), dtype=np.float32)
    done = 0
    for block_rows, block in source.file.blocks():
        inside = rows[(rows >= block_rows.start) & (rows < block_rows.stop)] - block_rows.start
        if not len(inside):
            continue
        linear = linear_values(block[inside], scale.kind, clip_negative=source.clip_negative)
        total = np.asarray(linear[:, source.shared].sum(axis=1)).reshape(-1, 1)
        kept = linear[:, columns].toarray() if isinstance(linear, csr_matrix) else linear[:, columns]
        ratio = np.divide(COUNTS_PER_CELL, total, out=np.zeros(total.shape), where=total > 0)
        found[done : done + len(inside)] = np.log1p(kept * (ratio if scale.factor is None else scale.factor))
        done += len(inside)
    return found


def _only_in(where: str, source: ReadSource, perturbations: set[str], genes: list[str]) -> list[str]:
    """Describe how many perturbations and genes are in only one of the files."""
    counts = ((len(perturbations), "perturbations"), (source.file.n_genes - len(genes), "genes"))
    return [f"{n:,} {what} only in {where}" for n, what in counts if n]


def _as_anndata(values: np.ndarray, groups: np.ndarray, genes: list[str]) -> Any:
    index = pd.Index([f"cell{i}" for i in range(len(values))], dtype=object)
    obs = pd.DataFrame({PERTURBATION: pd.Categorical(groups.astype(object))}, index=index)
    return import_anndata().AnnData(X=values, obs=obs, var=pd.DataFrame(index=pd.Index(genes, dtype=object)))
