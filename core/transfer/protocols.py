"""Evaluation protocols of a kNN. They limit the labelled rows behind each prediction, so that no
row sees its own label.

test: other rows are predicted from all labelled rows of the training split. loo (leave one out): a
row never sees rows that share its perturbation or its gene. The visible rows then differ from row
to row, which pushes the priors of flat similarities away from the hidden labels. So compare the
score with its null, equal weights. folds: perturbations and genes are each cut into k parts. A cell
is predicted from the rows outside both of its parts and scored inside itself, which removes this
bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.base.fields.setting import Share, Whole, setting
from core.stats import validate
from core.stats.arrays import Codes, Floats
from core.transfer.knn import (
    DEFAULT,
    Priors,
    Similarities,
    Weighting,
    knn_priors,
    require_similarity,
)
from core.transfer.prior_provenance import Provenance, explain_prior
from core.transfer.row_index import Knowledge, Parts, Rows, visible_rows
from core.transfer.similarity import (
    ConstantSimilarity,
    Cosines,
    SimilarityMatrices,
    Space,
    cosine_similarity,
    unit_vectors,
)

Kind = Literal["test", "loo", "folds"]


@dataclass(frozen=True, slots=True)
class EvaluationProtocol:
    """A protocol; k and seed determine the cut of the folds."""

    kind: Annotated[
        Kind,
        setting(
            "Which labels a row is predicted without: those of its perturbation's part and its"
            " gene's part (folds), those of its perturbation and its gene (leave-one-out), or none,"
            " for rows without a label.",
            title="Protocol",
            words={"test": "for rows without a label", "loo": "leave-one-out", "folds": "folds"},
            name="protocol",
        ),
    ] = "folds"
    k: Annotated[
        int,
        Ge(2),
        setting(
            "The number of parts into which folds cut perturbations and genes.",
            title="Folds",
            name="folds",
        ),
    ] = 5
    seed: Annotated[
        Whole, setting("The random seed of the folds.", title="Seed of the folds", key="fold_seed")
    ] = 0


@dataclass(frozen=True, slots=True)
class SimilaritySettings:
    """Settings for computing similarities and for turning them into priors.

    centre: subtract the mean vector of the knowledge base's genes first. strength: in [0, 1], how
    strongly the best supported priors of an effect are shrunk towards 0.5 (see
    `core.transfer.protocols`); 0 leaves them unchanged.
    """

    weighting: Weighting = DEFAULT
    centre: Annotated[
        bool,
        setting(
            "Subtract the mean of the labelled genes before cosines are computed.", title="Centred"
        ),
    ] = False
    strength: Annotated[
        Share,
        setting(
            "How far the priors of an effect with the best support move towards 0.5. Above 0, the"
            " power for an effect is 1 unless it is chosen.",
            title="Support strength",
            option="--support-aware",
        ),
    ] = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class KnnInputs:
    """The inputs of the priors of query rows, the same for every protocol.

    spaces: over the symbols indexed by the rows' codes. evaluated: the name of the labels used to
    score the priors. similar: the similarities of the spaces, if already computed.
    """

    queries: Rows
    known: Knowledge
    spaces: tuple[Space, ...]
    similarity: SimilaritySettings
    evaluated: str = ""
    similar: Similarities | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QueryGroup:
    """Query rows that share a knowledge base, and the inputs of their priors.

    rows: positions among the queries; known_positions: of `known` in the whole knowledge base;
    parts: as in `knn_priors`.
    """

    rows: Codes
    known: Knowledge
    known_positions: Codes
    similar: Similarities
    parts: Parts | None


@dataclass(frozen=True, slots=True, eq=False)
class KnnPrediction:
    """Priors under a protocol, the null priors of equal weights, and the cells to score within
    (None: all pairs).

    null: equals the base rates of the labelled rows that each row may see; it replaces missing
    priors. groups: the query rows by knowledge base; each row is in one group.
    """

    priors: Priors
    null: Priors
    cells: Codes | None
    groups: tuple[QueryGroup, ...]


def parts_of(protocol: EvaluationProtocol, *rows: Rows) -> Parts | None:
    """Return the parts that limit which of these rows see each other; None if every row sees the
    whole knowledge base."""
    if protocol.kind == "test":
        return None
    perts, genes = (
        np.concatenate(axis)
        for axis in zip(*((some.pert, some.gene) for some in rows), strict=True)
    )
    if protocol.kind == "loo":
        return Parts(np.arange(perts.max(initial=-1) + 1), np.arange(genes.max(initial=-1) + 1))
    k = validate.whole_number("k", protocol.k, 2)
    rng = np.random.default_rng(protocol.seed)
    return Parts(_cut_into_parts(perts, k, rng), _cut_into_parts(genes, k, rng))


def cells_of(protocol: EvaluationProtocol, rows: Rows, parts: Parts | None) -> Codes | None:
    """Return each row's cell under folds, codes from 0 to k² - 1; None under the other
    protocols."""
    if protocol.kind != "folds" or parts is None:
        return None
    return parts.pert[rows.pert] * protocol.k + parts.gene[rows.gene]


def predict_priors(
    protocol: EvaluationProtocol,
    queries: Rows,
    known: Knowledge,
    spaces: Sequence[Space],
    similarity: SimilaritySettings = SimilaritySettings(),
    evaluated: str = "",
) -> KnnPrediction:
    """Return the result of `predict_knn` for these inputs (see `KnnInputs`)."""
    return predict_knn(protocol, KnnInputs(queries, known, tuple(spaces), similarity, evaluated))


def predict_knn(protocol: EvaluationProtocol, knn: KnnInputs) -> KnnPrediction:
    """Return the priors of the query rows from the labelled rows of the knowledge base, with the
    ensemble of the spaces.

    Raise InputError if a row would see its own label. Also raise it for a space built from the
    evaluated labels, unless it can be rebuilt for each cell of folds.
    """
    queries, known, similarity = knn.queries, knn.known, knn.similarity
    parts = parts_of(protocol, queries, known.rows)
    if parts is None:
        width = max(int(rows.gene.max(initial=0)) for rows in (queries, known.rows)) + 1
        seen = np.isin(
            queries.pert * width + queries.gene, known.rows.pert * width + known.rows.gene
        )
        if seen.any():
            raise InputError(
                f"protocol test: {validate.named_rows(seen)}: in the knowledge base with its own"
                " label. Expected other rows than the labelled ones, or the protocol loo or folds"
            )
    null = knn_priors(
        queries,
        known,
        Similarities(ConstantSimilarity(), ConstantSimilarity()),
        similarity.weighting,
        parts,
    )
    groups = query_groups(protocol, knn, parts)
    priors = priors_of_groups(groups, queries, known, similarity, parts)
    return KnnPrediction(priors, null, cells_of(protocol, queries, parts), groups)


def query_groups(
    protocol: EvaluationProtocol, knn: KnnInputs, parts: Parts | None
) -> tuple[QueryGroup, ...]:
    """Return the query rows grouped by knowledge base: one group, or one for each cell if a space
    must be rebuilt.

    Raise InputError for a space that may not be evaluated on these labels.
    """
    leaks = find_leaking_spaces(knn.spaces, knn.evaluated)
    for space in leaks:
        if protocol.kind != "folds" or space.rebuild is None:
            raise InputError(
                f"space {space.name}: built from the labels of {space.built_from}, on which it"
                f" would be evaluated (protocol {protocol.kind}). Expected other labels, or folds"
                " with a builder that remakes it for each cell"
            )
    cells = cells_of(protocol, knn.queries, parts)
    if leaks and parts is not None and cells is not None:
        # One group for each cell, with spaces rebuilt from the rows visible to the cell
        groups = []
        for cell in np.unique(cells):
            rows = np.flatnonzero(cells == cell)
            pair = int(knn.queries.pert[rows[0]]), int(knn.queries.gene[rows[0]])
            visible = visible_rows(pair, knn.known.rows, parts)
            # The space from the visible labelled rows alone; the same space if it was not built
            # from labels
            rebuilt = [
                (space if space.rebuild is None else Space(space.name, space.rebuild(visible)))
                for space in knn.spaces
            ]
            base = knn.known.take(visible)
            groups.append(
                QueryGroup(
                    rows,
                    base,
                    np.flatnonzero(visible),
                    similarities_of(rebuilt, base, knn.similarity),
                    None,
                )
            )
        return tuple(groups)
    similar = knn.similar or similarities_of(knn.spaces, knn.known, knn.similarity)
    return (
        QueryGroup(
            np.arange(len(knn.queries)), knn.known, np.arange(len(knn.known)), similar, parts
        ),
    )


def priors_of_groups(
    groups: Sequence[QueryGroup],
    queries: Rows,
    known: Knowledge,
    similarity: SimilaritySettings,
    parts: Parts | None,
) -> Priors:
    """Return the priors of the query rows, each from the knowledge base of its group; known: all
    labelled rows."""
    columns: Floats = np.full((3, len(queries)), np.nan)
    for group in groups:
        priors = knn_priors(
            queries.take(group.rows), group.known, group.similar, similarity.weighting, group.parts
        )
        columns[:, group.rows] = priors.de, priors.up, priors.support
    return shrink_by_support(Priors(*columns), similarity, known, groups[0].similar, parts)


def shrink_by_support(
    unshrunk: Priors,
    similarity: SimilaritySettings,
    known: Knowledge,
    similar: Similarities,
    parts: Parts | None,
) -> Priors:
    """Return priors of an effect, shrunk towards 0.5 by their support and
    `SimilaritySettings.strength`.

    Support is scaled over these rows; under the protocol test, over the labelled rows (leave one
    out), so that a test row's prior does not depend on the other rows to predict.
    """
    if similarity.strength == 0:
        return unshrunk
    support = unshrunk.support
    if parts is None:
        loo = parts_of(EvaluationProtocol("loo"), known.rows)
        support = knn_priors(known.rows, known, similar, similarity.weighting, loo).support
    return replace(
        unshrunk,
        de=shrink_to_half(
            unshrunk.de, unshrunk.support, support_range(support), similarity.strength
        ),
    )


def find_leaking_spaces(spaces: Sequence[Space], evaluated: str) -> list[Space]:
    """Return the spaces built from the labels of this name, or from any labels if the name is
    empty."""
    return [space for space in spaces if space.built_from and evaluated in ("", space.built_from)]


def similarities_of(
    spaces: Sequence[Space], known: Knowledge, similarity: SimilaritySettings
) -> Similarities:
    """Return the similarities of the ensemble of spaces, the same for both axes."""
    ensemble = cosine_similarity(spaces, np.unique(known.rows.gene) if similarity.centre else None)
    return Similarities(ensemble, ensemble)


def _cut_into_parts(codes: Codes, k: int, rng: np.random.Generator) -> Codes:
    """Return a part from 0 to k - 1 for every code in use, of sizes as equal as possible; -1 for
    the others."""
    used = np.unique(codes)
    parts = np.full(codes.max(initial=-1) + 1, -1)
    parts[used] = rng.permutation(len(used)) % k
    return parts


@dataclass(frozen=True, slots=True)
class SupportRange:
    """The least (low) and the largest (high) support in a reference population."""

    low: float
    high: float

    def scale(self, support: ArrayLike) -> Floats:
        """Return support scaled from 0 (the least) to 1 (the largest) and clipped; 0 if both are
        equal."""
        values = validate.numbers("support", support)
        width = self.high - self.low
        return (
            np.clip((values - self.low) / width, 0.0, 1.0) if width > 0 else np.zeros(len(values))
        )


def support_range(reference: ArrayLike) -> SupportRange:
    """Return the range over the covered rows (support above 0) of a reference population;
    reference: of shape (n_rows,)."""
    values = validate.numbers("reference", reference)
    covered = values[values > 0]
    if not len(covered):
        raise InputError("reference: no row has support; expected at least one")
    return SupportRange(float(covered.min()), float(covered.max()))


def shrink_to_half(
    prior: ArrayLike, support: ArrayLike, reference: SupportRange, strength: float
) -> Floats:
    """Return priors shrunk towards 0.5: a · prior + (1 - a) / 2 with a = 1 - strength · (support -
    min) / (max - min).

    prior, support: of shape (n_rows,), the prior NaN for rows that are not covered; strength: in
    [0, 1].
    """
    values = validate.numbers("prior", prior, missing=True)
    a = 1 - _share("strength", strength) * reference.scale(support)
    validate.same_length(prior=values, support=a)
    return a * values + (1 - a) / 2


def weights_by_support(
    low_weight: float, high_weight: float, support: ArrayLike, reference: SupportRange
) -> Floats:
    """Return a component's weight in each row, in [0, 1]: from `low_weight` at the least support to
    `high_weight` at the largest.
    """
    low, high = _share("low_weight", low_weight), _share("high_weight", high_weight)
    return low + (high - low) * reference.scale(support)


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise InputError(f"{name}: got {value}; expected a number from 0 to 1")
    return value


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
