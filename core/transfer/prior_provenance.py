"""The labelled rows behind a row's prior, and the prior without some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.base.errors import InputError
from core.stats.arrays import Codes, Floats
from core.transfer.knn import (
    DEFAULT,
    TIE_FACTOR,
    Similarities,
    Weighting,
    kth_largest_weights,
    label_sum_table,
    require_similarity,
    slices_by_group,
    weight_chunks,
)
from core.transfer.row_index import (
    DIRECTED,
    EFFECT,
    LABELLED,
    UP,
    Knowledge,
    Parts,
    Rows,
    visible_rows,
)


@dataclass(frozen=True, slots=True, eq=False)
class Provenance:
    """The neighbours of one row: every labelled row with a weight, heaviest first.

    neighbours: positions in the knowledge base, of shape (n,). similarity: of shape (n,), a product
    if both axes count. weight, share: in prior_de; weight_up, share_up: in prior_up, 0 for rows
    without a direction. The shares sum to 1; weighted by the labels, they sum to the priors, which
    are NaN without neighbours.
    """

    neighbours: Codes
    similarity: Floats
    weight: Floats
    share: Floats
    weight_up: Floats
    share_up: Floats
    prior_de: float
    prior_up: float


def explain_prior(
    row: tuple[int, int],
    known: Knowledge,
    similar: Similarities,
    weighting: Weighting = DEFAULT,
    parts: Parts | None = None,
    without: Codes | None = None,
) -> Provenance:
    """Return the neighbours behind the prior of a row, given by its (perturbation, gene) codes;
    other arguments as in `knn_priors`.

    without: positions in the knowledge base of rows to leave out.
    """
    visible = visible_rows(row, known.rows, parts)
    if without is not None:
        visible[without] = False
    rows = np.flatnonzero(visible)
    similarity = np.ones(len(rows))
    axes = ("pert", "gene") if weighting.axis == "both" else (weighting.axis,)
    for axis in axes:
        given = require_similarity(similar.gene if axis == "gene" else similar.pert, axis)
        code, codes = (row[1], known.rows.gene) if axis == "gene" else (row[0], known.rows.pert)
        # The similarity to each row on one axis, 0 beyond the k nearest symbols
        symbols, position = np.unique(codes[rows], return_inverse=True)
        values = given.block(np.array([code], dtype=np.intp), symbols)[0]
        if weighting.k is not None and weighting.k < len(symbols):
            values = np.where(
                values >= np.partition(values, -weighting.k)[-weighting.k] * TIE_FACTOR, values, 0.0
            )
        of_rows: Floats = values[position]
        similarity = similarity * of_rows
    de_power, power = weighting.powers
    order = np.argsort(-similarity, kind="stable")
    order = order[similarity[order] > 0]
    flags, near = known.flags[rows[order]].astype(np.float64), similarity[order]
    weight, weight_up = near**de_power * flags[:, LABELLED], near**power * flags[:, DIRECTED]
    share, share_up = _shares(weight), _shares(weight_up)
    prior_de = float(share @ flags[:, EFFECT]) if weight.sum() > 0 else float("nan")
    prior_up = float(share_up @ flags[:, UP]) if weight_up.sum() > 0 else float("nan")
    return Provenance(rows[order], near, weight, share, weight_up, share_up, prior_de, prior_up)


@dataclass(frozen=True, slots=True, eq=False)
class HeaviestSymbols:
    """The symbols with the largest shares of one row's prior_de, largest first. A symbol's share is
    the sum over its labelled rows.

    symbols: codes; similarity, share: of the same shape (n,). counts: of shape (n, 4), the visible
    labelled rows: labelled, effect, directed, up. n_rows: number of labelled rows of all symbols
    with a weight.
    """

    symbols: Codes
    similarity: Floats
    share: Floats
    counts: Floats
    n_rows: int


def heaviest_symbols(
    queries: Rows,
    known: Knowledge,
    similar: Similarities,
    weighting: Weighting,
    parts: Parts | None,
    n: int,
) -> list[HeaviestSymbols]:
    """Return the n heaviest symbols behind each query row's prior_de, on one axis; equal to those
    of `explain_prior`.

    Raise InputError for the axis "both", on which shares belong to pairs of symbols.
    """
    axis, given = weighting.axis, similar.pert if weighting.axis == "pert" else similar.gene
    if axis == "both" or given is None:
        raise InputError(
            f"heaviest: got the axis {axis}; expected gene or pert, with its similarity"
        )
    if axis == "pert":
        queries, known, parts = (
            queries.swap_axes(),
            known.swap_axes(),
            None if parts is None else parts.swap_axes(),
        )
    table = label_sum_table(known, parts)
    results: list[HeaviestSymbols | None] = [None] * len(queries)
    power = weighting.powers[0]
    for chunk in weight_chunks(queries, table, given, power, parts):
        thresholds = None if weighting.k is None else kth_largest_weights(chunk, table, weighting.k)
        for group, rows in slices_by_group(chunk.group):
            visible = table.sums_outside(group)
            for row in range(rows.start, rows.stop):
                weights = chunk.weights[chunk.gene[row]]
                near = (
                    weights
                    if thresholds is None
                    else np.where(weights >= thresholds[row], weights, 0.0)
                )
                shares = _shares(near * visible[:, LABELLED])
                nearest = (
                    np.argpartition(-shares, n)[:n] if n < len(shares) else np.arange(len(shares))
                )
                nearest = nearest[np.argsort(-shares[nearest], kind="stable")]
                nearest = nearest[shares[nearest] > 0]
                n_rows = int(visible[near > 0, LABELLED].sum())
                results[chunk.rows[row]] = HeaviestSymbols(
                    table.genes[nearest],
                    near[nearest] ** (1 / power),
                    shares[nearest],
                    visible[nearest],
                    n_rows,
                )
    return [result for result in results if result is not None]


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else np.zeros_like(weights)
