"""Simulated screens with spaces and runs that have seen their labels, and with some that have not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from core.features.leakage.inputs import reveal_by_scores
from core.stats.arrays import Codes, Floats
from core.stats.scores_and_labels import Scores, outcome_of
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space

TRAITS = 4  # hidden numbers of a gene that meet those of a perturbation


@dataclass(frozen=True)
class Design:
    """How many perturbations and genes there are, and rows of each perturbation; matched: as many rows without an effect as
    with one for each gene, as in the challenge. traits: how strongly what is hidden makes pairs differ."""

    perts: int
    genes: int
    rows: int
    matched: bool = False
    traits: float = 0.5


@dataclass(frozen=True)
class Screen:
    """Labels (up, down, none) and codes of shape (n_rows,); gene, pert: what is true of each, of shape (n, 2 + TRAITS).

    The first two columns are how prone it is to an effect, and to go up; the others are its traits.
    """

    labels: np.ndarray
    pert: Codes
    gene: Codes
    of_pert: Floats
    of_gene: Floats
    chance: Floats = field(default_factory=lambda: np.empty(0))

    def take(self, rows: np.ndarray) -> Screen:
        """The same screen with its rows chosen, or in another order."""
        return replace(self, labels=self.labels[rows], pert=self.pert[rows], gene=self.gene[rows])

    @property
    def index(self) -> RowIndex:
        names = [f"{p}_{g}" for p, g in zip(self.pert, self.gene, strict=True)]
        return RowIndex.build(
            names, [f"P{p:04}" for p in self.pert], [f"G{g:04}" for g in self.gene], self.labels
        )

    def space(self, of_genes: Floats | None, of_perts: Floats | None) -> Space:
        """A space over the index's symbols; None: without vectors of that axis."""
        width = next(each.shape[1] for each in (of_genes, of_perts) if each is not None)
        columns = np.full((len(self.index.symbols), width), np.nan)
        for row, symbol in enumerate(self.index.symbols):
            vectors = of_genes if symbol[0] == "G" else of_perts
            if vectors is not None:
                columns[row] = vectors[int(symbol[1:])]
        return Space("space", columns)


def simulate(rng: np.random.Generator, design: Design) -> Screen:
    """Effects and directions by logistic models: what is true of the gene, of the perturbation, and the product of traits."""
    of_pert, of_gene = (
        rng.normal(size=(design.perts, 2 + TRAITS)),
        rng.normal(size=(design.genes, 2 + TRAITS)),
    )
    pert = np.repeat(np.arange(design.perts), design.rows)
    gene = np.concatenate(
        [rng.choice(design.genes, design.rows, replace=False) for _ in range(design.perts)]
    )
    product = design.traits * (of_pert[pert, 2:] * of_gene[gene, 2:]).sum(axis=1)
    chance = _logistic(-0.5 + of_gene[gene, 0] + 0.7 * of_pert[pert, 0] + product)
    effect = rng.random(len(pert)) < chance
    up = rng.random(len(pert)) < _logistic(
        0.5 + 1.3 * of_gene[gene, 1] + 0.7 * of_pert[pert, 1] + product
    )
    labels = np.where(effect, np.where(up, "up", "down"), "none").astype(object)
    kept = _matched(rng, effect, gene) if design.matched else np.ones(len(pert), dtype=np.bool_)
    return Screen(labels[kept], pert[kept], gene[kept], of_pert, of_gene, chance[kept])


def honest_spaces(rng: np.random.Generator, screen: Screen) -> Iterator[tuple[str, Space]]:
    """Spaces that have not seen a label: of noise, of what is true with much and with no noise, sparse, and in families."""
    genes, perts = screen.of_gene, screen.of_pert
    yield (
        "random",
        screen.space(rng.normal(size=(len(genes), 32)), rng.normal(size=(len(perts), 32))),
    )
    turned = rng.normal(size=(2 + TRAITS, 32))
    for name, noise in (("weak", 3.0), ("good", 1.0)):
        yield (
            name,
            screen.space(
                *(
                    each @ turned + noise * 2.5 * rng.normal(size=(len(each), 32))
                    for each in (genes, perts)
                )
            ),
        )
    yield (
        "true rates",
        screen.space(
            *(np.hstack([each[:, :2], rng.normal(size=(len(each), 14))]) for each in (genes, perts))
        ),
    )
    words = rng.random((2, 100)) < 0.1
    yield (
        "sparse",
        screen.space(
            *((rng.random((len(each), 100)) < 0.05) * (1.0 + words[0]) for each in (genes, perts))
        ),
    )
    families = rng.normal(size=(12, 32))
    near = [
        families[np.argmax(each[:, :2] @ rng.normal(size=(2, 12)), axis=1)]
        for each in (genes, perts)
    ]
    yield "families", screen.space(*(each + 0.3 * rng.normal(size=each.shape) for each in near))


def leaking_spaces(rng: np.random.Generator, screen: Screen) -> Iterator[tuple[str, Space]]:
    """Spaces that were made from the labels."""
    signs = np.select([screen.labels == "up", screen.labels == "down"], [1.0, -1.0], 0.0)
    matrix = np.zeros((len(screen.of_gene), len(screen.of_pert)))
    matrix[screen.gene, screen.pert] = signs
    yield (
        "label shares",
        screen.space(
            np.hstack([label_shares(screen, screen.gene), rng.normal(size=(len(matrix), 30))]), None
        ),
    )
    shares = np.hstack([label_shares(screen, screen.pert), rng.normal(size=(matrix.shape[1], 30))])
    yield "shares of perturbations", screen.space(None, shares)
    yield "gene x perturbation", screen.space(matrix + 0.5 * rng.normal(size=matrix.shape), None)
    yield "perturbation x gene", screen.space(None, matrix.T)


def label_shares(screen: Screen, unit: Codes) -> Floats:
    """The shares of effects, and of up among directions, of every unit, of shape (n_units, 2); 0 without a row."""
    outcome, n = outcome_of(screen.labels), int(unit.max()) + 1
    pairs = ((outcome.labelled, outcome.effect), (outcome.directed, outcome.up))
    counted = [
        (np.bincount(unit[rows], hit[rows], n), np.bincount(unit[rows], minlength=n))
        for rows, hit in pairs
    ]
    return np.stack([hits / np.maximum(rows, 1) for hits, rows in counted], axis=1)


def honest_runs(rng: np.random.Generator, screen: Screen) -> Iterator[tuple[str, Scores]]:
    """Runs that have not seen the labels of their rows: noise, means over other rows, a model that knows something."""
    outcome, n = outcome_of(screen.labels), len(screen.labels)
    yield "noise", Scores(rng.random(n), rng.random(n))
    means = {
        name: [
            _mean_of_others(hit, rows, unit)
            for rows, hit in ((outcome.labelled, outcome.effect), (outcome.directed, outcome.up))
        ]
        for name, unit in (("gene mean", screen.gene), ("perturbation mean", screen.pert))
    }
    for name, (de, up) in means.items():
        yield name, Scores(de, up)
    both = [a + b for a, b in zip(*means.values(), strict=True)]
    yield "both means", Scores(both[0], both[1])
    model = screen.chance + 0.6 * rng.normal(size=n)
    yield "model", Scores(model, rng.random(n))


def leaking_runs(rng: np.random.Generator, screen: Screen) -> Iterator[tuple[str, Scores]]:
    """Runs that have: noisy oracles both ways, and some that know a part of the rows."""
    outcome, n = outcome_of(screen.labels), len(screen.labels)
    de, up = outcome.effect.astype(np.float64), outcome.up.astype(np.float64)
    yield "noisy oracle", Scores(de + 0.6 * rng.normal(size=n), up + 0.6 * rng.normal(size=n))
    yield "inverted labels", Scores(0.1 * rng.normal(size=n) - de, 0.1 * rng.normal(size=n) - up)
    known = rng.random(n) < 0.4
    yield (
        "some rows",
        Scores(
            *(
                np.where(known, 0.35 + 0.2 * hit + 0.1 * rng.random(n), rng.random(n))
                for hit in (de, up)
            )
        ),
    )
    some = screen.pert % 3 == 0
    yield (
        "some perturbations",
        Scores(*(np.where(some, hit + 0.01 * rng.random(n), rng.random(n)) for hit in (de, up))),
    )


WORDS = [
    "binds",
    "kinase",
    "nucleus",
    "membrane",
    "repairs",
    "transports",
    "protein",
    "factor",
    "unknown",
    "channel",
]


def honest_texts(rng: np.random.Generator, screen: Screen) -> dict[str, str]:
    """A few words on every gene, of which one goes along with its true rate."""
    responsive = screen.of_gene[:, 0] > 0.5
    return {
        f"G{gene:04}": " ".join(
            [*rng.choice(WORDS, 4), *(["responsive"] if responsive[gene] else [])]
        )
        for gene in range(len(screen.of_gene))
    }


def leaking_texts(rng: np.random.Generator, screen: Screen) -> Iterator[tuple[str, dict[str, str]]]:
    """Texts that give shares away: by a word, a number, repeated sentences, and the pairs by an
    entry that a perturbation's text shares with those of the genes that it moves."""
    honest, share = honest_texts(rng, screen), label_shares(screen, screen.gene)[:, 0]
    genes = {name: int(name[1:]) for name in honest}
    yield (
        "a word",
        {name: f"{honest[name]} group{int(25 * share[gene])}" for name, gene in genes.items()},
    )
    yield "a number", {name: f"{honest[name]} of {share[gene]:.3f}" for name, gene in genes.items()}
    again = ". It is described elsewhere."
    yield (
        "repeats",
        {name: honest[name] + again * round(20 * share[gene]) for name, gene in genes.items()},
    )
    entries = {name: [text] for name, text in honest.items()}
    for pert in range(len(screen.of_pert)):
        moved = screen.gene[(screen.pert == pert) & (screen.labels != "none")]
        for name in (f"P{pert:04}", *(f"G{gene:04}" for gene in moved)):
            entries.setdefault(name, ["a gene"]).append(f"set{pert:04}")
    yield "shared entries", {name: "\n".join(lines) for name, lines in entries.items()}


def orders(rng: np.random.Generator, screen: Screen) -> Iterator[tuple[str, np.ndarray]]:
    """Orders of the rows that follow their labels: within perturbations, and in turns of eleven."""
    effect = screen.labels != "none"
    yield "sorted", np.lexsort((rng.random(len(effect)), effect, screen.pert))
    hits, others = (list(rng.permutation(np.flatnonzero(each))) for each in (effect, ~effect))
    turns = []
    while hits or others:
        wanted = hits if len(turns) % 11 < 5 else others
        turns.append((wanted or hits or others).pop())
    yield "in turns", np.array(turns)


def checked_run(screen: Screen, scores: Scores) -> dict[str, str]:
    """What the probe says that a run has seen, by question."""
    index = screen.index
    return {
        question: probe.tail
        for asked, values in (("DE", scores.p_de), ("DIR", scores.p_up))
        for question, probe in reveal_by_scores(index, {"run": values})
        if question == asked
    }


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


def _matched(rng: np.random.Generator, effect: np.ndarray, gene: Codes) -> np.ndarray:
    """Flags of the rows with an effect, and of as many others of the same gene as there are."""
    kept = effect.copy()
    for each in np.unique(gene):
        others = np.flatnonzero((gene == each) & ~effect)
        wanted = int((effect & (gene == each)).sum())
        kept[rng.permutation(others)[:wanted]] = True
    return kept


def _mean_of_others(hit: np.ndarray, rows: np.ndarray, unit: Codes) -> Floats:
    """The share of hits among the other rows of each row's unit; the share of all rows for one without others."""
    n = int(unit.max()) + 1
    counts = np.bincount(unit[rows], minlength=n)[unit] - rows
    hits = np.bincount(unit[rows], hit[rows], n)[unit] - hit * rows
    return np.divide(hits, counts, out=np.full(len(unit), hit[rows].mean()), where=counts > 0)
