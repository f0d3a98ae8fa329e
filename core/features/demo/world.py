"""The world behind the simulated demo: invented genes, programs, effects, and sampled rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Program(NamedTuple):
    """Genes that move together. lean: how perturbations move them on average, None if nothing
    does."""

    name: str
    terms: tuple[str, str, str]
    lean: float | None = None
    expected: str | None = None


PROGRAMS = (
    Program(
        "stress relay",
        ("unfolded load sensing", "relay kinase signalling", "repair factor induction"),
        1.35,
        "up",
    ),
    Program(
        "damage checkpoint",
        ("strand break sensing", "checkpoint arrest", "repair licensing"),
        1.25,
        "up",
    ),
    Program(
        "antiviral alarm",
        ("foreign RNA sensing", "alarm factor signalling", "antiviral state"),
        0.95,
    ),
    Program(
        "cytokine burst", ("burst signalling", "chemoattractant release", "acute response"), 0.85
    ),
    Program(
        "lipid handling", ("sterol uptake", "lipid droplet turnover", "fatty acid transfer"), 0.85
    ),
    Program("membrane traffic", ("vesicle budding", "endosomal sorting", "cargo recycling"), 0.75),
    Program(
        "antigen display",
        ("peptide loading", "display complex assembly", "surface presentation"),
        0.65,
    ),
    Program(
        "cell metabolism", ("electron transfer", "carbon flux control", "cofactor recycling"), 0.45
    ),
    Program(
        "ribosome assembly",
        ("subunit processing", "pre-rRNA folding", "subunit export"),
        0.05,
        "down",
    ),
    Program(
        "division cycle", ("spindle loading", "origin licensing", "mitotic exit"), 0.05, "down"
    ),
    Program("neural remnant", ("synapse tethering", "axon guidance", "transmitter storage")),
    Program("germline remnant", ("gamete packaging", "sperm motility", "oocyte polarity")),
)
MOVING = np.array([i for i, program in enumerate(PROGRAMS) if program.lean is not None])
QUIET = np.array([i for i, program in enumerate(PROGRAMS) if program.lean is None])


class SplitSize(NamedTuple):
    """How a split is sampled: perturbations, genes that can respond, changed rows, rows in all."""

    split: str
    perts: int
    responsive: int
    changed: int
    rows: int


# As in the challenge, 44% changed, every changed row matched by an unchanged one of its gene, the
# rest single rows.
SIZES = (SplitSize("train", 324, 520, 3_400, 7_700), SplitSize("test", 40, 120, 265, 600))
PERTS_AMONG_TARGETS = 25  # training perturbations that are training targets too
WIDTH, UNCOVERED, FOLDS = 64, 0.05, 5


class Rows(NamedTuple):
    """Rows of a split: perturbation and gene as indices of symbols; sign: +1 up, −1 down, 0
    none."""

    pert: Ints
    gene: Ints
    sign: Ints

    def take(self, chosen: Ints | NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(*(column[chosen] for column in self))


class View(NamedTuple):
    """The labels that tools may see, counted per perturbation: n, up, down of shape
    (n_symbols,)."""

    name: str
    n: Ints
    up: Ints
    down: Ints


@dataclass(frozen=True, slots=True)
class World:
    """What is true in the simulation, for each of n symbols.

    perts: indices per split. clone, program, covered: shape (n,); program is an index of PROGRAMS.
    effect: shape (n, n_programs), what losing a symbol does to each program. embedding: (n, 64).
    """

    symbols: tuple[str, ...]
    perts: dict[str, Ints]
    clone: NDArray[np.bool_]
    program: Ints
    effect: Floats
    embedding: NDArray[np.float32]
    covered: NDArray[np.bool_]
    rows: dict[str, Rows]


def build_world(rng: np.random.Generator) -> World:
    """Draw symbols, effects of perturbations, and the rows that a challenge would sample."""
    # perturbations, genes that can respond, genes of single rows
    groups: dict[str, list[Ints]] = {}
    n = 0
    for size in SIZES:  # a gene of a single row may go unused
        shared = PERTS_AMONG_TARGETS if size.split == "train" else 0
        counts = (
            size.perts,
            size.responsive - shared,
            size.rows - 2 * size.changed + size.responsive,
        )
        perts, genes, singles = np.split(np.arange(n, n + sum(counts)), np.cumsum(counts)[:2])
        groups[size.split] = [perts, np.concatenate([perts[:shared], genes]), singles]
        n += sum(counts)
    perturbed, quiet = (
        np.isin(np.arange(n), np.concatenate([group[i] for group in groups.values()]))
        for i in (0, 2)
    )
    program = np.where(quiet, _repeat_evenly(QUIET, n, rng), _repeat_evenly(MOVING, n, rng))
    loadings = _loadings(program, rng)
    effect = _effects(loadings, np.flatnonzero(perturbed), rng)
    rows = {
        size.split: _sample_rows(size, groups[size.split], effect, loadings, rng) for size in SIZES
    }
    clone = rng.random(n) < np.where(quiet, 0.35, 0.06)
    clone[perturbed] = False
    symbols = _symbols(clone, rng)
    directions, noise = (
        rng.standard_normal((size, WIDTH)) / np.sqrt(WIDTH) for size in (len(PROGRAMS), n)
    )
    embedding = (loadings @ directions + noise).astype(np.float32)
    perts_of = {split: group[0] for split, group in groups.items()}
    return World(
        symbols, perts_of, clone, program, effect, embedding, rng.random(n) >= UNCOVERED, rows
    )


def _repeat_evenly(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Return n values, each of `values` as often as any other, in random order."""
    return rng.permutation(np.resize(values, n))


def _symbols(clone: NDArray[np.bool_], rng: np.random.Generator) -> tuple[str, ...]:
    """Return symbols that exist nowhere: Sim, two syllables and a digit; clones are 00000…Rik."""
    # those end in slurs
    syllables = [c + v for c, v in product("bdklmnrstv", "aeiou") if c + v not in ("ki", "ke")]
    names = ["Sim" + "".join(parts) for parts in product(syllables, syllables, ["", *"123456789"])]
    clones = [
        f"00000{a:02d}{b}{c:02d}Rik"
        for a, b, c in product(range(100), "ABCDEFGHIJKLMNOP", range(1, 25))
    ]
    named, numbered = (rng.choice(pool, len(clone), replace=False) for pool in (names, clones))
    return tuple(np.where(clone, numbered, named).tolist())


def _loadings(program: Ints, rng: np.random.Generator) -> Floats:
    """Return shape (n, n_programs): each symbol's part in each program, mostly in its own."""
    loadings: Floats = (
        0.2 * rng.standard_normal((len(program), len(PROGRAMS))) + np.eye(len(PROGRAMS))[program]
    )
    return loadings


def _effects(loadings: Floats, perts: Ints, rng: np.random.Generator) -> Floats:
    """Return shape (n, n_programs): perturbations with like parts move like programs, mostly as
    these lean."""
    lean = np.array([program.lean or 0.0 for program in PROGRAMS])
    wiring = 0.5 * rng.standard_normal((len(PROGRAMS), len(PROGRAMS)))
    wiring -= wiring[MOVING].mean(axis=0)  # so that only `lean` moves a program on average
    effect = np.zeros_like(loadings)
    effect[perts] = (
        lean + loadings[perts] @ wiring + 0.9 * rng.standard_normal((len(perts), len(PROGRAMS)))
    )
    effect[:, QUIET] = 0.0
    return effect


def _sample_rows(
    size: SplitSize, groups: list[Ints], effect: Floats, loadings: Floats, rng: np.random.Generator
) -> Rows:
    """Sample as the challenge does: changed rows per perturbation, matched ones per gene, single
    rows."""
    perts, genes, singles = groups
    itself = perts[:, None] == genes  # no row is about a gene's own perturbation
    shift = effect[perts] @ loadings[genes].T + 2.0 * rng.standard_normal(itself.shape)
    # some genes answer to much, many to little
    shift *= np.exp(0.7 * rng.standard_normal(len(genes))) * ~itself
    share = rng.uniform(0.06, 0.25, len(perts))  # of the genes that a perturbation changes
    changed = _rank(-np.abs(shift), axis=1) < (share * len(genes))[:, None]
    per_pert = np.bincount(np.arange(size.changed) % len(perts))
    seen = changed & (
        _rank(np.where(changed, rng.random(changed.shape), np.inf), axis=1) < per_pert[:, None]
    )
    unchanged = ~changed & ~itself
    matched = unchanged & (
        _rank(np.where(unchanged, rng.random(changed.shape), np.inf), axis=0) < seen.sum(axis=0)
    )
    pert, gene = np.nonzero(seen | matched)
    n_single = size.rows - len(pert)
    sign = np.where(seen[pert, gene], np.sign(shift[pert, gene]), 0).astype(np.int64)
    order = rng.permutation(size.rows)
    single = _repeat_evenly(perts, n_single, rng), singles[:n_single], np.zeros(n_single, np.int64)
    columns = zip((perts[pert], genes[gene], sign), single, strict=True)
    return Rows(*(np.concatenate(parts)[order] for parts in columns))


def _rank(keys: Floats, axis: int) -> Ints:
    """Return each cell's place (from 0) along an axis, smallest key first."""
    return np.argsort(np.argsort(keys, axis=axis), axis=axis)


def count_labels(name: str, rows: Rows, n_symbols: int) -> View:
    """Return a view of these rows' labels."""
    counts = (
        np.bincount(rows.pert[chosen], minlength=n_symbols)
        for chosen in (..., rows.sign > 0, rows.sign < 0)
    )
    return View(name, *counts)


def blinded_views(rows: Rows, chosen: Ints, n_symbols: int, rng: np.random.Generator) -> list[View]:
    """Return what each chosen row may see: no row that shares a symbol with a chosen one of its
    fold."""
    part = rng.integers(FOLDS, size=(2, n_symbols))
    cells = part[0, rows.pert[chosen]] * FOLDS + part[1, rows.gene[chosen]]
    views = []
    for cell in range(FOLDS * FOLDS):
        own = rows.take(chosen[cells == cell])
        others = rows.take(~np.isin(rows.pert, own.pert) & ~np.isin(rows.gene, own.gene))
        views.append(
            count_labels(
                f"train without fold {cell // FOLDS + 1}.{cell % FOLDS + 1}", others, n_symbols
            )
        )
    return [views[cell] for cell in cells.tolist()]
