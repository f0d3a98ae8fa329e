"""The world behind the simulated demo: invented genes, programs, effects, and the challenge's way of sampling rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Program:
    """Genes that move together; `lean` is how perturbations move them on average, None if nothing does."""

    name: str
    terms: tuple[str, str, str]
    lean: float | None = None
    expected: Literal["up", "down"] | None = None


PROGRAMS = (
    Program("stress relay", ("unfolded load sensing", "relay kinase signalling", "repair factor induction"), 1.2, "up"),
    Program("damage checkpoint", ("strand break sensing", "checkpoint arrest", "repair licensing"), 1.1, "up"),
    Program("antiviral alarm", ("foreign RNA sensing", "alarm factor signalling", "antiviral state"), 0.8),
    Program("cytokine burst", ("burst signalling", "chemoattractant release", "acute response"), 0.7),
    Program("lipid handling", ("sterol uptake", "lipid droplet turnover", "fatty acid transfer"), 0.7),
    Program("membrane traffic", ("vesicle budding", "endosomal sorting", "cargo recycling"), 0.6),
    Program("matrix contact", ("adhesion assembly", "matrix remodelling", "edge protrusion"), 0.7),
    Program("antigen display", ("peptide loading", "display complex assembly", "surface presentation"), 0.5),
    Program("cell metabolism", ("electron transfer", "carbon flux control", "cofactor recycling"), 0.3),
    Program("ribosome assembly", ("subunit processing", "pre-rRNA folding", "subunit export"), -0.1, "down"),
    Program("division cycle", ("spindle loading", "origin licensing", "mitotic exit"), -0.1, "down"),
    Program("neural remnant", ("synapse tethering", "axon guidance", "transmitter storage")),
    Program("germline remnant", ("gamete packaging", "sperm motility", "oocyte polarity")),
    Program("sensory remnant", ("odour binding", "taste transduction", "hair bundle upkeep")),
)
MOVING = np.array([index for index, program in enumerate(PROGRAMS) if program.lean is not None])
QUIET = np.array([index for index, program in enumerate(PROGRAMS) if program.lean is None])


@dataclass(frozen=True, slots=True)
class SplitSize:
    """How one split is sampled: perturbations, genes that can respond, rows that changed, rows in all."""

    split: str
    perts: int
    responsive: int
    changed: int
    rows: int


# The challenge's proportions (44% changed; every changed row matched by one of its gene that did not; the rest single
# rows) on about 400 perturbations.
SIZES = (SplitSize("train", 324, 520, 3_400, 7_700), SplitSize("test", 76, 220, 795, 1_800))
PERTS_AMONG_TARGETS = 25  # training perturbations that are training targets too
WIDTH = 64
UNCOVERED = 0.05
FOLDS = 5  # perturbations and genes are each cut in so many parts
CLONES_AMONG = {"responsive": 0.06, "single": 0.35}


@dataclass(frozen=True, slots=True)
class SplitSymbols:
    """Indices of a split's symbols: perturbations, genes that can respond, genes for single rows."""

    perts: Ints
    genes: Ints
    singles: Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """Sampled rows of one split: indices of perturbation and gene into the symbols; sign is +1 up, −1 down, 0 none."""

    pert: Ints
    gene: Ints
    sign: Ints


@dataclass(frozen=True, slots=True)
class World:
    """Everything that is true in the simulation.

    symbols: n invented symbols; perts: their indices per split; clone, program: shape (n,), uncharacterised, index into
    PROGRAMS; effect: shape (n, programs), how a perturbation moves each program (0 for genes that are never perturbed);
    embedding: shape (n, 64), covered: shape (n,).
    """

    symbols: tuple[str, ...]
    perts: dict[str, Ints]
    clone: NDArray[np.bool_]
    program: Ints
    effect: Floats
    embedding: NDArray[np.float32]
    covered: NDArray[np.bool_]
    rows: dict[str, Rows]


@dataclass(frozen=True, slots=True)
class LabelTotals:
    """The labelled rows that tools may see, counted per perturbation: n, up, down of shape (symbols,)."""

    name: str
    n: Ints
    up: Ints
    down: Ints


@dataclass(frozen=True, slots=True)
class VisibleLabels:
    """The labels that the tools of each row may see. of_row: which of `views`, of shape (rows,)."""

    views: tuple[LabelTotals, ...]
    of_row: Ints


def build_world(rng: np.random.Generator) -> World:
    """Draw a world: symbols, the effects of perturbations, and the rows that a challenge would sample from it."""
    symbols_of = _assign_symbols()
    n = 1 + max(int(symbols.singles[-1]) for symbols in symbols_of.values())
    perturbed = np.concatenate([symbols.perts for symbols in symbols_of.values()])
    quiet = np.isin(np.arange(n), np.concatenate([symbols.singles for symbols in symbols_of.values()]))
    program = np.where(quiet, _repeat_evenly(QUIET, n, rng), _repeat_evenly(MOVING, n, rng))
    loadings = _loadings(program, quiet, rng)
    effect = _effects(loadings, perturbed, rng)
    rows = {size.split: _sample_rows(size, symbols_of[size.split], effect, loadings, rng) for size in SIZES}
    clone = rng.random(n) < np.where(quiet, CLONES_AMONG["single"], CLONES_AMONG["responsive"])
    clone[perturbed] = False
    return World(
        symbols=_symbols(clone, rng),
        perts={split: symbols.perts for split, symbols in symbols_of.items()},
        clone=clone,
        program=program,
        effect=effect,
        embedding=_embedding(loadings, rng),
        covered=rng.random(n) >= UNCOVERED,
        rows=rows,
    )


def _repeat_evenly(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Return n values, each of `values` as often as any other, in random order."""
    return rng.permutation(np.resize(values, n))


def _assign_symbols() -> dict[str, SplitSymbols]:
    """Return the symbols of each split; one for a single row may go unused, since a gene lacks at most one match."""
    symbols_of: dict[str, SplitSymbols] = {}
    n = 0
    for size in SIZES:
        shared = PERTS_AMONG_TARGETS if size.split == "train" else 0
        room = size.rows - 2 * size.changed + size.responsive
        bounds = np.cumsum([n, size.perts, size.responsive - shared, room]).tolist()
        perts, responsive, singles = (np.arange(start, stop) for start, stop in pairwise(bounds))
        symbols_of[size.split] = SplitSymbols(perts, np.concatenate([perts[:shared], responsive]), singles)
        n = bounds[-1]
    return symbols_of


def _symbols(clone: NDArray[np.bool_], rng: np.random.Generator) -> tuple[str, ...]:
    """Return distinct symbols that exist nowhere: Sim + syllables + perhaps a digit, and clones numbered from 00000."""
    unfortunate = {"ki", "ke"}  # these two end up in slurs
    syllables = [c + v for c, v in product("bdklmnrstv", "aeiou") if c + v not in unfortunate]
    names = [first + second + digit for first, second, digit in product(syllables, syllables, ["", *"123456789"])]
    clones = [f"00000{a:02d}{b}{c:02d}Rik" for a, b, c in product(range(100), "ABCDEFGHIJKLMNOP", range(1, 25))]
    named = iter(rng.choice(len(names), len(clone), replace=False).tolist())
    provisional = iter(rng.choice(len(clones), len(clone), replace=False).tolist())
    return tuple(clones[next(provisional)] if is_clone else "Sim" + names[next(named)] for is_clone in clone.tolist())


def _loadings(program: Ints, quiet: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Return shape (n, programs): each symbol's part in each program, mostly in its own."""
    loadings = 0.15 * rng.standard_normal((len(program), len(PROGRAMS)))
    second = np.where(quiet, rng.choice(QUIET, len(program)), rng.choice(MOVING, len(program)))
    np.add.at(loadings, (np.arange(len(program)), second), 0.4 * rng.random(len(program)))
    np.add.at(loadings, (np.arange(len(program)), program), 1.0)
    return loadings


def _effects(loadings: Floats, perts: Ints, rng: np.random.Generator) -> Floats:
    """Shape (n, programs): perturbations with the same parts move the same programs, mostly in the direction of their `lean`."""
    lean = np.array([program.lean or 0.0 for program in PROGRAMS])
    wiring = 0.5 * rng.standard_normal((len(PROGRAMS), len(PROGRAMS)))
    wiring -= wiring[MOVING].mean(axis=0)  # so that only `lean` moves a program on average
    drawn = lean + loadings[perts] @ wiring + 0.9 * rng.standard_normal((len(perts), len(PROGRAMS)))
    drawn[:, QUIET] = 0.0
    effect = np.zeros_like(loadings)
    effect[perts] = drawn
    return effect


def _sample_rows(size: SplitSize, symbols: SplitSymbols, effect: Floats, loadings: Floats, rng: np.random.Generator) -> Rows:
    """Return the challenge's sampling: changed rows per perturbation, matched rows per gene, then single-row genes."""
    perts, genes = symbols.perts, symbols.genes
    itself = perts[:, None] == genes  # no row is about a gene's own perturbation
    shift = effect[perts] @ loadings[genes].T + 2.0 * rng.standard_normal(itself.shape)
    shift *= np.exp(0.7 * rng.standard_normal(len(genes))) * ~itself  # some genes answer to much, many to little
    share = rng.uniform(0.06, 0.25, len(perts))  # of the genes that a perturbation changes
    changed = _rank(-np.abs(shift), axis=1) < (share * len(genes))[:, None]
    seen = _pick_positives(changed, size.changed, rng)
    matched = _pick_negatives(~changed & ~itself, seen.sum(axis=0), rng)
    pert, gene = np.nonzero(seen | matched)
    n_single = size.rows - len(pert)
    sign = np.where(seen[pert, gene], np.sign(shift[pert, gene]), 0).astype(np.int64)
    mix = rng.permutation(size.rows)
    return Rows(
        pert=np.concatenate([perts[pert], _repeat_evenly(perts, n_single, rng)])[mix],
        gene=np.concatenate([genes[gene], symbols.singles[:n_single]])[mix],
        sign=np.concatenate([sign, np.zeros(n_single, np.int64)])[mix],
    )


def _pick_positives(changed: NDArray[np.bool_], total: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose `total` changed cells, spread evenly over perturbations (rows)."""
    keys = np.where(changed, rng.random(changed.shape), np.inf)
    wanted = np.full(len(changed), total // len(changed))
    wanted[: total % len(changed)] += 1
    return changed & (_rank(keys, axis=1) < wanted[:, None])


def _pick_negatives(unchanged: NDArray[np.bool_], positives: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose as many unchanged cells per gene (column) as it has positives; a few genes lack one."""
    wanted = positives - (rng.random(len(positives)) < 0.04) * (positives > 1)
    keys = np.where(unchanged, rng.random(unchanged.shape), np.inf)
    return unchanged & (_rank(keys, axis=0) < wanted)


def _rank(keys: Floats, axis: int) -> Ints:
    """Return each cell's place (from 0) along an axis, smallest key first."""
    return np.argsort(np.argsort(keys, axis=axis), axis=axis)


def _embedding(loadings: Floats, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return shape (n, 64): each program's direction in proportion to its loading, under noise."""
    directions = rng.standard_normal((len(PROGRAMS), WIDTH)) / np.sqrt(WIDTH)
    noise = rng.standard_normal((len(loadings), WIDTH)) / np.sqrt(WIDTH)
    embedding: NDArray[np.float32] = (loadings @ directions + noise).astype(np.float32)
    return embedding


def all_labels(rows: Rows, n_symbols: int, n_rows: int) -> VisibleLabels:
    """Return all training labels are visible to each of `n_rows` rows of the test split."""
    return VisibleLabels((_total_labels("train", rows, n_symbols),), np.zeros(n_rows, np.int64))


def blinded_labels(rows: Rows, chosen: Ints, n_symbols: int, rng: np.random.Generator) -> VisibleLabels:
    """Return the labels visible to the rows `chosen` of the training split: one view per fold.

    A view lacks every row that shares a perturbation or a gene with a chosen row of its fold.
    """
    part = rng.integers(FOLDS, size=(2, n_symbols))
    cells = part[0, rows.pert[chosen]] * FOLDS + part[1, rows.gene[chosen]]
    views = []
    for cell in range(FOLDS * FOLDS):
        in_cell = chosen[cells == cell]
        seen = ~np.isin(rows.pert, rows.pert[in_cell]) & ~np.isin(rows.gene, rows.gene[in_cell])
        unrelated = Rows(rows.pert[seen], rows.gene[seen], rows.sign[seen])
        views.append(_total_labels(f"train without fold {cell // FOLDS + 1}.{cell % FOLDS + 1}", unrelated, n_symbols))
    return VisibleLabels(tuple(views), cells)


def _total_labels(name: str, rows: Rows, n_symbols: int) -> LabelTotals:
    n, up, down = (np.bincount(rows.pert[of_sign], minlength=n_symbols) for of_sign in (..., rows.sign > 0, rows.sign < 0))
    return LabelTotals(name, n, up, down)
