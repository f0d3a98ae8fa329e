"""Scales of predictions: the truth scores 1.00 in every scale and subset of genes that is taken; what fits none is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import spearmanr

from core.base.errors import InputError
from core.base.types import Pair
from core.features.cells.predicted_expression import CellOptions, read_predicted_cells
from core.features.cells.predicted_table import WantedPairs
from tests.features.cells.conventions import CONTROL, COUNTS, SCREEN, TOTALS, VALUES, as_texts

SUM = TOTALS
SCALES = {
    "counts": COUNTS,
    "counts per 10,000": COUNTS / SUM * 1e4,
    "log1p of 10,000": np.log1p(COUNTS / SUM * 1e4),
    "log1p of a million": np.log1p(COUNTS / SUM * 1e6),
    "log1p of 7,000": np.log1p(COUNTS / SUM * 7e3),
    "log1p of the median": np.log1p(COUNTS / SUM * np.median(SUM)),
}
SUBSETS = {
    "all genes": np.arange(60),
    "40 genes": np.arange(60)[::-1][:40],
    "few": np.arange(0, 60, 4),
}
SINGLES = sorted({value for value in VALUES if value != CONTROL and "+" not in value})
PAIRS = WantedPairs([Pair(f"{p}_{g}", p, g, None, "train") for p in SINGLES for g in SCREEN.genes])


def write(
    path: Path,
    values: np.ndarray,
    genes: np.ndarray,
    rows: np.ndarray,
    layout: Callable[[np.ndarray], object] = np.asarray,
    layer: str = "",
) -> Path:
    index = pd.Index([f"c{i}" for i in rows], dtype=object)
    obs = pd.DataFrame({"perturbation": as_texts(VALUES[rows])}, index=index, dtype=object)
    var = pd.DataFrame(index=pd.Index(np.array(SCREEN.genes, dtype=object)[genes], dtype=object))
    cells = anndata.AnnData(X=layout(values[rows][:, genes].astype(np.float32)), obs=obs, var=var)
    if layer:
        cells.layers[layer] = cells.X
    cells.write_h5ad(path)
    return path


@pytest.fixture
def real(tmp_path: Path) -> Path:
    return write(tmp_path / "real.h5ad", COUNTS, np.arange(60), np.arange(len(VALUES)))


def truth(over: np.ndarray | None = None) -> np.ndarray:
    """The log2 fold change of each pair, with cells brought to one sum over these genes; NaN where a mean is 0."""
    share = COUNTS / (SUM if over is None else COUNTS[:, over].sum(axis=1, keepdims=True))
    means = np.array([share[pert == VALUES].mean(axis=0) for pert in (CONTROL, *SINGLES)])
    means[means == 0] = np.nan
    return np.log2(means[1:] / means[0]).ravel()


PERTURBED = np.flatnonzero(VALUES != CONTROL)


@pytest.mark.few(1)
@pytest.mark.parametrize(("scale", "subset"), list(itertools.product(SCALES, SUBSETS)))
def test_predictions_that_are_the_truth_rank_as_it_does(
    tmp_path: Path, real: Path, scale: str, subset: str
) -> None:
    path = write(tmp_path / "predicted.h5ad", SCALES[scale], SUBSETS[subset], PERTURBED)
    found = read_predicted_cells(path, PAIRS, CellOptions(real=real))
    assert found.covered.sum() == len(SINGLES) * len(SUBSETS[subset])
    # of counts, only the sum over the genes that both files have is known
    expected = truth(SUBSETS[subset] if scale.startswith("counts") else None)
    there = found.covered & ~np.isnan(expected)
    assert spearmanr(found.evidence[there], np.abs(expected[there])).statistic > 0.995
    np.testing.assert_allclose(
        found.signed[there], expected[there], atol=0.1 if "median" in scale else 1e-3
    )


def means_of_counts() -> np.ndarray:
    """Means as of a negative binomial decoder: not whole, none above 20, of cells of many depths."""
    rng = np.random.default_rng(0)
    means = (
        COUNTS
        / SUM
        * rng.lognormal(0, 0.8, (len(VALUES), 1))
        * rng.lognormal(0, 0.03, COUNTS.shape)
    )
    return means * 19 / means.max()


@pytest.mark.parametrize("with_real", [True, False])
def test_means_of_counts_are_asked_for(tmp_path: Path, real: Path, with_real: bool) -> None:
    rows = PERTURBED if with_real else np.arange(len(VALUES))
    path = write(tmp_path / "means.h5ad", means_of_counts(), np.arange(60), rows)
    options = CellOptions(real=real if with_real else None)
    with pytest.raises(
        InputError,
        match=r"expm1 of them sums to [\d,]+ a cell .*--values counts \(means of counts, too\)",
    ):
        read_predicted_cells(path, PAIRS, options)
    found = read_predicted_cells(path, PAIRS, CellOptions(real=options.real, values="counts"))
    there = ~np.isnan(truth())
    assert spearmanr(found.evidence[there], np.abs(truth()[there])).statistic > 0.99


NEGATIVE = {
    "0.3 below in some": np.where(np.random.default_rng(0).random(COUNTS.shape) < 0.2, -0.3, 1.0),
    "a billionth below": np.full(COUNTS.shape, -1e-9),
    "nine tenths below": np.full(COUNTS.shape, -0.9),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("kind", NEGATIVE)
@pytest.mark.parametrize("scale", ["counts", "log1p of 10,000"])
def test_zeros_that_a_decoder_made_negative_are_zeros_again(
    tmp_path: Path, kind: str, scale: str, layout: Callable[[np.ndarray], object]
) -> None:
    below = (SCALES[scale] == 0) & (NEGATIVE[kind] < 0)
    path = write(
        tmp_path / "p.h5ad",
        np.where(below, NEGATIVE[kind], SCALES[scale]),
        np.arange(60),
        np.arange(len(VALUES)),
        layout,
    )
    with pytest.raises(InputError, match=r"is negative, .*--clip-negative"):
        read_predicted_cells(path, PAIRS, CellOptions())
    found = read_predicted_cells(path, PAIRS, CellOptions(clip_negative=True))
    assert found.read_as["negative values read as 0"].startswith(f"{below.sum():,}, the smallest -")
    there = ~np.isnan(truth())
    np.testing.assert_allclose(found.signed[there], truth()[there], atol=1e-3)


def test_scaled_values_are_refused(tmp_path: Path) -> None:
    logs = SCALES["log1p of 10,000"]
    path = write(
        tmp_path / "z.h5ad",
        (logs - logs.mean(axis=0)) / (logs.std(axis=0) + 1e-3),
        np.arange(60),
        np.arange(len(VALUES)),
    )
    with pytest.raises(InputError, match="look scaled or centred"):
        read_predicted_cells(path, PAIRS, CellOptions(clip_negative=True))


def test_layers_that_may_hold_the_predictions_are_asked_for(tmp_path: Path) -> None:
    every = np.arange(60), np.arange(len(VALUES))
    path = write(tmp_path / "p.h5ad", COUNTS, *every, layer="predicted")
    with pytest.raises(InputError, match="say which with --layer predicted or --layer X"):
        read_predicted_cells(path, PAIRS, CellOptions())
    there = ~np.isnan(truth())
    for layer in ("predicted", "X"):
        found = read_predicted_cells(path, PAIRS, CellOptions(layer=layer))
        np.testing.assert_allclose(found.signed[there], truth()[there], atol=1e-3)
