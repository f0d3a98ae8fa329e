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
    terms: tuple[str, str]
    lean: float | None = None


PROGRAMS = (
    Program("stress relay", ("unfolded load sensing", "relay kinase signalling"), 1.15),
    Program("damage checkpoint", ("strand break sensing", "checkpoint arrest"), 1.05),
    Program("antiviral alarm", ("foreign RNA sensing", "alarm factor signalling"), 0.8),
    Program("cytokine burst", ("burst signalling", "chemoattractant release"), 0.7),
    Program("lipid handling", ("sterol uptake", "lipid droplet turnover"), 0.7),
    Program("membrane traffic", ("vesicle budding", "endosomal sorting"), 0.6),
    Program("antigen display", ("peptide loading", "display complex assembly"), 0.55),
    Program("cell metabolism", ("electron transfer", "carbon flux control"), 0.35),
    Program("ribosome assembly", ("subunit processing", "pre-rRNA folding"), 0.05),
    Program("division cycle", ("spindle loading", "origin licensing"), 0.05),
    Program("neural remnant", ("synapse tethering", "axon guidance")),
    Program("germline remnant", ("gamete packaging", "sperm motility")),
)
MOVING = np.array([i for i, program in enumerate(PROGRAMS) if program.lean is not None])


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
SHARE_CHANGED = 0.15  # of the responsive genes, by a perturbation
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

    perts: indices of the training perturbations. program: shape (n,), an index of PROGRAMS. effect:
    shape (n, n_programs), what losing a symbol does to each program. embedding: (n, 64). covered:
    shape (n,), whether a symbol has one.
    """

    symbols: tuple[str, ...]
    perts: Ints
    program: Ints
    effect: Floats
    embedding: NDArray[np.float32]
    covered: NDArray[np.bool_]
    rows: dict[str, Rows]


def build_world(rng: np.random.Generator) -> World:
    """Draw symbols, effects of perturbations, and the rows that a challenge would sample."""
    groups: list[list[Ints]] = []  # of each split: perturbations, responsive genes, single genes
    n = 0
    for size in SIZES:
        n_singles = size.rows - 2 * size.changed + size.responsive  # some may go unused
        ends = np.cumsum([size.perts, size.responsive, n_singles])
        groups.append(np.split(np.arange(n, n + ends[-1]), ends[:-1]))
        n += ends[-1]
    program = rng.choice(MOVING, n)
    for *_, singles in groups:
        program[singles] = rng.integers(len(MOVING), len(PROGRAMS), len(singles))
    # each symbol's part in each program, mostly in its own
    loadings = 0.2 * rng.standard_normal((n, len(PROGRAMS))) + np.eye(len(PROGRAMS))[program]
    effect = np.zeros_like(loadings)
    for perts, *_ in groups:
        lean = [program.lean or 0.0 for program in PROGRAMS]
        effect[perts] = lean + rng.standard_normal((len(perts), len(PROGRAMS)))
    effect[:, len(MOVING) :] = 0.0
    directions, noise = (
        rng.standard_normal((size, WIDTH)) / np.sqrt(WIDTH) for size in (len(PROGRAMS), n)
    )
    embedding = (loadings @ directions + noise).astype(np.float32)
    rows = {
        size.split: _sample_rows(size, group, effect, loadings, rng)
        for size, group in zip(SIZES, groups, strict=True)
    }
    covered = rng.random(n) >= UNCOVERED
    # those end in slurs
    syllables = [c + v for c, v in product("bdklmnrstv", "aeiou") if c + v not in ("ki", "ke")]
    names = ["Sim" + "".join(parts) for parts in product(syllables, syllables, ["", *"123456789"])]
    return World(
        tuple(rng.choice(names, n, replace=False).tolist()),
        groups[0][0],
        program,
        effect,
        embedding,
        covered,
        rows,
    )


def _sample_rows(
    size: SplitSize, groups: list[Ints], effect: Floats, loadings: Floats, rng: np.random.Generator
) -> Rows:
    """Sample as the challenge does: changed rows per perturbation, matched ones per gene, single
    rows."""
    perts, genes, spare = groups
    shift = effect[perts] @ loadings[genes].T + 2.0 * rng.standard_normal((len(perts), len(genes)))
    shift *= np.exp(0.5 * rng.standard_normal(len(genes)))  # some answer to much, many to little
    changed = _rank(-np.abs(shift), axis=1) < SHARE_CHANGED * len(genes)
    draw = rng.random(changed.shape)
    per_pert = np.bincount(np.arange(size.changed) % len(perts))
    seen = changed & (_rank(np.where(changed, draw, 1.0), axis=1) < per_pert[:, None])
    matched = ~changed & (_rank(np.where(changed, 1.0, draw), axis=0) < seen.sum(axis=0))
    pert, gene = np.nonzero(seen | matched)
    sign = np.where(seen[pert, gene], np.sign(shift[pert, gene]), 0).astype(np.int64)
    singles = spare[: size.rows - len(pert)]
    single = rng.choice(perts, len(singles)), singles, np.zeros_like(singles)
    columns = zip((perts[pert], genes[gene], sign), single, strict=True)
    rows = Rows(*(np.concatenate(parts) for parts in columns))
    return rows.take(rng.permutation(len(rows.pert)))


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
        name = f"train without fold {cell // FOLDS + 1}.{cell % FOLDS + 1}"
        views.append(count_labels(name, others, n_symbols))
    return [views[cell] for cell in cells.tolist()]
