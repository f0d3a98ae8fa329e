"""The simulated screen: its truth, its cells, and the file that it writes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.features.cells.simulator import ScreenSettings, SimulatedScreen, simulate_screen

SETTINGS = ScreenSettings(
    n_cells=3_000, n_genes=120, n_perturbations=12, n_doubles=3, share_failed_guides=0.2, depth=5
)


def shares(screen: SimulatedScreen, perturbation: str) -> np.ndarray:
    """The mean share of each gene in the counts of a perturbation's cells."""
    counts = screen.counts[(screen.obs["perturbation"] == perturbation).to_numpy()].toarray()
    return (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)


@pytest.mark.soak
def test_the_same_seed_gives_the_same_counts() -> None:
    first, again, other = (simulate_screen(SETTINGS, seed) for seed in (1, 1, 2))
    assert (first.counts != again.counts).nnz == 0
    assert first.obs.equals(again.obs)
    assert (first.counts != other.counts).nnz > 0


@pytest.mark.soak
def test_cells_follow_the_stated_truth() -> None:
    screen = simulate_screen(replace(SETTINGS, n_cells=20_000), 3)
    control = shares(screen, "non-targeting")
    often = control > np.median(control)  # about 1,100 cells each: rare genes say little
    for perturbation, row in screen.true_log2_fc.iterrows():
        truth = row.to_numpy()[often]
        error = np.abs(np.log2(shares(screen, str(perturbation)) / control)[often] - truth)
        assert error.max() < 0.35
        assert error[truth == 0].mean() < 0.05


@pytest.mark.soak
def test_targets_fall_by_the_knockdown_unless_guides_fail() -> None:
    screen = simulate_screen(replace(SETTINGS, share_failed_guides=0.0), 4)
    for perturbation in screen.true_log2_fc.index:
        for target in str(perturbation).split("+"):
            assert screen.true_log2_fc.loc[perturbation, target] == pytest.approx(np.log2(0.2))
    assert screen.failed_guides == ()


@pytest.mark.soak
def test_effects_keep_the_sum_of_expression() -> None:
    """Otherwise genes without an effect would change their share. The sum of a condition's shares over the controls' is 1."""
    screen = simulate_screen(replace(SETTINGS, n_cells=20_000, share_failed_guides=0.0), 5)
    control = shares(screen, "non-targeting")
    for truth in screen.true_log2_fc.to_numpy():
        assert (control * 2**truth).sum() == pytest.approx(
            1, abs=0.06
        )  # control shares are measured, in two batches


def test_obs_names_conditions_as_the_field_does() -> None:
    screen = simulate_screen(SETTINGS, 6)
    named = screen.obs.astype(str).groupby("perturbation")["condition"].unique()
    assert list(named["non-targeting"]) == ["ctrl"]
    for perturbation in screen.true_log2_fc.index:
        expected = perturbation if "+" in perturbation else f"{perturbation}+ctrl"
        assert list(named[perturbation]) == [expected]
    assert sum("+" in name for name in screen.true_log2_fc.index) == 3
    assert screen.failed_guides
    assert set(screen.failed_guides) <= set(screen.obs["guide"])
    assert (screen.obs["condition"] == "ctrl").sum() == 300
