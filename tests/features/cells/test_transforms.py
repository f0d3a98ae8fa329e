"""Values that are no counts tell what was done to them; what is advised, followed, gives the same dataset. What tells nothing is
asked for, with figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.features.cells.predicted_expression import CellOptions, read_predicted_cells
from core.features.cells.scales import tell_transform
from tests.features.cells.conventions import (
    CONVENTIONS,
    COUNTS,
    TOTALS,
    Convention,
    plain,
    with_values,
)
from tests.features.cells.conventions import write as write_convention
from tests.features.cells.test_conventions import labelled
from tests.features.cells.test_scales import PAIRS, PERTURBED, SCALES, truth, write

EVERY = np.arange(60)
CELLS = np.arange(len(COUNTS))
NORMALISED = COUNTS / TOTALS * 1e4
# What was done to counts → its values, what they are called, and what takes them back
OTHERS = {
    "log2": (np.log2(1 + NORMALISED), "log2", lambda x: np.exp2(x) - 1),
    "log10": (np.log10(1 + NORMALISED), "log10", lambda x: 10**x - 1),
    "roots of counts": (np.sqrt(COUNTS), "square roots", np.square),
    "roots of counts per 10,000": (np.sqrt(NORMALISED), "square roots", np.square),
    "roots of counts per million": (np.sqrt(NORMALISED * 100), "square roots", np.square),
    "arcsinh of counts": (np.arcsinh(COUNTS), "inverse hyperbolic sines", np.sinh),
    "arcsinh of counts per 10,000": (np.arcsinh(NORMALISED), "inverse hyperbolic sines", np.sinh),
    "log1p twice": (
        np.log1p(np.log1p(NORMALISED)),
        "log1p of log1p",
        lambda x: np.expm1(np.expm1(x)),
    ),
    "arcsinh with a cofactor": (np.arcsinh(COUNTS / 5), "inverse hyperbolic sines", np.sinh),
}
FEW_UNITS = (
    np.random.default_rng(0).poisson(0.8, (300, 400)).astype(float)
)  # of which no panel's sums are one


def screen_of(values: np.ndarray, path: Path) -> Path:
    return write_convention(Convention("", "", with_values(values)), path)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return labelled(
        write_convention(CONVENTIONS[0], tmp_path_factory.mktemp("plain") / "plain.h5ad")
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("said", [{}, {"values": "counts"}, {"values": "log1p"}], ids=str)
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_neither_counts_nor_log1p_is_refused(
    tmp_path: Path, kind: str, said: dict[str, str]
) -> None:
    values, name, _ = OTHERS[kind]
    with pytest.raises(InputError, match=rf"the values are {name}"):
        labelled(screen_of(csr_matrix(values.astype(np.float32)), tmp_path / "x.h5ad"), **said)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_advised_gives_the_same_dataset(
    tmp_path: Path, kind: str, expected: pd.DataFrame
) -> None:
    values, _, back = OTHERS[kind]
    pd.testing.assert_frame_equal(labelled(screen_of(back(values), tmp_path / "y.h5ad")), expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("with_real", [True, False])
def test_predictions_are_refused_too(tmp_path: Path, kind: str, with_real: bool) -> None:
    real = write(tmp_path / "real.h5ad", COUNTS, EVERY, CELLS)
    path = write(tmp_path / "x.h5ad", OTHERS[kind][0], EVERY, PERTURBED if with_real else CELLS)
    with pytest.raises(InputError, match=rf"the values are {OTHERS[kind][1]}"):
        read_predicted_cells(path, PAIRS, CellOptions(real=real if with_real else None))


@pytest.mark.parametrize(
    ("back", "name"),
    [
        (lambda x: x / 7, "counts"),
        (np.log1p, "log1p"),
        (lambda x: np.log1p(x / 3), "log1p"),
        (np.sqrt, "square roots"),
        (lambda x: np.log2(1 + x / 2), "log2"),
        (lambda x: np.log10(1 + x * 9), "log10"),
        (lambda x: np.arcsinh(x / 5), "inverse hyperbolic sines (arcsinh)"),
    ],
)
def test_some_genes_tell_it_as_well(back: Callable[[np.ndarray], np.ndarray], name: str) -> None:
    """Of highly variable genes the cells have no one sum, but units."""
    depth = np.random.default_rng(1).lognormal(0, 0.5, (len(FEW_UNITS), 1)).clip(0.2, 5)
    told = tell_transform(back(FEW_UNITS * depth).astype(np.float32).astype(float))
    assert told.transform.name == name
    assert "whole multiples" in told.words


@pytest.mark.parametrize(
    "kind",
    [
        "z-scores above 0",
        "smoothed",
        "uniform",
        "cells that are all alike",
        "half counts, half logs",
    ],
)
def test_what_tells_nothing_is_not_told(kind: str) -> None:
    rng = np.random.default_rng(0)
    values = {
        "z-scores above 0": np.maximum(rng.normal(size=(200, 300)), 0),
        "smoothed": FEW_UNITS[:-2] + FEW_UNITS[1:-1] / 3 + FEW_UNITS[2:] * rng.random((298, 1)),
        "uniform": rng.random((200, 300)) * 50,
        "cells that are all alike": np.tile(rng.random(300), (50, 1)),
        "half counts, half logs": np.vstack([FEW_UNITS[:150], np.log1p(FEW_UNITS[150:] * 1.7)]),
    }[kind]
    assert tell_transform(values) is None


@pytest.mark.soak
@pytest.mark.parametrize(
    ("values", "said", "words"),
    [
        (COUNTS, "log1p", "the values are counts, not log1p: all are whole numbers"),
        (NORMALISED, "log1p", "the values are counts, not log1p: X"),
        (np.log1p(NORMALISED), "counts", r"the values are log1p, not counts: numpy\.expm1"),
        (np.log1p(COUNTS), "counts", r"the values are log1p, not counts: numpy\.expm1"),
    ],
)
def test_what_a_person_says_is_held_against_the_values(
    tmp_path: Path, values: np.ndarray, said: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        labelled(screen_of(csr_matrix(values), tmp_path / "x.h5ad"), values=said)
    path = write(tmp_path / "p.h5ad", values, EVERY, CELLS)
    with pytest.raises(InputError, match=words):
        read_predicted_cells(path, PAIRS, CellOptions(values=said))  # type: ignore[arg-type]


def test_logarithms_of_counts_of_any_sum_are_taken(tmp_path: Path, expected: pd.DataFrame) -> None:
    path = screen_of(csr_matrix(np.log1p(COUNTS)), tmp_path / "x.h5ad")
    pd.testing.assert_frame_equal(labelled(path, values="log1p"), expected)


def test_detection_is_refused(tmp_path: Path) -> None:
    values = (np.median(COUNTS) < COUNTS).astype(np.float32)
    with pytest.raises(InputError, match="no value is above 1: they say whether a gene is seen"):
        labelled(screen_of(values, tmp_path / "x.h5ad"))


AMBIENT = np.maximum(COUNTS - 0.05 * COUNTS.mean(axis=0), 0)  # counts less those of ambient RNA


@pytest.mark.soak
def test_corrected_counts_are_asked_for_with_figures(
    tmp_path: Path, expected: pd.DataFrame
) -> None:
    path = screen_of(csr_matrix(AMBIENT), tmp_path / "x.h5ad")
    with pytest.raises(
        InputError,
        match=r"the largest is [\d.,]+ and cells sum to [\d.,]+ to [\d.,]+ .*--values counts",
    ):
        labelled(path)
    assert len(labelled(path, values="counts")) > len(expected) / 2


def noisy(values: np.ndarray) -> np.ndarray:
    """Values as a model predicts them, of which nothing is a multiple of anything."""
    return values * np.random.default_rng(0).lognormal(0, 0.1, values.shape)


def test_values_too_large_for_logarithms_are_asked_for_beside_real_cells(tmp_path: Path) -> None:
    """They may be means of counts, or roots."""
    real = CellOptions(real=write(tmp_path / "real.h5ad", COUNTS, EVERY, CELLS))
    roots = write(tmp_path / "roots.h5ad", noisy(np.sqrt(NORMALISED * 100)), EVERY, PERTURBED)
    means = write(tmp_path / "means.h5ad", noisy(COUNTS), EVERY, PERTURBED)
    for path in (roots, means):
        with pytest.raises(InputError, match=r"cells sum to [\d.,]+ to .*--values counts"):
            read_predicted_cells(path, PAIRS, real)
    found = read_predicted_cells(means, PAIRS, replace(real, values="counts"))
    assert found.read_as["values"].startswith("counts")


@pytest.mark.few(1)
@pytest.mark.parametrize("with_real", [True, False])
@pytest.mark.parametrize("kind", ["log1p of counts", "shares", "per cent"])
def test_predictions_on_scales_that_tell_themselves(
    tmp_path: Path, kind: str, with_real: bool
) -> None:
    values = {
        "log1p of counts": np.log1p(COUNTS),
        "shares": COUNTS / TOTALS,
        "per cent": COUNTS / TOTALS * 100,
    }[kind]
    path = write(tmp_path / "p.h5ad", values, EVERY, PERTURBED if with_real else CELLS)
    options = CellOptions(
        real=write(tmp_path / "real.h5ad", COUNTS, EVERY, CELLS) if with_real else None
    )
    there = ~np.isnan(truth())
    np.testing.assert_allclose(
        read_predicted_cells(path, PAIRS, options).signed[there], truth()[there], atol=1e-3
    )


@pytest.mark.parametrize("kind", SCALES)
def test_scales_that_are_taken_are_refused_by_none(kind: str) -> None:
    told = tell_transform(SCALES[kind].astype(np.float32).astype(float))
    assert told.transform.name == ("log1p" if "log1p" in kind else "counts")


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::pandas.errors.Pandas4Warning")
def test_raw_is_named_where_x_was_scaled(
    tmp_path: Path, expected: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    logs = np.log1p(NORMALISED)
    with pd.option_context("future.infer_string", False):
        cells = anndata.AnnData(**plain())
        cells.raw = cells
        cells.X = (logs - logs.mean(axis=0)) / (logs.std(axis=0) + 1e-3)
        cells.write_h5ad("x.h5ad")
        with pytest.raises(
            InputError, match=r"is negative, expected a count .*; what X was made of stands in raw"
        ) as caught:
            labelled(Path("x.h5ad"))
        for step in re.findall("`([^`]*)`", str(caught.value))[
            ::-1
        ]:  # what comes first is said last
            exec(step, {"anndata": anndata, "pandas": pd})
    pd.testing.assert_frame_equal(labelled(Path("raw.h5ad")), expected)
