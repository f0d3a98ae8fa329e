"""Weighted label sums: similarities live on distinct genes, so all rows' sums are one matrix product.

What a row may not see is its own part of the genes, whose weights are set to 0, and its own part of the perturbations,
whose rows are a small block that is subtracted. Where most would be subtracted, the rest is summed instead. Genes are
worked through in chunks, so that memory does not grow with their square. Everything here is written for the gene
axis; the perturbation axis is the same with the two exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.stats.arrays import Codes, Floats, sum_by_group
from core.transfer.labelled_rows import Knowledge, Parts, Rows
from core.transfer.similarity import Similarity

CHUNK = 2**24  # weights held at a time: 128 MB
BATCH = 128  # groups that share one product, for which the weights are read once
DENSE = 16  # a block's element, gathered one by one, costs as much as so many of a product
CANCELLED = 1e-4  # a sum that keeps less than this of what it was before a subtraction is summed anew
STRETCH = 2**17  # rows that are worked on at a time: 4 MB of sums, which stay in the caches
LEVEL = 1 - 1e-9  # weights that differ by less, as rounding makes them, are level


@dataclass(frozen=True, slots=True, eq=False)
class LabelSumTable:
    """Label sums of a knowledge base per distinct gene, in all and for each group (part) of perturbations.

    genes: codes of shape (n_known,). totals: of shape (n_known, 4). groups: the parts, ascending. starts: where each
    group's entries begin, of shape (n_groups + 1,). gene: positions in `genes`, and sums (4 columns), of each entry.
    """

    genes: Codes
    totals: Floats
    groups: Codes
    starts: Codes
    gene: Codes
    sums: Floats

    def own(self, group: int) -> tuple[Codes, Floats]:
        """The positions and the label sums of a group's genes; empty for group -1."""
        entries = slice(self.starts[group], self.starts[group + 1]) if group >= 0 else slice(0)
        return self.gene[entries], self.sums[entries]

    def others(self, group: int) -> Floats:
        """Label sums of the rows outside the group, of shape (n_known, 4): whole numbers, so exact."""
        gene, sums = self.own(group)
        rest = self.totals.copy()
        rest[gene] -= sums
        return rest

    def emptied(self) -> int:
        """The most genes that lose all their rows with one group."""
        gone = self.sums[:, 0] == self.totals[self.gene, 0]
        return int(np.add.reduceat(gone, self.starts[:-1], dtype=np.intp).max(initial=0)) if len(gone) else 0


def label_sum_table(known: Knowledge, parts: Parts | None) -> LabelSumTable:
    """The label sums of a knowledge base; without parts there are no groups."""
    genes, gene = distinct_codes(known.rows.gene)
    part = np.zeros(len(known), dtype=np.intp) if parts is None else parts.pert[known.rows.pert]
    bits = len(genes).bit_length()
    order, both = _sorted(part << bits | gene)
    part, gene = both >> bits, both & ((1 << bits) - 1)
    starts = np.flatnonzero(np.diff(part, prepend=-1) | np.diff(gene, prepend=-1))
    flags = np.ascontiguousarray(known.flags).view(np.uint32)[order].view(np.bool_)  # four at once
    sums = np.add.reduceat(flags, starts, axis=0, dtype=np.float64) if len(starts) else np.empty((0, 4))
    part, gene = part[starts], gene[starts]
    per_gene = np.stack([sum_by_group(gene, len(genes), column) for column in sums.T], axis=1)
    groups, begins = np.unique(part[: 0 if parts is None else None], return_index=True)
    return LabelSumTable(genes, per_gene, groups, np.append(begins, len(gene)), gene, sums)


def axis_sums(
    queries: Rows, known: Knowledge, similarity: Similarity, power: float, k: int | None, parts: Parts | None
) -> Floats:
    """Label sums weighted by the similarity of genes, of shape (n_queries, 4)."""
    table = label_sum_table(known, parts)
    sums = np.empty((len(queries), 4))
    for chunk in weight_chunks(queries, table, similarity, power, parts):
        sums[chunk.rows] = (
            _all_sums(chunk, table) if k is None else _nearest_sums(chunk, table, kth_largest_weights(chunk, table, k))
        )
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class WeightChunk:
    """Some genes' weights, and the query rows of these genes, in the order of their groups.

    rows: positions among the queries, of shape (n_rows,). weights: of shape (n_genes, n_known), 0 inside a gene's own
    part. gene: each row's row of `weights`; group: its own group in the table, -1 where no known row is in its part.
    """

    rows: Codes
    weights: Floats
    gene: Codes
    group: Codes


def weight_chunks(
    queries: Rows, table: LabelSumTable, similarity: Similarity, power: float, parts: Parts | None
) -> Iterator[WeightChunk]:
    """The query rows, a chunk of their distinct genes after the other."""
    genes, position = distinct_codes(queries.gene)
    group = _groups_of(queries.pert, table, parts)
    size = max(CHUNK // max(len(table.genes), 1), 1)
    bits = (len(table.groups) + 1).bit_length()
    order, both = _sorted(position // size << bits | group + 1)
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
    """The distinct codes, ascending, and the position of each row's own among them; linear, unlike np.unique."""
    seen = np.zeros(codes.max(initial=-1) + 1, dtype=np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]


def _sorted(codes: Codes) -> tuple[Codes, Codes]:
    """What sorts codes stably, and the sorted codes: each is sorted with its place in one number, which takes a quarter of
    np.argsort's time and saves a gather."""
    bits = len(codes).bit_length()
    both = np.sort(codes << bits | np.arange(len(codes)))
    return both & ((1 << bits) - 1), both >> bits


def batches(n: int, size: int) -> Iterator[slice]:
    """Cuts n into runs of `size`, the last one shorter."""
    for start in range(0, n, max(size, 1)):
        yield slice(start, min(start + max(size, 1), n))


def _groups_of(pert: Codes, table: LabelSumTable, parts: Parts | None) -> Codes:
    if parts is None:
        return np.full(len(pert), -1)
    at = np.full(parts.pert.max(initial=-1) + 1, -1)
    at[table.groups] = np.arange(len(table.groups))
    return at[parts.pert[pert]]


def slices_by_group(group: Codes) -> Iterator[tuple[int, slice]]:
    """Each group, and where its rows stand among rows in the order of their groups."""
    starts = np.flatnonzero(np.diff(group, prepend=-2))
    for start, end in pairwise([*starts.tolist(), len(group)]):
        yield int(group[start]), slice(start, end)


def _all_sums(chunk: WeightChunk, table: LabelSumTable) -> Floats:
    """Sums over all rows outside each row's group: the totals less the group's block, or all others at once."""
    sums = np.empty((len(chunk.rows), 4))
    everything = chunk.weights @ table.totals
    for rows in _stretches(chunk.group):
        _stretch_sums(chunk, table, everything, rows, sums[rows])
    return sums


def _stretches(group: Codes) -> Iterator[slice]:
    """Rows of whole groups, some at a time, so that what is worked on stays in the processor's caches."""
    ends = [rows.stop for _, rows in slices_by_group(group)]
    start = 0
    for end, following in zip(ends, [*ends[1:], None], strict=True):
        if following is None or following - start > STRETCH:
            yield slice(start, end)
            start = end


def _stretch_sums(chunk: WeightChunk, table: LabelSumTable, everything: Floats, stretch: slice, sums: Floats) -> None:
    """The sums of a stretch of rows, written into `sums`."""
    weights, gene, groups = chunk.weights, chunk.gene[stretch], chunk.group[stretch]
    before = everything[gene]
    sums[:] = before
    large = []
    for group, rows in slices_by_group(groups):
        known, own = table.own(group)
        if (rows.stop - rows.start) * len(known) * DENSE > weights.size:
            large.append((group, rows))
        else:
            sums[rows] -= weights[gene[rows, None], known] @ own
    for batch in batches(len(large), BATCH):
        others = np.concatenate([table.others(group) for group, _ in large[batch]], axis=1)
        product = (weights @ others).reshape(len(weights), -1, 4)
        for column, (_, rows) in enumerate(large[batch]):
            sums[rows] = product[gene[rows], column]
    cancelled = np.flatnonzero((sums < CANCELLED * before).any(axis=1))
    for group, some in slices_by_group(groups[cancelled]):
        sums[cancelled[some]] = weights[gene[cancelled[some]]] @ table.others(group)


def _nearest_sums(chunk: WeightChunk, table: LabelSumTable, least: Floats) -> Floats:
    """Sums over the rows outside each row's group whose weight is at least what the row keeps."""
    sums = np.empty((len(chunk.rows), 4))
    for group, rows in slices_by_group(chunk.group):
        others = table.others(group)
        for batch in batches(rows.stop - rows.start, CHUNK // max(len(table.genes), 1)):
            some = slice(rows.start + batch.start, rows.start + batch.stop)
            sums[some] = zero_below(chunk.weights[chunk.gene[some]], least[some]) @ others
    return sums


def zero_below(weights: Floats, least: Floats) -> Floats:
    """Rows of weights, in place, with 0 for those below what the row keeps."""
    weights *= weights >= least[:, None]
    return weights


def kth_largest_weights(chunk: WeightChunk, table: LabelSumTable, k: int) -> Floats:
    """Each row's k-th largest weight among the genes with rows outside its group, 0 where there are fewer."""
    least, weights = np.zeros(len(chunk.rows)), chunk.weights
    if not weights.shape[1]:
        return least
    width = min(k + table.emptied(), weights.shape[1])
    near = np.argpartition(-weights, width - 1, axis=1)[:, :width]
    near_weights = np.take_along_axis(weights, near, axis=1)
    order = np.argsort(-near_weights, axis=1)
    near, near_weights = np.take_along_axis(near, order, axis=1), np.take_along_axis(near_weights, order, axis=1)
    for group, rows in slices_by_group(chunk.group):
        there = table.others(group)[:, 0] > 0
        gene = chunk.gene[rows]
        last = np.cumsum(there[near[gene]], axis=1) == k
        least[rows] = np.where(last.any(axis=1), near_weights[gene, last.argmax(axis=1)], 0.0)
    return least * LEVEL
