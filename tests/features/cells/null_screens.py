"""Screens of which nothing, or a known tenth of the genes, changes, with what is taken for effects: batches, depth, clones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.features.cells.labels import DOWN, UP
from core.features.cells.screen import LabelSettings, ScreenLabels, label_screen
from core.features.cells.simulator import SimulatedScreen
from tests.features.cells.cases import write_screen
from tests.features.cells.truth import truth_of


@dataclass(frozen=True)
class NullScreen:
    """cells: of a perturbation; control: cells. batch_sd, guide_sd: of the natural log of a gene's expression between batches and
    guides (clones), of the controls as well. alone: each perturbation is in a batch of its own; mixed: shares of batches differ
    between perturbations; depth: of perturbed cells, relative to the controls'. changed: the share of genes that a perturbation
    changes, by a factor of `fold` up or down."""

    cells: int = 90
    control: int = 450
    genes: int = 500
    perturbations: int = 27
    guides: int = 3
    control_guides: int = 6
    batches: int = 3
    batch_sd: float = 0.0
    guide_sd: float = 0.0
    alone: bool = False
    stray: int = 0
    mixed: bool = False
    depth: float = 1.0
    changed: float = 0.0
    fold: float = 2.0


def simulate_null(settings: NullScreen, seed: int) -> SimulatedScreen:
    """Return a screen, with the log2 of its true fold changes: 0 where nothing changes."""
    rng = np.random.default_rng(seed)
    n_perts, n_genes = settings.perturbations, settings.genes
    genes = tuple(f"G{i:04d}" for i in range(n_genes))
    targets = sorted(rng.choice(n_genes, n_perts, replace=False).tolist())
    baseline = rng.lognormal(0, 1.2, n_genes)
    effect = np.where(rng.random((n_perts, n_genes)) < settings.changed, np.log(settings.fold), 0.0)
    effect *= rng.choice([-1, 1], effect.shape)
    pert = np.concatenate(
        [np.full(settings.control, -1), np.repeat(np.arange(n_perts), settings.cells)]
    )
    n_guides = np.where(pert < 0, settings.control_guides, settings.guides)
    guide = (rng.random(len(pert)) * n_guides).astype(int)
    batch = _draw_batches(settings, pert, rng)
    of_batch = rng.normal(0, settings.batch_sd, (batch.max() + 1, n_genes))
    of_guide = rng.normal(
        0, settings.guide_sd, (n_perts + 1, max(settings.guides, settings.control_guides), n_genes)
    )
    log_mean = (
        np.vstack([effect, np.zeros(n_genes)])[pert] + of_batch[batch] + of_guide[pert, guide]
    )
    mean = baseline * np.exp(log_mean)
    depth = (
        rng.lognormal(np.log(2.0 * n_genes), 0.35, (len(pert), 1))
        * np.where(pert < 0, 1.0, settings.depth)[:, None]
    )
    mean *= depth / mean.sum(axis=1, keepdims=True)
    counts = csr_matrix(rng.poisson(mean * rng.gamma(1 / 0.15, 0.15, mean.shape)).astype(np.int32))
    names = np.array([*(genes[i] for i in targets), "non-targeting"], dtype=object)[pert]
    obs = pd.DataFrame(
        {
            "perturbation": pd.Categorical(names),
            "guide": pd.Categorical(
                [f"{name}_{i}" for name, i in zip(names, guide.tolist(), strict=True)]
            ),
            "batch": pd.Categorical([f"b{i}" for i in batch.tolist()]),
        },
        index=[f"cell{i}" for i in range(len(pert))],
    )
    truth = pd.DataFrame(effect / np.log(2), index=[genes[i] for i in targets], columns=list(genes))
    return SimulatedScreen(counts, genes, obs, truth, ())


def _draw_batches(settings: NullScreen, pert: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if settings.alone:
        batch = pert + 1
        for i in range(settings.perturbations):  # cells that stray into the controls' batch
            batch[np.flatnonzero(pert == i)[: settings.stray]] = 0
        return batch
    if not settings.mixed:
        return rng.integers(settings.batches, size=len(pert))
    shares = rng.dirichlet(np.ones(settings.batches), settings.perturbations + 1)
    return np.array([rng.choice(settings.batches, p=shares[i]) for i in pert.tolist()])


@dataclass(frozen=True)
class Found:
    """effects: labels up or down; false: of genes without an effect; found: of true_effects; perturbations: with a false one."""

    effects: int
    false: int
    found: int
    true_effects: int
    perturbations: float
    confounded: int
    marked: bool
    labels: ScreenLabels | None


def label_null(folder: Path, settings: NullScreen, seed: int, labelled: LabelSettings) -> Found:
    """Labels a screen; a perturbation's own target is not counted. A screen that is refused as confounded has no effects."""
    screen = simulate_null(settings, seed)
    path = folder / "null.h5ad"
    write_screen(screen, path)
    try:
        labels = label_screen(path, labelled, lambda _: None)
    except InputError as error:
        if "no row is left" not in str(error) and "shares values of batch" not in str(error):
            raise
        confounded = settings.perturbations if "shares values of batch" in str(error) else 0
        return Found(0, 0, 0, 0, 0.0, confounded, False, None)
    truth, own = truth_of(screen, labels)
    called = np.isin(labels.codes, (UP, DOWN)) & ~own
    false = called & (truth == 0)
    return Found(
        int(called.sum()),
        int(false.sum()),
        int((called & (np.sign(truth) == labels.codes)).sum()),
        int(((truth != 0) & ~own).sum()),
        float(false.any(axis=1).mean()),
        len(labels.groups.confounded),
        labels.calibration.marked,
        labels,
    )
