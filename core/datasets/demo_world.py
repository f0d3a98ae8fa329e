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
    """Genes that move together; `lean` is how perturbations move them on average, None where nothing does."""

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
class Size:
    """How one split is sampled: perturbations, genes that can respond, rows that changed, rows in all."""

    split: str
    perts: int
    responsive: int
    changed: int
    rows: int


# The challenge's proportions (44% changed; every changed row matched by one of its gene that did not; the rest single
# rows) on about 400 perturbations.
SIZES = (Size("train", 324, 520, 3_400, 7_700), Size("test", 76, 220, 795, 1_800))
BOTH = 25  # training perturbations that are training targets too
WIDTH = 64
UNCOVERED = 0.05
FOLDS = 5  # perturbations and genes are each cut in so many parts
CLONES_AMONG = {"responsive": 0.06, "single": 0.35}


@dataclass(frozen=True, slots=True)
class Cast:
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
class View:
    """The labelled rows that tools may see, summed per perturbation: n, up, down of shape (symbols,)."""

    name: str
    n: Ints
    up: Ints
    down: Ints


@dataclass(frozen=True, slots=True)
class Sight:
    """What the tools of each row may see: views, and per row which of them."""

    views: tuple[View, ...]
    of_row: Ints


def build(rng: np.random.Generator) -> World:
    """Draw a world: who exists, what they do, and which rows a challenge would show of it."""
    casts = _casts()
    n = 1 + max(int(cast.singles[-1]) for cast in casts.values())
    perturbed = np.concatenate([cast.perts for cast in casts.values()])
    quiet = np.isin(np.arange(n), np.concatenate([cast.singles for cast in casts.values()]))
    program = np.where(quiet, _dealt(QUIET, n, rng), _dealt(MOVING, n, rng))
    loadings = _loadings(program, quiet, rng)
    effect = _effects(loadings, perturbed, rng)
    rows = {size.split: _sample(size, casts[size.split], effect, loadings, rng) for size in SIZES}
    clone = rng.random(n) < np.where(quiet, CLONES_AMONG["single"], CLONES_AMONG["responsive"])
    clone[perturbed] = False
    return World(
        symbols=_symbols(clone, rng),
        perts={split: cast.perts for split, cast in casts.items()},
        clone=clone,
        program=program,
        effect=effect,
        embedding=_embedding(loadings, rng),
        covered=rng.random(n) >= UNCOVERED,
        rows=rows,
    )


def _dealt(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    """n of `values`, each as often as any other, in random order."""
    return rng.permutation(np.resize(values, n))


def _casts() -> dict[str, Cast]:
    """Who plays in which split; a single may go unused, since a gene lacks at most one match."""
    casts: dict[str, Cast] = {}
    n = 0
    for size in SIZES:
        shared = BOTH if size.split == "train" else 0
        room = size.rows - 2 * size.changed + size.responsive
        bounds = np.cumsum([n, size.perts, size.responsive - shared, room]).tolist()
        perts, responsive, singles = (np.arange(start, stop) for start, stop in pairwise(bounds))
        casts[size.split] = Cast(perts, np.concatenate([perts[:shared], responsive]), singles)
        n = bounds[-1]
    return casts


def _symbols(clone: NDArray[np.bool_], rng: np.random.Generator) -> tuple[str, ...]:
    """Distinct symbols that exist nowhere: Sim + syllables + perhaps a digit, and clones numbered from 00000."""
    unfortunate = {"ki", "ke"}  # these two end up in slurs
    syllables = [c + v for c, v in product("bdklmnrstv", "aeiou") if c + v not in unfortunate]
    names = [first + second + digit for first, second, digit in product(syllables, syllables, ["", *"123456789"])]
    clones = [f"00000{a:02d}{b}{c:02d}Rik" for a, b, c in product(range(100), "ABCDEFGHIJKLMNOP", range(1, 25))]
    named = iter(rng.choice(len(names), len(clone), replace=False).tolist())
    provisional = iter(rng.choice(len(clones), len(clone), replace=False).tolist())
    return tuple(clones[next(provisional)] if is_clone else "Sim" + names[next(named)] for is_clone in clone.tolist())


def _loadings(program: Ints, quiet: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Shape (n, programs): each symbol's part in each program, mostly in its own."""
    loadings = 0.15 * rng.standard_normal((len(program), len(PROGRAMS)))
    second = np.where(quiet, rng.choice(QUIET, len(program)), rng.choice(MOVING, len(program)))
    np.add.at(loadings, (np.arange(len(program)), second), 0.4 * rng.random(len(program)))
    np.add.at(loadings, (np.arange(len(program)), program), 1.0)
    return loadings


def _effects(loadings: Floats, perts: Ints, rng: np.random.Generator) -> Floats:
    """Shape (n, programs): perturbations with the same parts move the same programs, mostly as those lean."""
    lean = np.array([program.lean or 0.0 for program in PROGRAMS])
    wiring = 0.5 * rng.standard_normal((len(PROGRAMS), len(PROGRAMS)))
    wiring -= wiring[MOVING].mean(axis=0)  # so that only `lean` moves a program on average
    drawn = lean + loadings[perts] @ wiring + 0.9 * rng.standard_normal((len(perts), len(PROGRAMS)))
    drawn[:, QUIET] = 0.0
    effect = np.zeros_like(loadings)
    effect[perts] = drawn
    return effect


def _sample(size: Size, cast: Cast, effect: Floats, loadings: Floats, rng: np.random.Generator) -> Rows:
    """The challenge's sampling: changed rows per perturbation, matched rows per gene, then single-row genes."""
    perts, genes = cast.perts, cast.genes
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
        pert=np.concatenate([perts[pert], _dealt(perts, n_single, rng)])[mix],
        gene=np.concatenate([genes[gene], cast.singles[:n_single]])[mix],
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
    """Each cell's place (from 0) along an axis, smallest key first."""
    return np.argsort(np.argsort(keys, axis=axis), axis=axis)


def _embedding(loadings: Floats, rng: np.random.Generator) -> NDArray[np.float32]:
    """Shape (n, 64): each program's direction in proportion to its loading, under noise."""
    directions = rng.standard_normal((len(PROGRAMS), WIDTH)) / np.sqrt(WIDTH)
    noise = rng.standard_normal((len(loadings), WIDTH)) / np.sqrt(WIDTH)
    embedding: NDArray[np.float32] = (loadings @ directions + noise).astype(np.float32)
    return embedding


def full_sight(rows: Rows, n_symbols: int, n_rows: int) -> Sight:
    """All training rows, for each of `n_rows` rows of the test split."""
    return Sight((_view("train", rows, n_symbols),), np.zeros(n_rows, np.int64))


def blinded_sight(rows: Rows, chosen: Ints, n_symbols: int, rng: np.random.Generator) -> Sight:
    """Views for rows `chosen` of the training split.

    A view is without every row that shares a perturbation or a gene with a chosen row of its fold.
    """
    part = rng.integers(FOLDS, size=(2, n_symbols))
    cells = part[0, rows.pert[chosen]] * FOLDS + part[1, rows.gene[chosen]]
    views = []
    for cell in range(FOLDS * FOLDS):
        mine = chosen[cells == cell]
        seen = ~np.isin(rows.pert, rows.pert[mine]) & ~np.isin(rows.gene, rows.gene[mine])
        kept = Rows(rows.pert[seen], rows.gene[seen], rows.sign[seen])
        views.append(_view(f"train without fold {cell // FOLDS + 1}.{cell % FOLDS + 1}", kept, n_symbols))
    return Sight(tuple(views), cells)


def _view(name: str, rows: Rows, n_symbols: int) -> View:
    n, up, down = (np.bincount(rows.pert[kept], minlength=n_symbols) for kept in (..., rows.sign > 0, rows.sign < 0))
    return View(name, n, up, down)
