"""The priors as their definition reads: every row against every labelled row, nothing shared, nothing subtracted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from core.transfer.knn import Priors, Similarities, Weighting
from core.transfer.protocols import SimilaritySettings
from core.transfer.row_index import Knowledge, Parts, Rows, knowledge_of, rows_of
from core.transfer.similarity import Space, cosine_similarity

LABELS = ("up", "down", "none", "de", None)


@dataclass(frozen=True)
class World:
    """Some labelled rows over a few symbols, spaces that cover part of them, and parts."""

    rows: Rows
    labels: np.ndarray
    spaces: tuple[Space, ...]
    parts: Parts | None
    weighting: Weighting

    @property
    def known(self) -> Knowledge:
        return knowledge_of(self.labels, self.rows)

    @property
    def similar(self) -> Similarities:
        ensemble = cosine_similarity(self.spaces)
        return Similarities(ensemble, ensemble)

    def keep(self, rows: np.ndarray) -> World:
        return replace(self, rows=self.rows.take(rows), labels=self.labels[rows])


def similarities(
    symbols_a: np.ndarray, symbols_b: np.ndarray, spaces: tuple[Space, ...]
) -> np.ndarray:
    """Row against row: the mean, over the spaces that cover both symbols, of the cosine clipped at 0; NaN without one."""
    found = []
    for space in spaces:
        a, b = space.columns[symbols_a], space.columns[symbols_b]
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine = a @ b.T / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
        found.append(
            np.where(cosine < 1e-12, 0, cosine)
        )  # a right angle, but for rounding; NaN stays NaN
    covered = ~np.isnan(found)
    with np.errstate(invalid="ignore"):
        return np.where(covered, found, 0).sum(axis=0) / covered.sum(axis=0)


def row_weights(world: World, power: float) -> np.ndarray:
    """The weight of every row (column) for every row (row), 0 for those it may not see or does not keep."""
    rows, labelled = world.rows, np.array([label is not None for label in world.labels])
    seen = np.tile(labelled, (len(rows), 1))
    if world.parts is not None:
        for part, codes in ((world.parts.pert, rows.pert), (world.parts.gene, rows.gene)):
            seen &= part[codes][:, None] != part[codes][None, :]
    weights = np.where(seen, 1.0, 0.0)
    for axis, codes in (("gene", rows.gene), ("pert", rows.pert)):
        if world.weighting.axis in (axis, "both"):
            similar = np.nan_to_num(similarities(codes, codes, world.spaces))
            weights *= np.where(_kept(similar, codes, seen, world.weighting.k), similar, 0) ** power
    return weights


def _kept(similar: np.ndarray, codes: np.ndarray, seen: np.ndarray, k: int | None) -> np.ndarray:
    kept = np.ones_like(seen)
    for i in range(len(seen)) if k is not None else ():
        per_symbol = {codes[j]: similar[i, j] for j in np.flatnonzero(seen[i])}
        ranked = sorted(per_symbol.values(), reverse=True)
        kept[i] = similar[i] >= (ranked[k - 1] - 1e-12 if len(ranked) >= k else 0)
    return kept


def oracle(world: World) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """prior_de, prior_up and support of every row."""
    effect = np.isin(world.labels, ["up", "down", "de"])
    directed, up = np.isin(world.labels, ["up", "down"]), world.labels == "up"
    w_de, w_up = (row_weights(world, power) for power in world.weighting.powers)
    with np.errstate(invalid="ignore", divide="ignore"):
        return w_de @ effect / w_de.sum(axis=1), w_up @ up / (w_up @ directed), w_de.sum(axis=1)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Small and full of odd cases: repeated rows, missing labels, symbols that one space lacks, equal vectors."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_symbols, n_rows = draw(st.integers(2, 9)), draw(st.integers(1, 40))
    rows = rows_of(rng.integers(0, n_symbols, n_rows), rng.integers(0, n_symbols, n_rows))
    labels = rng.choice(np.array(LABELS, dtype=object), n_rows, p=[0.3, 0.2, 0.3, 0.1, 0.1])
    spaces = tuple(
        some_space(rng, n_symbols, draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 2)))
    )
    return World(rows, labels, spaces, draw(some_parts(n_symbols)), draw(weightings()))


def some_space(rng: np.random.Generator, n_symbols: int, n_columns: int) -> Space:
    columns = rng.integers(-1, 3, (n_symbols, n_columns)).astype(float)
    columns[rng.random(n_symbols) < 0.25] = np.nan
    return Space("space", columns)


@st.composite
def some_parts(draw: st.DrawFn, n_symbols: int) -> Parts | None:
    alone = np.arange(n_symbols)
    few = st.lists(st.integers(0, 2), min_size=n_symbols, max_size=n_symbols).map(np.array)
    return draw(st.one_of(st.none(), st.just(Parts(alone, alone)), st.builds(Parts, few, few)))


def weightings() -> st.SearchStrategy[Weighting]:
    return st.builds(
        Weighting,
        power=st.sampled_from([1.0, 2.0, 2.5]),
        de_power=st.sampled_from([None, 1.0]),
        k=st.one_of(st.none(), st.integers(1, 5)),
        axis=st.sampled_from(["gene", "pert", "both"]),
    )


SETTINGS = st.builds(SimilaritySettings, weightings(), st.booleans(), st.sampled_from([0.0, 0.7]))


def assert_close(found: Priors, expected: Priors) -> None:
    for name in ("de", "up", "support"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9
        )
