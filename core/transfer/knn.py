"""Compute a row's priors from labelled rows with similar genes, similar perturbations, or both.

prior_de = Σ w·[effect] / Σ w and prior_up = Σ w·[up] / Σ w·[up or down], with w = similarity^power,
over the labelled rows that the row may see.

The two similarities, of genes and of perturbations, may also be multiplied.

Σ w_gene[g, g'] · labels[g', p'] · w_pert[p, p'] is a matrix product from each side, because rows
that a row may not see have weight 0 on one axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from core.base.errors import InputError
from core.base.fields.record import check_values
from core.base.fields.setting import Count, Positive, setting
from core.stats.arrays import Bools, Codes, Floats, divide, sum_by_group
from core.transfer.row_index import DIRECTED, EFFECT, LABELLED, UP, Axis, Knowledge, Parts, Rows
from core.transfer.similarity import Similarity


@dataclass(frozen=True, slots=True)
class Weighting:
    """How similarities become weights.

    power: above 0; de_power: another power for prior_de, None for the same. k: number of nearest
    genes (perturbations) that count, None for all. Only genes with rows that the row may see are
    ranked; ties with the k-th also count. axis: the similarity that counts; "both" multiplies the
    two, each limited to its own k nearest.
    """

    power: Annotated[
        Positive,
        setting(
            "Weight = similarity ^ power: a higher power gives the most similar genes more weight.",
            title="Power",
        ),
    ] = 2.0
    de_power: Annotated[
        Positive | None,
        setting(
            "A different power for the prior of an effect.",
            title="Power for an effect",
            missing="the same",
        ),
    ] = None
    k: Annotated[
        Count | None,
        setting("Use only this many nearest genes.", title="Nearest", missing="all", key="nearest"),
    ] = None
    axis: Annotated[
        Axis,
        setting(
            "What is compared: the target gene, the perturbation, or both (the product of their"
            " similarities).",
            title="Compared",
            words={"gene": "target gene", "pert": "perturbation", "both": "both"},
        ),
    ] = "gene"

    def __post_init__(self) -> None:
        check_values(self)

    @property
    def powers(self) -> tuple[float, float]:
        """The powers of prior_de and of prior_up."""
        return self.power if self.de_power is None else self.de_power, self.power


DEFAULT = Weighting()


@dataclass(frozen=True, slots=True, eq=False)
class Priors:
    """The priors of rows: de and up of shape (n_rows,), NaN without a similar labelled row;
    support: Σ w behind `de`, or 0."""

    de: Floats
    up: Floats
    support: Floats

    def __len__(self) -> int:
        return len(self.de)

    @property
    def covered(self) -> Bools:
        """Flags of the rows with a prior of an effect."""
        return ~np.isnan(self.de)


@dataclass(frozen=True, slots=True, eq=False)
class Similarities:
    """The similarities of each axis; None is allowed for an axis that `Weighting.axis` does not
    name."""

    gene: Similarity | None = None
    pert: Similarity | None = None


def knn_priors(
    queries: Rows,
    known: Knowledge,
    similar: Similarities,
    weighting: Weighting = DEFAULT,
    parts: Parts | None = None,
) -> Priors:
    """Return the priors of each query row; parts: limits the labelled rows that it may see, None
    for all of them."""
    de_power, power = weighting.powers
    up_sums = weighted_label_sums(queries, known, similar, weighting, power, parts)
    de_sums = (
        up_sums
        if de_power == power
        else weighted_label_sums(queries, known, similar, weighting, de_power, parts)
    )
    return priors_of_sums(de_sums, up_sums)


def priors_of_sums(de_sums: Floats, up_sums: Floats) -> Priors:
    """Return the priors that follow from weighted label sums for prior_de and for prior_up, each of
    shape (n_queries, 4)."""
    de = divide(de_sums[:, EFFECT], de_sums[:, LABELLED])
    return Priors(de, divide(up_sums[:, UP], up_sums[:, DIRECTED]), de_sums[:, LABELLED])


def weighted_label_sums(
    queries: Rows,
    known: Knowledge,
    similar: Similarities,
    weighting: Weighting,
    power: float,
    parts: Parts | None,
) -> Floats:
    """Return Σ w·flag for each flag of the labelled rows, of shape (n_queries, 4)."""
    from scipy.sparse import csr_array

    k = weighting.k
    if weighting.axis == "gene":
        return axis_sums(queries, known, require_similarity(similar.gene, "gene"), power, k, parts)
    if weighting.axis == "pert":
        swapped = None if parts is None else parts.swap_axes()
        return axis_sums(
            queries.swap_axes(),
            known.swap_axes(),
            require_similarity(similar.pert, "pert"),
            power,
            k,
            swapped,
        )
    both = require_similarity(similar.gene, "gene"), require_similarity(similar.pert, "pert")
    swapped = None if parts is None else parts.swap_axes()
    genes, perts = label_sum_table(known, parts), label_sum_table(known.swap_axes(), swapped)
    positions = (
        np.searchsorted(genes.genes, known.rows.gene),
        np.searchsorted(perts.genes, known.rows.pert),
    )
    shape = len(genes.genes), len(perts.genes)
    labels = [
        csr_array((flag.astype(np.float64), positions), shape=shape) for flag in known.flags.T
    ]
    sums = np.empty((len(queries), 4))
    for near in weight_chunks(queries, genes, both[0], power, parts):
        spread = [near.weights @ label for label in labels] if k is None else []
        near_thresholds = (
            np.zeros(len(near.rows)) if k is None else kth_largest_weights(near, genes, k)
        )
        for far in weight_chunks(
            queries.take(near.rows).swap_axes(), perts, both[1], power, swapped
        ):
            far_thresholds = (
                np.zeros(len(far.rows)) if k is None else kth_largest_weights(far, perts, k)
            )
            for batch in batches(
                len(far.rows), CHUNK_WEIGHTS // max(near.weights.shape[1] + far.weights.shape[1], 1)
            ):
                batch_rows = far.rows[batch]
                pert_weights = zero_below(far.weights[far.gene[batch]], far_thresholds[batch])
                if k is None:
                    reached = [part[near.gene[batch_rows]] for part in spread]
                else:
                    chosen = csr_array(
                        zero_below(near.weights[near.gene[batch_rows]], near_thresholds[batch_rows])
                    )
                    reached = [(chosen @ label).toarray() for label in labels]
                sums[near.rows[batch_rows]] = np.stack(
                    [np.einsum("qp,qp->q", part, pert_weights) for part in reached], axis=1
                )
    return sums


def require_similarity(similarity: Similarity | None, axis: str) -> Similarity:
    """Return the similarity. Raise InputError if it is None, naming the axis."""
    if similarity is None:
        raise InputError(f"similarity: got none for the {axis} axis; expected one, or another axis")
    return similarity


CHUNK_WEIGHTS = 2**24  # weights in memory at a time: 128 MB
BATCH_GROUPS = 128  # groups in one product, so that the weights are read once for all of them
# time to gather one element of a block, relative to one element of a matrix product
GATHER_COST = 16
CANCELLATION = 1e-4  # a sum is computed again if a subtraction leaves less than this share of it
STRETCH_ROWS = 2**17  # rows handled at a time: 4 MB of sums, which stay in the processor's caches
TIE_FACTOR = 1 - 1e-9  # weights tie if their ratio is above this: they differ by rounding only


@dataclass(frozen=True, slots=True, eq=False)
class LabelSumTable:
    """Label sums of a knowledge base for each distinct gene, in total and for each group (part) of
    perturbations.

    genes: codes of shape (n_known,). totals: of shape (n_known, 4). groups: the parts, ascending.
    starts: where each group's entries begin, of shape (n_groups + 1,). gene, sums: of each entry,
    its position in `genes` and its four sums.
    """

    genes: Codes
    totals: Floats
    groups: Codes
    starts: Codes
    gene: Codes
    sums: Floats

    def sums_inside(self, group: int) -> tuple[Codes, Floats]:
        """Return the positions and label sums of a group's genes; empty for group -1."""
        entries = slice(self.starts[group], self.starts[group + 1]) if group >= 0 else slice(0)
        return self.gene[entries], self.sums[entries]

    def sums_outside(self, group: int) -> Floats:
        """Return the label sums of the rows outside the group, of shape (n_known, 4); exact,
        because they are whole numbers."""
        gene, sums = self.sums_inside(group)
        rest = self.totals.copy()
        rest[gene] -= sums
        return rest


def label_sum_table(known: Knowledge, parts: Parts | None) -> LabelSumTable:
    """Return the label sums of a knowledge base; without parts there are no groups."""
    genes, gene = distinct_codes(known.rows.gene)
    part = np.zeros(len(known), dtype=np.intp) if parts is None else parts.pert[known.rows.pert]
    bits = len(genes).bit_length()
    order, both = _stable_sort(part << bits | gene)
    part, gene = both >> bits, both & ((1 << bits) - 1)
    starts = np.flatnonzero(np.diff(part, prepend=-1) | np.diff(gene, prepend=-1))
    flags = np.ascontiguousarray(known.flags).view(np.uint32)[order].view(np.bool_)  # four at once
    sums = (
        np.add.reduceat(flags, starts, axis=0, dtype=np.float64)
        if len(starts)
        else np.empty((0, 4))
    )
    part, gene = part[starts], gene[starts]
    per_gene = np.stack([sum_by_group(gene, len(genes), column) for column in sums.T], axis=1)
    groups, begins = np.unique(part[: 0 if parts is None else None], return_index=True)
    return LabelSumTable(genes, per_gene, groups, np.append(begins, len(gene)), gene, sums)


def axis_sums(
    queries: Rows,
    known: Knowledge,
    similarity: Similarity,
    power: float,
    k: int | None,
    parts: Parts | None,
) -> Floats:
    """Return the label sums weighted by the similarity of genes, of shape (n_queries, 4)."""
    table = label_sum_table(known, parts)
    sums = np.empty((len(queries), 4))
    for chunk in weight_chunks(queries, table, similarity, power, parts):
        if k is not None:
            sums[chunk.rows] = _nearest_sums(chunk, table, kth_largest_weights(chunk, table, k))
            continue
        # all rows outside each row's group: the totals minus the group's block, or the sum of all
        # other rows; in stretches of whole groups that fit in the processor's caches
        outside, everything = np.empty((len(chunk.rows), 4)), chunk.weights @ table.totals
        ends, start = [rows.stop for _, rows in slices_by_group(chunk.group)], 0
        for end, following in zip(ends, [*ends[1:], None], strict=True):
            if following is None or following - start > STRETCH_ROWS:
                _stretch_sums(chunk, table, everything, slice(start, end), outside[start:end])
                start = end
        sums[chunk.rows] = outside
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class WeightChunk:
    """The weights of some genes, and the query rows of these genes, ordered by group.

    rows: positions among the queries, of shape (n_rows,). weights: of shape (n_genes, n_known), 0
    inside a gene's own part. gene: the row of `weights` for each query row; group: its group in the
    table, -1 if its part has no known row.
    """

    rows: Codes
    weights: Floats
    gene: Codes
    group: Codes


def weight_chunks(
    queries: Rows, table: LabelSumTable, similarity: Similarity, power: float, parts: Parts | None
) -> Iterator[WeightChunk]:
    """Yield the query rows in chunks of their distinct genes."""
    genes, position = distinct_codes(queries.gene)
    group = np.full(len(queries.pert), -1)  # of a query row whose part has no known row
    if parts is not None:
        group_of_part = np.full(parts.pert.max(initial=-1) + 1, -1)
        group_of_part[table.groups] = np.arange(len(table.groups))
        group = group_of_part[parts.pert[queries.pert]]
    size = max(CHUNK_WEIGHTS // max(len(table.genes), 1), 1)
    bits = (len(table.groups) + 1).bit_length()
    order, both = _stable_sort(position // size << bits | group + 1)
    group = (both & ((1 << bits) - 1)) - 1
    bounds = np.cumsum([0, *np.bincount(position // size)])
    for some, (start, end) in zip(batches(len(genes), size), pairwise(bounds), strict=True):
        rows = order[start:end]
        weights = similarity.block(genes[some], table.genes)
        weights = np.square(weights) if power == 2 else weights**power
        if parts is not None:
            weights *= parts.gene[genes[some], None] != parts.gene[table.genes]
        yield WeightChunk(rows, weights, position[rows] - some.start, group[start:end])


def distinct_codes(codes: Codes) -> tuple[Codes, Codes]:
    """Return the distinct codes, ascending, and the position of each row's code among them. Unlike
    np.unique, this takes linear time.
    """
    seen = np.zeros(codes.max(initial=-1) + 1, dtype=np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]


def _stable_sort(codes: Codes) -> tuple[Codes, Codes]:
    """Return the order that sorts codes stably, and the sorted codes.

    Code and position are sorted together as one number, in a quarter of np.argsort's time.
    """
    bits = len(codes).bit_length()
    both = np.sort(codes << bits | np.arange(len(codes)))
    return both & ((1 << bits) - 1), both >> bits


def batches(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cut n items into batches of `size`; the last may be shorter."""
    for start in range(0, n, max(size, 1)):
        yield slice(start, min(start + max(size, 1), n))


def slices_by_group(group: Codes) -> Iterator[tuple[int, slice]]:
    """Yield each group and the slice of its rows; group: the groups of the rows, in ascending
    order."""
    starts = np.flatnonzero(np.diff(group, prepend=-2))
    for start, end in pairwise([*starts.tolist(), len(group)]):
        yield int(group[start]), slice(start, end)


def _stretch_sums(
    chunk: WeightChunk, table: LabelSumTable, everything: Floats, stretch: slice, sums: Floats
) -> None:
    """Write the sums of a stretch of rows into `sums`."""
    weights, gene, groups = chunk.weights, chunk.gene[stretch], chunk.group[stretch]
    before = everything[gene]
    sums[:] = before
    large = []
    for group, rows in slices_by_group(groups):
        known, own = table.sums_inside(group)
        if (rows.stop - rows.start) * len(known) * GATHER_COST > weights.size:
            large.append((group, rows))
        else:
            sums[rows] -= weights[gene[rows, None], known] @ own
    for batch in batches(len(large), BATCH_GROUPS):
        others = np.concatenate([table.sums_outside(group) for group, _ in large[batch]], axis=1)
        product = (weights @ others).reshape(len(weights), -1, 4)
        for column, (_, rows) in enumerate(large[batch]):
            sums[rows] = product[gene[rows], column]
    cancelled = np.flatnonzero((sums < CANCELLATION * before).any(axis=1))
    for group, some in slices_by_group(groups[cancelled]):
        sums[cancelled[some]] = weights[gene[cancelled[some]]] @ table.sums_outside(group)


def _nearest_sums(chunk: WeightChunk, table: LabelSumTable, thresholds: Floats) -> Floats:
    """Return sums over the known rows outside each row's group with at least the weight of the k-th
    largest, the row's threshold.
    """
    sums = np.empty((len(chunk.rows), 4))
    for group, rows in slices_by_group(chunk.group):
        others = table.sums_outside(group)
        for batch in batches(rows.stop - rows.start, CHUNK_WEIGHTS // max(len(table.genes), 1)):
            some = slice(rows.start + batch.start, rows.start + batch.stop)
            sums[some] = zero_below(chunk.weights[chunk.gene[some]], thresholds[some]) @ others
    return sums


def zero_below(weights: Floats, thresholds: Floats) -> Floats:
    """Set the weights below each row's threshold to 0 in place, and return them."""
    weights *= weights >= thresholds[:, None]
    return weights


def kth_largest_weights(chunk: WeightChunk, table: LabelSumTable, k: int) -> Floats:
    """Return each row's k-th largest weight among the genes with known rows outside its group; 0 if
    there are fewer."""
    thresholds, weights = np.zeros(len(chunk.rows)), chunk.weights
    if not weights.shape[1]:
        return thresholds
    # the largest number of genes whose rows all lie in a single group
    gone = table.sums[:, 0] == table.totals[table.gene, 0]
    lost = (
        int(np.add.reduceat(gone, table.starts[:-1], dtype=np.intp).max(initial=0))
        if len(gone)
        else 0
    )
    width = min(k + lost, weights.shape[1])
    near = np.argpartition(-weights, width - 1, axis=1)[:, :width]
    near_weights = np.take_along_axis(weights, near, axis=1)
    order = np.argsort(-near_weights, axis=1)
    near, near_weights = (
        np.take_along_axis(near, order, axis=1),
        np.take_along_axis(near_weights, order, axis=1),
    )
    for group, rows in slices_by_group(chunk.group):
        visible = table.sums_outside(group)[:, 0] > 0
        gene = chunk.gene[rows]
        last = np.cumsum(visible[near[gene]], axis=1) == k
        thresholds[rows] = np.where(last.any(axis=1), near_weights[gene, last.argmax(axis=1)], 0.0)
    return thresholds * TIE_FACTOR
