"""Data sets whose true score is known, with rows that share perturbations and genes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from core.stats.arrays import Floats
from core.stats.scores_and_labels import Scores, scores_from_probabilities

SIGNAL_DE, SIGNAL_DIR = 0.45, 0.6


@dataclass(frozen=True)
class Simulated:
    """Labels (up, down, none in the challenge's shares), one run's scores, codes of both axes, and its true mean."""

    labels: np.ndarray
    scores: Scores
    pert: np.ndarray
    gene: np.ndarray
    truth: float


@dataclass(frozen=True)
class Design:
    """How many perturbations, genes and rows there are, each row another pair, and how far both axes move scores."""

    perts: int
    genes: int
    rows: int
    pert_spread: float = 0.0
    gene_spread: float = 0.0


def simulated(
    rng: np.random.Generator, rows: int, pert_spread: float = 0.0, gene_spread: float = 0.0
) -> Simulated:
    """About 6 rows per perturbation and 5 per gene, crossed at random, as in the pool of numbers.md."""
    pert, gene = rng.integers(0, rows // 6, rows), rng.integers(0, rows // 5, rows)
    return _scored(rng, pert, gene, pert_spread, gene_spread)


def simulated_design(rng: np.random.Generator, design: Design) -> Simulated:
    """Rows of a design: pairs of a perturbation and a gene, drawn without replacement."""
    pairs = rng.choice(design.perts * design.genes, design.rows, replace=False)
    return _scored(
        rng, pairs // design.genes, pairs % design.genes, design.pert_spread, design.gene_spread
    )


def _scored(
    rng: np.random.Generator,
    pert: np.ndarray,
    gene: np.ndarray,
    pert_spread: float,
    gene_spread: float,
) -> Simulated:
    """Labels and scores of rows that share perturbations and genes.

    A perturbation (or gene) moves the scores of its rows by normal effects of standard deviation `spread`: one that all
    its rows share, and one that its positive rows share (a signal that is stronger in some perturbations). A positive
    score is then normal around the signal, a negative one around 0, and their difference has variance
    2 (1 + p² + g²) + p² + g² for spreads p and g, so that the true AUROC is Φ(signal / its root).
    """
    rows = len(pert)
    labels = rng.choice(["up", "down", "none"], rows, p=[0.306, 0.141, 0.553])
    total = pert_spread**2 + gene_spread**2
    width = np.sqrt(2 * (1 + total) + total)

    def score(positive: np.ndarray, signal: float) -> np.ndarray:
        values = rng.normal(size=rows) + signal * positive
        for codes, spread in ((pert, pert_spread), (gene, gene_spread)):
            shift, gain = spread * rng.normal(size=(2, codes.max() + 1))
            values += shift[codes] + gain[codes] * positive
        return values

    scores = scores_from_probabilities(
        score(labels != "none", SIGNAL_DE), score(labels == "up", SIGNAL_DIR)
    )
    truth = (ndtr(SIGNAL_DE / width) + ndtr(SIGNAL_DIR / width)) / 2
    return Simulated(labels, scores, pert, gene, float(truth))


@dataclass(frozen=True)
class Pair:
    """Labels, two runs that rank them equally well and are alike, codes of both axes, and their true AUROCs.

    auroc: over all pairs of rows, of DE and of DIR. within: inside genes, which share what moves their scores.
    """

    labels: np.ndarray
    runs: tuple[Scores, Scores]
    pert: np.ndarray
    gene: np.ndarray
    auroc: float
    within: float


def simulated_pair(rng: np.random.Generator, design: Design, auroc: float) -> Pair:
    """Two runs of a design with a true AUROC, that share 60% of the variance of all that moves their scores."""
    pairs = rng.choice(design.perts * design.genes, design.rows, replace=False)
    pert, gene = pairs // design.genes, pairs % design.genes
    labels = rng.choice(
        np.array(["up", "down", "none"], dtype=object), design.rows, p=[0.306, 0.141, 0.553]
    )
    total = design.pert_spread**2 + design.gene_spread**2
    width = np.sqrt(
        2 * (1 + total) + total
    )  # of the difference of a positive and a negative score, as in `_scored`
    sides = [
        _alike(rng, design, (pert, gene), positive, ndtri(auroc) * width)
        for positive in (labels != "none", labels == "up")
    ]
    a, b = (scores_from_probabilities(de, up) for de, up in zip(*sides, strict=True))
    of_genes = np.sqrt(2 + 3 * design.pert_spread**2 + design.gene_spread**2)
    return Pair(labels, (a, b), pert, gene, auroc, float(ndtr(ndtri(auroc) * width / of_genes)))


def _alike(
    rng: np.random.Generator,
    design: Design,
    codes: tuple[np.ndarray, np.ndarray],
    positive: np.ndarray,
    signal: float,
) -> list[Floats]:
    """The scores of two runs: `signal` for positives, noise of rows, and what perturbations and genes add, 60% of it shared."""

    def two(size: tuple[int, ...]) -> list[Floats]:
        shared = rng.normal(size=size)
        return [np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=size) for _ in range(2)]

    found = [noise + signal * positive for noise in two((design.rows,))]
    for of_row, n, spread in zip(
        codes, (design.perts, design.genes), (design.pert_spread, design.gene_spread), strict=True
    ):
        for values, (shift, gain) in zip(found, two((2, n)), strict=True):
            values += spread * (shift[of_row] + gain[of_row] * positive)
    return found
