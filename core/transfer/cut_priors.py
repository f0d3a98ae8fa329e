"""The priors of a kNN under several cuts of the folds, with the vectors as they are or permuted among the covered symbols.

What does not depend on the cut, the similarities above all, is computed once. Spaces that are built from these labels are
rebuilt for each cell of each cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.stats.arrays import Codes, Floats
from core.transfer.fold_sums import WeightTable, coverage_classes, fold_base_rates, fold_sums, permute_within, weight_table
from core.transfer.knn import Priors, Similarities, require_similarity
from core.transfer.labelled_rows import Parts
from core.transfer.live_knn import MAX_SYMBOLS, LiveKnn
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    QueryGroup,
    cells_of,
    find_leaking_spaces,
    parts_of,
    priors_of_groups,
    query_groups,
    shrink_by_support,
    similarities_of,
)
from core.transfer.similarity import PermutedSimilarity, Similarity

SEEDS = tuple(range(10))  # of the cuts that the number of a space is the mean of
Keys = Floats | None  # one random number for each symbol, which permutes the vectors; None leaves them as they are


@dataclass(frozen=True, slots=True, eq=False)
class CutPriors:
    """The folds of one seed. cells: each query row's cell; base_rates: of the labelled rows that it may see.

    predict: yields the priors of the query rows for each of some permutations.
    """

    seed: int
    cells: Codes
    base_rates: Priors
    predict: Callable[[Sequence[Keys]], Iterator[Priors]]


def prepare_cuts(knn: KnnInputs, k: int = 5, seeds: Sequence[int] = SEEDS) -> Iterator[CutPriors]:
    """Yield each cut of perturbations and genes into k parts. Raise InputError for a space that may not be evaluated here."""
    leaks = bool(find_leaking_spaces(knn.spaces, knn.evaluated))
    table = None if leaks else _table_of(knn)
    if table is None and not leaks:
        knn = _with_similarities(knn)
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
    """The weights between all genes (perturbations); None where neighbours are ranked, both axes count or there are too many."""
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
    return weight_table(queries, known, require_similarity(similarity, weighting.axis), weighting.powers)


def _with_similarities(knn: KnnInputs) -> KnnInputs:
    if knn.similar is not None:
        return knn
    spaces = {space.name: space for space in knn.spaces}
    similar = LiveKnn(knn.queries, knn.known, None, spaces).similar(tuple(spaces), knn.similarity)
    return KnnInputs(knn.queries, knn.known, knn.spaces, knn.similarity, knn.evaluated, similar)


def _predict_sums(knn: KnnInputs, table: WeightTable, parts: Parts) -> Callable[[Sequence[Keys]], Iterator[Priors]]:
    queries, known, along = knn.queries, knn.known, parts
    if knn.similarity.weighting.axis == "pert":
        queries, known, along = queries.swap_axes(), known.swap_axes(), parts.swap_axes()
    sums = fold_sums(table, queries, known, along)

    def predict(keys: Sequence[Keys]) -> Iterator[Priors]:
        for priors in sums.priors(keys):
            yield shrink_by_support(priors, knn.similarity, knn.known, Similarities(), parts)

    return predict


def _predict_groups(knn: KnnInputs, groups: Sequence[QueryGroup], parts: Parts) -> Callable[[Sequence[Keys]], Iterator[Priors]]:
    def predict(keys: Sequence[Keys]) -> Iterator[Priors]:
        for each in keys:
            permuted = groups if each is None else [_permute_group(group, knn, each) for group in groups]
            yield priors_of_groups(permuted, knn.queries, knn.known, knn.similarity, parts)

    return predict


def _permute_group(group: QueryGroup, knn: KnnInputs, keys: Floats) -> QueryGroup:
    axis, known = knn.similarity.weighting.axis, knn.known.rows
    gene = _permute(group.similar.gene, np.union1d(knn.queries.gene, known.gene), keys) if axis != "pert" else None
    pert = _permute(group.similar.pert, np.union1d(knn.queries.pert, known.pert), keys) if axis != "gene" else None
    return QueryGroup(group.rows, group.known, group.known_positions, Similarities(gene, pert), group.parts)


def _permute(similarity: Similarity | None, symbols: Codes, keys: Floats) -> Similarity:
    """The similarity with the vectors of these symbols exchanged among those that the same spaces cover."""
    inner = require_similarity(similarity, "permuted")
    owner = np.arange(len(keys))
    owner[symbols] = symbols[permute_within(coverage_classes(inner.covers(symbols)), keys[symbols])]
    return PermutedSimilarity(inner, owner)
