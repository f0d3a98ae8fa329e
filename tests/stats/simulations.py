"""Data sets whose true score is known, with rows that share perturbations and genes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

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


def simulated(rng: np.random.Generator, rows: int, pert_spread: float = 0.0, gene_spread: float = 0.0) -> Simulated:
    """About 6 rows per perturbation and 5 per gene, crossed at random, as in the pool of numbers.md."""
    pert, gene = rng.integers(0, rows // 6, rows), rng.integers(0, rows // 5, rows)
    return _scored(rng, pert, gene, pert_spread, gene_spread)


def simulated_design(rng: np.random.Generator, design: Design) -> Simulated:
    """Rows of a design: pairs of a perturbation and a gene, drawn without replacement."""
    pairs = rng.choice(design.perts * design.genes, design.rows, replace=False)
    return _scored(rng, pairs // design.genes, pairs % design.genes, design.pert_spread, design.gene_spread)


def _scored(rng: np.random.Generator, pert: np.ndarray, gene: np.ndarray, pert_spread: float, gene_spread: float) -> Simulated:
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

    scores = scores_from_probabilities(score(labels != "none", SIGNAL_DE), score(labels == "up", SIGNAL_DIR))
    truth = (ndtr(SIGNAL_DE / width) + ndtr(SIGNAL_DIR / width)) / 2
    return Simulated(labels, scores, pert, gene, float(truth))
