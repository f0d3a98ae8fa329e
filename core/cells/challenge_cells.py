"""Predicted cells as the archive that cell-eval prepares for the Virtual Cell Challenge (.vcc): a tar of one packed .h5ad."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from core.cells.anndata_file import COUNTS_PER_CELL, open_cells
from core.cells.evaluation_cells import CONTROL
from core.cells.packages import import_anndata
from core.cells.predicted_expression import CellOptions, Comparison, compare_with_itself
from core.cells.value_facts import linear_values
from core.errors import InputError
from core.file_io import part_of, temporary_folder

PERTURBATION: Final = "target_gene"  # cell-eval's column, and CONTROL its value for controls
MEMBER, MARK = "pred.h5ad.zst", ("watermark.txt", b"vcc-prep")
_SHOWN: Final = 5


def write_challenge_cells(path: Path, out: Path, options: CellOptions, genes: Sequence[str] = ()) -> tuple[int, int]:
    """Write the cells of a file of predictions as .vcc, in log1p of counts per 10,000; return the numbers of cells and genes.

    Perturbations and scale are read as by `cells predictions`. genes: in the order that is wanted, by default the file's. Raise
    InputError as `read_predicted_cells`, without control cells, for genes that the file does not have, and for `out` that exists;
    MissingPackage, and OSError.
    """
    if out.exists():
        raise InputError(f"{out}: exists, expected a new file")
    with open_cells(path, layer=options.layer) as file:
        both = compare_with_itself(file, options, genes)
        if not both.predicted.conditions.is_control.any():
            raise InputError(f"{path}: no control cells, which the challenge's archives have; add real ones to the file")
        columns = _columns_of(path, file.genes, genes)
        cells = _as_anndata(both, columns)
    with temporary_folder("vcc") as folder, part_of(out) as part:
        plain = folder / "pred.h5ad"
        cells.write_h5ad(plain)
        _pack(plain, part)
        part.rename(out)
    return int(cells.n_obs), int(cells.n_vars)


def _columns_of(path: Path, found: Sequence[str], wanted: Sequence[str]) -> np.ndarray:
    if not wanted:
        return np.arange(len(found))
    place = {gene: i for i, gene in enumerate(found)}
    missing = [gene for gene in wanted if gene not in place]
    if missing:
        more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
        raise InputError(
            f"{path}: {len(missing):,} of the {len(wanted):,} genes are not in it: {', '.join(missing[:_SHOWN])}{more}"
        )
    return np.array([place[gene] for gene in wanted])


def _as_anndata(both: Comparison, columns: np.ndarray) -> Any:
    """Return the cells whose perturbation is known."""
    source, scale = both.predicted, both.scale
    groups = np.where(source.conditions.is_control, CONTROL, source.conditions.genes_of_cell).astype(object)
    parts = []
    for rows, block in source.file.blocks():
        used = np.flatnonzero(groups[rows] != "")
        linear = csr_matrix(linear_values(block[used], scale.kind, clip_negative=source.clip_negative), dtype=np.float64)
        total = np.asarray(linear.sum(axis=1)).ravel()
        factor = np.divide(COUNTS_PER_CELL, total, out=np.zeros(len(total)), where=total > 0)
        if scale.factor is not None:
            factor = np.full(len(total), scale.factor)
        parts.append(csr_matrix(linear[:, columns].multiply(factor[:, None])).log1p().astype(np.float32))
    kept = groups[groups != ""]
    obs = pd.DataFrame(
        {PERTURBATION: pd.Categorical(kept, pd.Index(sorted(set(kept)), dtype=object))},
        index=pd.Index([str(i) for i in range(len(kept))], dtype=object),
    )
    var = pd.DataFrame(index=pd.Index([source.file.genes[i] for i in columns], dtype=object))
    return import_anndata().AnnData(X=csr_matrix(vstack(parts, format="csr")), obs=obs, var=var)


def _pack(plain: Path, out: Path) -> None:
    import pyarrow as pa

    packed = plain.with_name(MEMBER)
    with plain.open("rb") as file, pa.CompressedOutputStream(str(packed), "zstd") as stream:
        while chunk := file.read(1 << 20):
            stream.write(chunk)
    with tarfile.open(out, "w") as archive:
        archive.add(packed, MEMBER)
        mark = tarfile.TarInfo(MARK[0])
        mark.size = len(MARK[1])
        archive.addfile(mark, io.BytesIO(MARK[1]))
