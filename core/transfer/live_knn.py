"""A kNN whose settings change on a page: similarities are cached, so a new power, k or space is
cheap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.base.errors import InputError
from core.stats.arrays import Codes, Floats
from core.transfer.knn import Priors, Similarities, knn_priors, require_similarity
from core.transfer.prior_provenance import Provenance, explain_prior
from core.transfer.protocols import (
    EvaluationProtocol,
    SimilaritySettings,
    find_leaking_spaces,
    parts_of,
    shrink_by_support,
    similarities_of,
)
from core.transfer.row_index import Knowledge, Parts, Rows
from core.transfer.similarity import (
    ConstantSimilarity,
    Cosines,
    SimilarityMatrices,
    Space,
    unit_vectors,
)

MAX_SYMBOLS = 4_000  # a larger matrix takes too much memory (over 128 MB) for the time it saves
MAX_MATRICES = 8  # in the cache at a time; the oldest is dropped


@dataclass(frozen=True, slots=True, eq=False)
class LiveKnn:
    """Query rows, their knowledge base and protocol, and a cache of each space's cosines; made by
    `live_knn`.

    cosines: (space, centred) → matrix of shape (n_symbols, n_symbols), for spaces over up to
    MAX_SYMBOLS symbols.
    """

    queries: Rows
    known: Knowledge
    parts: Parts | None
    spaces: dict[str, Space]
    cosines: dict[tuple[str, bool], Floats] = field(default_factory=dict)

    def priors(self, names: Sequence[str], similarity: SimilaritySettings) -> Priors:
        """Return the priors from the ensemble of the named spaces."""
        similar = self.similar(names, similarity)
        priors = knn_priors(self.queries, self.known, similar, similarity.weighting, self.parts)
        return shrink_by_support(priors, similarity, self.known, similar, self.parts)

    def null(self, similarity: SimilaritySettings) -> Priors:
        """Return the null priors: those of a space in which all symbols are equally similar."""
        return knn_priors(
            self.queries,
            self.known,
            Similarities(ConstantSimilarity(), ConstantSimilarity()),
            similarity.weighting,
            self.parts,
        )

    def explain(
        self,
        row: int,
        names: Sequence[str],
        similarity: SimilaritySettings,
        without: Codes | None = None,
    ) -> Provenance:
        """Return the neighbours of one query row; without: positions in the knowledge base to leave
        out."""
        codes = int(self.queries.pert[row]), int(self.queries.gene[row])
        return explain_prior(
            codes,
            self.known,
            self.similar(names, similarity),
            similarity.weighting,
            self.parts,
            without,
        )

    def similarity_by_space(
        self, row: int, neighbours: Codes, names: Sequence[str], similarity: SimilaritySettings
    ) -> Floats:
        """Return the similarity of one query row to labelled rows in each of the named spaces, of
        shape (n_spaces, n).

        neighbours: positions in the knowledge base, of shape (n,). NaN if the space does not cover
        both symbols; of the genes if both axes count.
        """
        by_pert, known = similarity.weighting.axis == "pert", self.known.rows
        query = (self.queries.pert if by_pert else self.queries.gene)[[row]]
        codes = (known.pert if by_pert else known.gene)[neighbours]
        values: Floats = np.full((len(names), len(codes)), np.nan)
        for of_space, name in zip(values, names, strict=True):
            space = require_similarity(self.similar((name,), similarity).gene, "gene")
            is_covered = space.covers(codes)[0] & space.covers(query)[0]
            of_space[is_covered] = space.block(query, codes[is_covered])[0]
        return values

    def similar(self, names: Sequence[str], similarity: SimilaritySettings) -> Similarities:
        """Return the similarities of the ensemble of the named spaces."""
        if not names or any(len(self.spaces[name].columns) > MAX_SYMBOLS for name in names):
            return similarities_of([self.spaces[name] for name in names], self.known, similarity)
        matrices = tuple(self._cosines(name, similarity.centre) for name in names)
        ensemble = SimilarityMatrices(
            matrices, np.stack([matrix.diagonal() > 0 for matrix in matrices])
        )
        return Similarities(ensemble, ensemble)

    def _cosines(self, name: str, centre: bool) -> Floats:
        cosines = self.cosines.get((name, centre))
        if cosines is None:
            columns = self.spaces[name].columns
            units = unit_vectors(columns, np.unique(self.known.rows.gene) if centre else None)
            symbols = np.arange(len(columns))
            while len(self.cosines) >= MAX_MATRICES:
                self.cosines.pop(next(iter(self.cosines)), None)
            cosines = self.cosines[name, centre] = Cosines((units,)).block(symbols, symbols)
        return cosines


def live_knn(
    protocol: EvaluationProtocol,
    queries: Rows,
    known: Knowledge,
    spaces: Sequence[Space],
    evaluated: str = "",
    cosines: dict[tuple[str, bool], Floats] | None = None,
) -> LiveKnn:
    """Prepare kNN priors. Raise InputError for a space built from the labels on which it would be
    evaluated.

    cosines: the cache; live kNNs over the same symbols and knowledge base may share it.
    """
    for space in find_leaking_spaces(spaces, evaluated):
        raise InputError(
            f"space {space.name}: built from the labels of {space.built_from}, on which it would be"
            " evaluated. Expected a space without labels (one that is rebuilt for each cell of"
            " folds cannot be changed live)"
        )
    parts = parts_of(protocol, queries, known.rows)
    return LiveKnn(
        queries,
        known,
        parts,
        {space.name: space for space in spaces},
        {} if cosines is None else cosines,
    )
