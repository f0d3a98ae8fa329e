"""Which labelled rows made a row's prior, and what the prior would be without some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.stats.arrays import Codes, Floats
from core.transfer.knn import DEFAULT, Similar, Weighting
from core.transfer.rows import DIRECTED, EFFECT, LABELLED, UP, Knowledge, Parts, allowed
from core.transfer.similarity import Similarity
from core.transfer.sums import LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Provenance:
    """The neighbours of one row: every labelled row with a weight, heaviest first.

    neighbours: positions in the knowledge base, of shape (n,). similarity: of shape (n,), a product where both axes
    count. per_space: of shape (n_spaces, n), NaN where a space does not cover both; on the axis that counts, of genes
    where both do. weight, share: in prior_de; weight_up, share_up: in prior_up, 0 for rows without a direction. The
    shares sum to 1, and weighted by the labels to the priors (NaN without neighbours).
    """

    neighbours: Codes
    similarity: Floats
    per_space: Floats
    weight: Floats
    share: Floats
    weight_up: Floats
    share_up: Floats
    prior_de: float
    prior_up: float


def explain(
    row: tuple[int, int],
    known: Knowledge,
    similar: Similar,
    weighting: Weighting = DEFAULT,
    parts: Parts | None = None,
    without: Codes | None = None,
) -> Provenance:
    """Where the prior of the row of these (perturbation, gene) codes comes from; the rest as in `knn.priors`.

    without: positions in the knowledge base of neighbours that are taken out of it first.
    """
    seen = allowed(row, known.rows, parts)
    if without is not None:
        seen[without] = False
    rows = np.flatnonzero(seen)
    similarity, per_space = np.ones(len(rows)), np.empty((0, len(rows)))
    axes = ("pert", "gene") if weighting.axis == "both" else (weighting.axis,)
    for axis in axes:
        given = similar.gene if axis == "gene" else similar.pert
        if given is None:
            raise InputError(f"similarity: got none for the {axis} axis; expected one, or another axis")
        code, codes = (row[1], known.rows.gene) if axis == "gene" else (row[0], known.rows.pert)
        nearest, per_space = _along(given, code, codes[rows], weighting.k)
        similarity = similarity * nearest
    return _explained(known, rows, similarity, per_space, weighting)


def _along(given: Similarity, code: int, codes: Codes, k: int | None) -> tuple[Floats, Floats]:
    """Similarity to each row on one axis, 0 for those beyond the k nearest symbols, and in each space."""
    symbols, position = np.unique(codes, return_inverse=True)
    query = np.array([code], dtype=np.intp)
    similarity = given.block(query, symbols)[0]
    if k is not None and k < len(symbols):
        similarity = np.where(similarity >= np.partition(similarity, -k)[-k] * LEVEL, similarity, 0.0)
    return similarity[position], given.per_space(query, symbols)[:, 0, position]


def _explained(known: Knowledge, rows: Codes, similarity: Floats, per_space: Floats, weighting: Weighting) -> Provenance:
    de_power, power = weighting.powers
    order = np.argsort(-similarity, kind="stable")
    order = order[similarity[order] > 0]
    flags, near = known.flags[rows[order]].astype(np.float64), similarity[order]
    weight, weight_up = near**de_power * flags[:, LABELLED], near**power * flags[:, DIRECTED]
    share, share_up = _shares(weight), _shares(weight_up)
    return Provenance(
        rows[order],
        near,
        per_space[:, order],
        weight,
        share,
        weight_up,
        share_up,
        float(share @ flags[:, EFFECT]) if weight.sum() > 0 else float("nan"),
        float(share_up @ flags[:, UP]) if weight_up.sum() > 0 else float("nan"),
    )


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else np.zeros_like(weights)
