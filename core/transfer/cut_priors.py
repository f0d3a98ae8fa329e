"""The priors of a kNN under several cuts of the folds, with the vectors as they are or permuted
among the covered symbols.

Everything that does not depend on the cut, above all the similarities, is computed once. Spaces
built from these labels are rebuilt for each cell of each cut.

The priors under one cut of folds come from a single sparse product, with the vectors of a space as
they are or permuted.

The labels of the knowledge base are counted by part of the perturbations, part of the genes, class
and gene. Multiplying counts by weights gives the weighted counts around every gene. A row's label
sums add up all parts except its own two. Nothing is subtracted, so an empty sum is exactly 0. To
permute the vectors among the genes, the counts move to other vectors and the weights between
vectors stay. The priors equal those of `core.transfer.knn`, except for rounding. Nearest neighbours
and the product of both axes are not supported. The code is written for the gene axis; for the
perturbation axis, the two axes are swapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.stats.arrays import Bools, Codes, Floats
from core.transfer.knn import (
    Priors,
    Similarities,
    batches,
    distinct_codes,
    priors_of_sums,
    require_similarity,
)
from core.transfer.protocols import (
    MAX_SYMBOLS,
    EvaluationProtocol,
    KnnInputs,
    LiveKnn,
    QueryGroup,
    cells_of,
    find_leaking_spaces,
    parts_of,
    priors_of_groups,
    query_groups,
    shrink_by_support,
    similarities_of,
)
from core.transfer.row_index import EFFECT, Knowledge, Parts, Rows
from core.transfer.similarity import PermutedSimilarity, Similarity

# label classes: none, changed, down, up; each flag counts its own class and all later ones
CLASSES = 4
CHUNK_COLUMNS = 256  # the weights of this many genes fit in the processor's caches
BATCH = 8  # permutations at a time


@dataclass(frozen=True, slots=True, eq=False)
class WeightTable:
    """The weights between the genes of query rows and of a knowledge base, the same for every cut.

    genes: distinct codes, ascending, of shape (n_genes,). coverage: a code for the set of spaces
    that cover each gene. by_power: the weights for prior_de and for prior_up, known genes by query
    genes, in chunks of query genes.
    """

    genes: Codes
    coverage: Codes
    by_power: tuple[Sequence[Floats], Sequence[Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class FoldSums:
    """The counts of one cut; made by `fold_sums`.

    bins: of each known row its (part of perturbations, part of genes, class) as one code;
    known_gene, query_gene: positions in the table. gene_part: of each gene of the table;
    query_pert_part: of each query row. k: number of parts on each axis.
    """

    table: WeightTable
    k: int
    bins: Codes
    known_gene: Codes
    query_gene: Codes
    query_pert_part: Codes
    gene_part: Codes

    def priors(self, keys: Sequence[Floats | None]) -> Iterator[Priors]:
        """Yield the priors of the query rows for each permutation. keys: random keys of all
        symbols; None: do not permute."""
        n = len(self.table.genes)
        for batch in batches(len(keys), BATCH):
            owners = [
                np.arange(n)
                if each is None
                else permute_within(self.table.coverage, each[self.table.genes])
                for each in keys[batch]
            ]
            de_chunks, up_chunks = self.table.by_power
            up_sums = self._label_sums(up_chunks, owners)
            de_sums = up_sums if de_chunks is up_chunks else self._label_sums(de_chunks, owners)
            yield from map(priors_of_sums, de_sums, up_sums)

    def _label_sums(self, chunks: Sequence[Floats], owners: Sequence[Codes]) -> list[Floats]:
        """Return the label sums of the query rows for each permutation, each of shape (n_queries,
        4).

        owners: of each permutation, the position of the vector that each gene gets.
        """
        from scipy.sparse import csr_array

        n_bins = self.k**2 * CLASSES
        bins = np.concatenate([self.bins + n_bins * i for i in range(len(owners))])
        vectors = np.concatenate([at[self.known_gene] for at in owners])
        counts = csr_array(
            (np.ones(len(bins)), (bins, vectors)),
            shape=(n_bins * len(owners), len(self.table.genes)),
        )
        weighted = np.concatenate([counts @ chunk for chunk in chunks], axis=1)
        # the vector at each position
        around = weighted.reshape(len(owners), self.k, self.k, CLASSES, -1)
        return [self._sums_outside(one, at) for one, at in zip(around, owners, strict=True)]

    def _sums_outside(self, weighted: Floats, at: Codes) -> Floats:
        """Return the sums over all parts except each query row's own; weighted: of shape (k, k,
        CLASSES, n_genes)."""
        part = np.empty_like(self.gene_part)
        part[at] = self.gene_part
        by_pert_part = np.tensordot(1.0 - np.eye(self.k), weighted, axes=1)
        outside = np.einsum(
            "ijcg,jg->igc", by_pert_part, (part != np.arange(self.k)[:, None]).astype(np.float64)
        )
        return _flag_sums(outside[self.query_pert_part, at[self.query_gene]])


SEEDS = tuple(range(10))  # of the cuts whose mean is the score of a space
# one random number for each symbol, which permutes the vectors; None leaves them as they are
Keys = Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class CutPriors:
    """The folds of one seed. cells: each query row's cell; base_rates: of the labelled rows that
    each query row may see.

    predict: yields the priors of the query rows for each permutation.
    """

    seed: int
    cells: Codes
    base_rates: Priors
    predict: Callable[[Sequence[Keys]], Iterator[Priors]]


def prepare_cuts(knn: KnnInputs, k: int = 5, seeds: Sequence[int] = SEEDS) -> Iterator[CutPriors]:
    """Yield each cut of perturbations and genes into k parts. Raise InputError for a space that may
    not be evaluated on these labels.
    """
    leaks = bool(find_leaking_spaces(knn.spaces, knn.evaluated))
    table = None if leaks else _table_of(knn)
    if table is None and not leaks and knn.similar is None:
        spaces = {space.name: space for space in knn.spaces}
        knn = replace(
            knn,
            similar=LiveKnn(knn.queries, knn.known, None, spaces).similar(
                tuple(spaces), knn.similarity
            ),
        )
    for seed in seeds:
        protocol = EvaluationProtocol("folds", k, seed)
        parts = parts_of(protocol, knn.queries, knn.known.rows)
        cells = cells_of(protocol, knn.queries, parts)
        assert parts is not None
        assert cells is not None
        if table is None:
            predict = _predict_groups(knn, query_groups(protocol, knn, parts), parts)
        else:
            predict = _predict_sums(knn, table, parts)
        yield CutPriors(seed, cells, fold_base_rates(knn.queries, knn.known, parts), predict)


def _table_of(knn: KnnInputs) -> WeightTable | None:
    """Return the weights between all genes (perturbations).

    Return None if neighbours are ranked, if both axes count or if there are too many genes.
    """
    weighting = knn.similarity.weighting
    if weighting.k is not None or weighting.axis == "both":
        return None
    queries, known = knn.queries, knn.known.rows
    if weighting.axis == "pert":
        queries, known = queries.swap_axes(), known.swap_axes()
    if len(np.union1d(queries.gene, known.gene)) > MAX_SYMBOLS:
        return None
    similar = knn.similar or similarities_of(knn.spaces, knn.known, knn.similarity)
    similarity = similar.gene if weighting.axis == "gene" else similar.pert
    return weight_table(
        queries, known, require_similarity(similarity, weighting.axis), weighting.powers
    )


def _predict_sums(
    knn: KnnInputs, table: WeightTable, parts: Parts
) -> Callable[[Sequence[Keys]], Iterator[Priors]]:
    queries, known, along = knn.queries, knn.known, parts
    if knn.similarity.weighting.axis == "pert":
        queries, known, along = queries.swap_axes(), known.swap_axes(), parts.swap_axes()
    sums = fold_sums(table, queries, known, along)

    def predict(keys: Sequence[Keys]) -> Iterator[Priors]:
        for priors in sums.priors(keys):
            yield shrink_by_support(priors, knn.similarity, knn.known, Similarities(), parts)

    return predict


def _predict_groups(
    knn: KnnInputs, groups: Sequence[QueryGroup], parts: Parts
) -> Callable[[Sequence[Keys]], Iterator[Priors]]:
    def predict(keys: Sequence[Keys]) -> Iterator[Priors]:
        for each in keys:
            permuted = (
                groups if each is None else [_permute_group(group, knn, each) for group in groups]
            )
            yield priors_of_groups(permuted, knn.queries, knn.known, knn.similarity, parts)

    return predict


def _permute_group(group: QueryGroup, knn: KnnInputs, keys: Floats) -> QueryGroup:
    axis, known = knn.similarity.weighting.axis, knn.known.rows
    gene = (
        _permute(group.similar.gene, np.union1d(knn.queries.gene, known.gene), keys)
        if axis != "pert"
        else None
    )
    pert = (
        _permute(group.similar.pert, np.union1d(knn.queries.pert, known.pert), keys)
        if axis != "gene"
        else None
    )
    return replace(group, similar=Similarities(gene, pert))


def _permute(similarity: Similarity | None, symbols: Codes, keys: Floats) -> Similarity:
    """Return the similarity after permuting the vectors among symbols covered by the same
    spaces."""
    inner = require_similarity(similarity, "permuted")
    owner = np.arange(len(keys))
    owner[symbols] = symbols[permute_within(coverage_classes(inner.covers(symbols)), keys[symbols])]
    return PermutedSimilarity(inner, owner)


def weight_table(
    queries: Rows, known: Rows, similarity: Similarity, powers: tuple[float, float]
) -> WeightTable:
    """Return the table of a similarity; powers: of prior_de and of prior_up."""
    genes, _ = distinct_codes(np.concatenate((queries.gene, known.gene)))
    similar = similarity.block(genes, genes)
    chunks = {
        power: [
            np.ascontiguousarray(similar[some].T ** power)
            for some in batches(len(genes), CHUNK_COLUMNS)
        ]
        for power in set(powers)
    }
    return WeightTable(
        genes, coverage_classes(similarity.covers(genes)), (chunks[powers[0]], chunks[powers[1]])
    )


def coverage_classes(covered: Bools) -> Codes:
    """Return a code for each symbol, equal for symbols covered by the same spaces; covered: of
    shape (n_spaces, n_symbols)."""
    return np.unique(covered, axis=1, return_inverse=True)[1].reshape(-1)


def permute_within(classes: Codes, keys: Floats) -> Codes:
    """Return the symbol whose vector each symbol gets, of shape (n_symbols,); random keys permute
    the vectors within each class.
    """
    permuted = np.empty(len(classes), dtype=np.intp)
    permuted[np.argsort(classes, kind="stable")] = np.lexsort((keys, classes))
    return permuted


def fold_sums(table: WeightTable, queries: Rows, known: Knowledge, parts: Parts) -> FoldSums:
    """Return the counts of a cut. parts: the part of every symbol of the rows."""
    k = _n_parts(parts)
    bins = _bins(known, parts, k)
    known_gene, query_gene = (
        np.searchsorted(table.genes, rows.gene) for rows in (known.rows, queries)
    )
    return FoldSums(
        table, k, bins, known_gene, query_gene, parts.pert[queries.pert], parts.gene[table.genes]
    )


def fold_base_rates(queries: Rows, known: Knowledge, parts: Parts) -> Priors:
    """Return the priors of equal weights under a cut: the base rates of the labelled rows visible
    to each query row."""
    k = _n_parts(parts)
    counts = (
        np.bincount(_bins(known, parts, k), minlength=k**2 * CLASSES)
        .reshape(k, k, CLASSES)
        .astype(np.float64)
    )
    others = 1.0 - np.eye(k)
    outside = np.einsum("ia,jb,abc->ijc", others, others, counts)
    sums = _flag_sums(outside[parts.pert[queries.pert], parts.gene[queries.gene]])
    return priors_of_sums(sums, sums)


def _n_parts(parts: Parts) -> int:
    return int(max(parts.pert.max(initial=0), parts.gene.max(initial=0))) + 1


def _bins(known: Knowledge, parts: Parts, k: int) -> Codes:
    """Return the part of the perturbations, the part of the genes and the class of each known row,
    as one code."""
    classes = known.flags[:, EFFECT:].sum(axis=1)
    return np.asarray(
        (parts.pert[known.rows.pert] * k + parts.gene[known.rows.gene]) * CLASSES + classes
    )


def _flag_sums(counts: Floats) -> Floats:
    """Return sums by flag (labelled, effect, directed, up) from counts by class: a flag holds for
    its class and later ones."""
    return np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
