"""Predicted cells: log2 fold changes of means by hand, against a loop over cells, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.base.types import Pair
from core.features.cells import anndata_file
from core.features.cells.predicted_expression import CellOptions, read_predicted_cells
from core.features.cells.predicted_table import WantedPairs, build_rows
from core.features.cells.predictions import describe
from tests.features.cells.conftest import WriteCells

WriteCells = WriteCells
PAIRS = WantedPairs(
    [
        Pair(f"{pert}_{gene}", pert, gene, None, "train")
        for pert, gene in (("A", "G"), ("A", "H"), ("B", "G"), ("C", "G"), ("A", "N"))
    ]
)
GENES = ["G", "H", "I"]
# Counts of cells; each cell's counts per 10,000 are its counts times 100.
COUNTS = np.array(
    [[10, 40, 50], [30, 20, 50], [40, 0, 60], [80, 10, 10], [5, 5, 90]], dtype=np.float32
)
LABELS = ["ctrl", "ctrl", "A+ctrl", "A+ctrl", "A+B"]


@pytest.mark.few(1)
@pytest.mark.parametrize("sparse", [True, False])
def test_counts_by_hand(cells_file: WriteCells, sparse: bool) -> None:
    path = cells_file(csr_matrix(COUNTS) if sparse else COUNTS, {"condition": LABELS}, GENES)
    found = read_predicted_cells(path, PAIRS, CellOptions())
    # controls: G 2,000, H 3,000; A: G 6,000, H 500. B occurs only together with A, C and the gene N not at all.
    expected = [np.log2(3), np.log2(1 / 6), np.nan, np.nan, np.nan]
    np.testing.assert_allclose(found.signed, expected)
    np.testing.assert_allclose(found.evidence, np.abs(expected))
    assert found.other_pairs == 1
    read_as = {
        "perturbation": "condition",
        "control": "ctrl",
        "values": "counts",
        "controls": "of the file",
    }
    decisions = "controls: 2 cells: ctrl (2); perturbations of several genes: 1 cells: A+B (1)"
    assert found.read_as == {**read_as, "perturbations": decisions}


def test_what_differs_between_controls_and_perturbed_cells_is_said(cells_file: WriteCells) -> None:
    obs = {"condition": LABELS, "treatment": ["none", "none", "LPS", "LPS", "LPS"]}
    found = read_predicted_cells(cells_file(COUNTS, obs, GENES), PAIRS, CellOptions())
    said = found.read_as["differs between controls and perturbed cells"]
    assert "treatment: LPS (0 of 2 controls, 3 of 3 perturbed cells)" in said
    assert said in describe(found, build_rows(PAIRS.pairs, found, rank_only=True))


def test_log_values_are_averaged_on_a_linear_scale(cells_file: WriteCells) -> None:
    path = cells_file(np.log1p(COUNTS * 100), {"condition": LABELS}, GENES)
    found = read_predicted_cells(path, PAIRS, CellOptions())
    np.testing.assert_allclose(found.signed[:2], [np.log2(3), np.log2(1 / 6)], rtol=1e-5)
    assert found.read_as["values"] == "log1p (expm1 sums to 10,000 a cell)"


@pytest.mark.soak
def test_profiles_beside_controls_of_another_file(cells_file: WriteCells) -> None:
    """One profile a perturbation, log1p, genes in another order, one gene more; real controls are counts."""
    real = cells_file(COUNTS, {"condition": LABELS}, GENES)
    profile = np.log1p(np.array([[7_777, 1_000, 6_000], [1, 6_000, 500]]))
    path = cells_file(profile, {"condition": ["A", "B"]}, ["N", "H", "G"])
    found = read_predicted_cells(path, PAIRS, CellOptions(real=real))
    # N is not among the real genes, so it has no controls
    np.testing.assert_allclose(
        found.signed, [np.log2(3), np.log2(1 / 3), np.log2(1 / 4), np.nan, np.nan]
    )
    assert found.read_as["controls"] == "of the real file, counts"


@pytest.mark.soak
def test_blocks_of_cells_give_the_same(
    screen_file: WriteCells, monkeypatch: pytest.MonkeyPatch
) -> None:
    import anndata

    path = screen_file(n_doubles=2)
    cells = anndata.read_h5ad(path)
    perts = sorted(set(cells.obs["perturbation"]) - {"non-targeting"})
    single = [pert for pert in perts if "+" not in pert]
    pairs = WantedPairs(
        [Pair(f"{p}_{g}", p, g, None, "train") for p in single for g in cells.var_names]
    )
    whole = read_predicted_cells(path, pairs, CellOptions())
    monkeypatch.setattr(anndata_file, "BLOCK_VALUES", 80 * 7)  # 7 cells a block
    np.testing.assert_allclose(
        read_predicted_cells(path, pairs, CellOptions()).signed, whole.signed
    )
    counts = cells.X.toarray().astype(np.float64)
    share = counts / counts.sum(axis=1, keepdims=True)
    control = share[(cells.obs["perturbation"] == "non-targeting").to_numpy()].mean(axis=0)
    expected = [
        np.log2(share[(cells.obs["perturbation"] == p).to_numpy()].mean(axis=0) / control)
        for p in single
    ]
    np.testing.assert_allclose(whole.signed, np.concatenate(expected), rtol=1e-6)


def test_files_that_hold_no_predictions_are_refused(cells_file: WriteCells) -> None:
    real = cells_file(COUNTS, {"condition": LABELS}, GENES)
    with pytest.raises(InputError, match="no control cells"):
        read_predicted_cells(
            cells_file(COUNTS[2:], {"condition": LABELS[2:]}, GENES), PAIRS, CellOptions()
        )
    with pytest.raises(
        InputError,
        match="--perturbation column 'condition': not in obs, which has drug",
    ):
        read_predicted_cells(
            cells_file(COUNTS, {"drug": LABELS}, GENES), PAIRS, CellOptions(real=real)
        )
    with pytest.raises(InputError, match="no perturbation column"):
        read_predicted_cells(cells_file(COUNTS, {"drug": LABELS}, GENES), PAIRS, CellOptions())
    with pytest.raises(
        InputError, match=r"gene H: -0\.5 is negative"
    ):  # as files of cells refuse it
        read_predicted_cells(
            cells_file(np.where(COUNTS == 20, -0.5, COUNTS), {"condition": LABELS}, GENES),
            PAIRS,
            CellOptions(),
        )
