"""Predicted and real cells as cell-eval wants them: the same genes in the same order, the same perturbations, log1p values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from core.cells.anndata_file import CellFile, open_cells
from core.cells.columns import choose_columns, targets_of, texts
from core.cells.differential_expression import COUNTS_PER_CELL
from core.cells.packages import import_anndata
from core.cells.predicted_expression import CellOptions, ValueScale, choose_predicted_columns, tell_scale
from core.errors import InputError
from core.stats.arrays import Codes

PERTURBATION, CONTROL = "perturbation", "non-targeting"  # cell-eval's column and its value for controls, whatever the files have
# Peak memory of cell-eval: a constant, and so many times the float32 values of both files. Measured, see
# docs/predicted_expression.md.
MEMORY_BYTES, MEMORY_FACTOR = 700_000_000, 4.0


@dataclass(frozen=True, slots=True)
class CellChoice:
    """Which cells are compared. sample: at most so many cells of each perturbation and of the controls, drawn by seed; None
    for all. most_bytes: of memory; None for no limit."""

    predicted: Path
    options: CellOptions
    sample: int | None = None
    seed: int = 0
    most_bytes: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CellPair:
    """Two AnnData with the same genes and perturbations.

    left_out: in words, what only one of the files has. fewest: cells of the smallest group of the predictions.
    """

    predicted: Any
    real: Any
    n_perturbations: int
    left_out: tuple[str, ...]
    fewest: int
    read_as: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """One of both files."""

    file: CellFile
    groups: np.ndarray  # of each cell: CONTROL, the genes that it is perturbed in ("A+B"), or "" if that is not known


def load_cell_pair(choice: CellChoice) -> CellPair:
    """Reads both files and returns the cells that are compared, dense.

    Predictions without controls get the real ones. Raises InputError as `read_predicted_cells` does, without a shared gene or
    perturbation, and where cell-eval would need more memory than `most_bytes`.
    """
    assert choice.options.real is not None
    with open_cells(choice.predicted) as predicted, open_cells(choice.options.real) as real:
        columns, has_controls = choose_predicted_columns(predicted, choice.options)
        theirs = choose_columns(real.obs, None, choice.options.control)
        pred = _Source(predicted, _groups_of(predicted, columns.perturbation, columns.control))
        truth = _Source(real, _groups_of(real, theirs.perturbation, theirs.control))
        shared = set(pred.groups) & set(truth.groups) - {"", CONTROL}
        genes = [gene for gene in real.genes if gene in set(predicted.genes)]
        if not shared or not genes:
            raise InputError(
                f"{predicted.path} and {real.path}: {len(shared):,} perturbations and {len(genes):,} genes in common, expected "
                "at least one of each"
            )
        chosen = [_choose_cells(source, shared | {CONTROL}, choice) for source in (pred, truth)]
        if not has_controls:
            chosen[0] = _choose_cells(pred, shared, choice)
        _refuse_too_large(choice, sum(map(len, chosen)), len(genes))
        scales = choice.options.values or tell_scale(predicted), tell_scale(real)
        cells = [_read_cells(s, rows, genes, scale) for s, rows, scale in zip((pred, truth), chosen, scales, strict=True)]
    groups = [source.groups[rows] for source, rows in zip((pred, truth), chosen, strict=True)]
    if not has_controls:
        is_control = groups[1] == CONTROL
        cells[0] = np.vstack([cells[0], cells[1][is_control]])
        groups[0] = np.concatenate([groups[0], groups[1][is_control]])
    left_out = (*_only_in("the predictions", pred, shared, genes), *_only_in("the real cells", truth, shared, genes))
    counts = pd.Series(groups[0]).value_counts()
    read_as = {"predicted": scales[0], "real": scales[1], "controls": "of the file" if has_controls else "of the real file"}
    predicted_cells, real_cells = (_as_anndata(*each, genes) for each in zip(cells, groups, strict=True))
    return CellPair(predicted_cells, real_cells, len(shared), left_out, int(counts.min()), read_as)


def _groups_of(file: CellFile, column: str, control: str) -> np.ndarray:
    labels = texts(file.obs[column])
    named = {label: CONTROL if label == control else "+".join(targets_of(label, control)) for label in set(labels)}
    return np.array([named[label] for label in labels], dtype=object)


def _choose_cells(source: _Source, wanted: set[str], choice: CellChoice) -> Codes:
    """Returns the places of the cells of wanted groups, in the file's order; at most `choice.sample` of each group."""
    rows = np.flatnonzero(np.isin(source.groups.astype(str), sorted(wanted)))
    if choice.sample is None:
        return rows
    rng = np.random.default_rng(choice.seed)
    order = rng.permutation(len(rows))
    place = pd.Series(source.groups[rows[order]]).groupby(source.groups[rows[order]]).cumcount().to_numpy()
    return np.sort(rows[order[place < choice.sample]])


def _refuse_too_large(choice: CellChoice, n_cells: int, n_genes: int) -> None:
    needed = MEMORY_BYTES + int(MEMORY_FACTOR * 4 * n_cells * n_genes)
    if choice.most_bytes is not None and needed > choice.most_bytes:
        raise InputError(
            f"{choice.predicted}: cell-eval would take about {needed / 1e9:.1f} GB of memory for {n_cells:,} cells and "
            f"{n_genes:,} genes, and {choice.most_bytes / 1e9:.1f} GB are free; draw fewer cells of each perturbation with "
            "--sample"
        )


def _read_cells(source: _Source, rows: Codes, genes: list[str], scale: ValueScale) -> np.ndarray:
    """Returns the log1p values of some cells, float32 of shape (n_rows, n_genes)."""
    place = {gene: i for i, gene in enumerate(source.file.genes)}
    columns = np.array([place[gene] for gene in genes])
    found = np.empty((len(rows), len(genes)), dtype=np.float32)
    done = 0
    for block_rows, block in source.file.blocks():
        inside = rows[(rows >= block_rows.start) & (rows < block_rows.stop)] - block_rows.start
        if not len(inside):
            continue
        cells = block[inside]
        values = cells[:, columns].toarray() if isinstance(cells, csr_matrix) else cells[:, columns]
        if scale == "counts":
            total = np.asarray(cells.sum(axis=1, dtype=np.float64)).reshape(-1, 1)
            values = np.log1p(np.divide(values * COUNTS_PER_CELL, total, out=np.zeros(values.shape), where=total > 0))
        found[done : done + len(inside)] = values
        done += len(inside)
    return found


def _only_in(where: str, source: _Source, shared: set[str], genes: list[str]) -> list[str]:
    """Returns in words how many perturbations and genes only one of the files has."""
    perturbations = len(set(source.groups) - shared - {CONTROL, ""})
    others = source.file.n_genes - len(genes)
    counts = ((perturbations, "perturbations"), (others, "genes"))
    return [f"{n:,} {what} only in {where}" for n, what in counts if n]


def _as_anndata(values: np.ndarray, groups: np.ndarray, genes: list[str]) -> Any:
    index = pd.Index([f"cell{i}" for i in range(len(values))], dtype=object)
    obs = pd.DataFrame({PERTURBATION: pd.Categorical(groups.astype(object))}, index=index)
    return import_anndata().AnnData(X=values, obs=obs, var=pd.DataFrame(index=pd.Index(genes, dtype=object)))
