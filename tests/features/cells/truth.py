"""What the calls of a simulated screen are worth, measured against its truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.features.cells.labels import DOWN, UP
from core.features.cells.screen import LabelSettings, ScreenLabels, label_screen
from core.features.cells.simulator import ScreenSettings, SimulatedScreen, simulate_screen
from tests.features.cells.cases import write_screen

MEASURED = ScreenSettings(n_cells=4_000, n_genes=500, n_perturbations=40)


@dataclass(frozen=True)
class Calls:
    """significant: pairs with FDR < 5%; called: up or down; each with how many of them are false: the gene does not
    change. reversed: called in the wrong direction. large: pairs that truly change 1.5-fold or more; found: those of
    them that are called."""

    significant: int
    false_significant: int
    called: int
    false_called: int
    reversed: int
    large: int
    found: int


def measure_calls(folder: Path, settings: ScreenSettings, seed: int) -> Calls:
    screen = simulate_screen(settings, seed)
    write_screen(screen, folder / f"screen{seed}.h5ad")
    labels = label_screen(folder / f"screen{seed}.h5ad", LabelSettings(), lambda _: None)
    return calls_of(screen, labels)


def calls_of(screen: SimulatedScreen, labels: ScreenLabels) -> Calls:
    """A perturbation's own target is not counted: that it falls is no discovery."""
    truth, own = truth_of(screen, labels)
    significant = (labels.changes.fdr < 0.05) & ~own
    called = np.isin(labels.codes, (UP, DOWN)) & ~own
    large = (np.abs(truth) >= np.log2(1.5)) & ~own
    unchanged = truth == 0
    return Calls(
        significant=int(significant.sum()),
        false_significant=int((significant & unchanged).sum()),
        called=int(called.sum()),
        false_called=int((called & unchanged).sum()),
        reversed=int((called & ~unchanged & (np.sign(truth) != labels.codes)).sum()),
        large=int(large.sum()),
        found=int((large & called).sum()),
    )


def truth_of(screen: SimulatedScreen, labels: ScreenLabels) -> tuple[np.ndarray, np.ndarray]:
    """The true log2 fold change of each pair, and whether it is of the target itself."""
    truth = screen.true_log2_fc.loc[list(labels.groups.targets)].to_numpy()
    own = np.array([[gene == target for gene in labels.genes] for target in labels.groups.targets])
    return truth, own
