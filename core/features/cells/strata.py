"""The strata (batches, donors, cell lines, bins of depth) inside of which cells are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.fields.setting import setting
from core.features.cells.anndata_file import CellFile
from core.features.cells.columns import require_column, texts
from core.features.cells.conditions import Conditions
from core.stats.arrays import Bools, Codes, Floats

LEAST_CONTROLS: Final = 2  # fewest controls of a stratum for comparing perturbed cells
CONTROLS_PER_BIN: Final = 40  # fewest controls in a bin of similar depth


Within = Annotated[
    tuple[str, ...],
    setting(
        "Compare cells inside each value of this column of obs (a batch, a cell line), and pool.",
        title="Compare inside each",
        metavar="COLUMN",
    ),
]


def compare_within(file: CellFile, found: Conditions, columns: Sequence[str]) -> Conditions:
    """Return the conditions with strata: the values of some columns of obs, inside of which cells
    are compared.

    Cells without a stratum, or of one without controls, are not chosen. Raise InputError for
    columns that obs does not have, and if no stratum has controls.
    """
    if not columns:
        return found
    for name in columns:
        require_column(file.obs, "within", name)
    parts = [texts(file.obs[name]) for name in columns]
    names = np.array(
        [" / ".join(each) if all(each) else "" for each in zip(*parts, strict=True)], dtype=object
    )
    strata = number_strata(names, found.is_control)
    if (strata < 0).all():
        raise InputError(
            f"{file.path}: no stratum of --within has {LEAST_CONTROLS} control cells, expected at"
            " least one that has"
        )
    lost = found.is_chosen & (strata < 0)
    return replace(
        found,
        is_chosen=found.is_chosen & ~lost,
        strata=strata,
        without_stratum=int(lost.sum()),
    )


def strata_of_batches(batch: np.ndarray, is_control: Bools) -> Codes | None:
    """Return the number of each cell's stratum, its batch; -1 in batches with fewer than
    LEAST_CONTROLS controls or without a name. None where all cells are in one batch. batch: texts
    of shape (n_cells,)."""
    return None if len(set(batch.tolist())) == 1 else number_strata(batch, is_control)


def number_strata(names: np.ndarray, is_control: Bools) -> Codes:
    """Return the number of each cell's stratum, -1 for strata with fewer than LEAST_CONTROLS
    controls and for "" (no stratum)."""
    code, known = pd.factorize(names, sort=True)
    usable = (np.bincount(code[is_control], minlength=len(known)) >= LEAST_CONTROLS) & (
        np.array(known, dtype=object) != ""
    )
    return np.where(usable, np.cumsum(usable) - 1, -1)[code].astype(np.intp)


def split_by_depth(
    strata: Codes | None, depth: Floats, is_control: Bools, most_bins: int
) -> Codes | None:
    """Return strata of cells with similar depth: each is cut at quantiles of its controls.

    strata: of shape (n_cells,), -1 for cells that are not compared; None is one for all. depth: of
    each cell, such as its number of genes. A stratum has as many bins as leave CONTROLS_PER_BIN
    controls in each, at most most_bins. Return strata if no bin can be made.
    """
    known = np.zeros(len(depth), dtype=np.intp) if strata is None else strata
    found, n = np.full(len(depth), -1, dtype=np.intp), 0
    for stratum in range(known.max(initial=-1) + 1):
        inside = known == stratum
        control = depth[inside & is_control]
        bins = min(most_bins, len(control) // CONTROLS_PER_BIN)
        limits = (
            np.unique(np.quantile(control, np.arange(1, bins) / bins)) if bins > 1 else np.empty(0)
        )
        # otherwise the lowest bin would have no controls
        limits = limits[limits > control.min()] if bins > 1 else limits
        found[inside] = n + np.searchsorted(limits, depth[inside], side="right")
        n += len(limits) + 1
    return strata if n == known.max(initial=-1) + 1 else found
