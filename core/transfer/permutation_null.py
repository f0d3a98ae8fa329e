"""The null of a gene space: the same space with the vectors of its genes permuted.

The statistic is the score of the space: the mean of ten cuts over all rows. An empty space cannot
serve as null, because its score does not vary and the score of a space without biology does. If
several spaces are averaged, a gene's vectors in all of them move together, among genes covered by
the same spaces.

Also all numbers of a kNN: the mean of ten cuts with its null, and the score of one run under its
own protocol.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.fields.record import identity_of
from core.stats import validate
from core.stats.arrays import Floats
from core.stats.official_score import ScoreIntervals, point_values
from core.stats.scores_and_labels import outcome_of
from core.transfer.cut_priors import SEEDS, prepare_cuts
from core.transfer.protocols import EvaluationProtocol, KnnInputs
from core.transfer.run_cells import CutScores, Evaluation, MeanOfCuts, scores_with_stand_ins

N_PERMUTATIONS = 99
ROUNDING = 1e-12  # scores that differ by less are equal
VERSION = 1  # version of the results of `permutation_null`; part of `content_key`


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """One score against its null: the null's mean and standard deviation, and p = (1 + #{null ≥
    observed}) / (1 + n)."""

    mean: float
    sd: float
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class PermutationNull:
    """DE and DIR of n permuted spaces, each the mean of the cuts, of shape (n, 2); seed: of the
    permutations."""

    values: Floats
    seed: int

    def test(
        self, observed: Sequence[float]
    ) -> tuple[PermutationTest, PermutationTest, PermutationTest]:
        """Return DE, DIR and their mean against the null; NaN where one is undefined. observed: DE
        and DIR of the space."""
        de, direction = observed
        null = np.column_stack((self.values, self.values.mean(axis=1)))
        values = (de, direction, (de + direction) / 2)
        return tuple(map(_test, values, null.T))  # type: ignore[return-value]


def permutation_null(
    knn: KnnInputs,
    labels: ArrayLike,
    k: int = 5,
    n: int = N_PERMUTATIONS,
    seed: int = 0,
    progress: Callable[[float], object] | None = None,
) -> PermutationNull:
    """Return the null of a kNN over cuts into k parts; labels: of the query rows. progress: called
    with the share that is done.

    Raise the errors of `prepare_cuts`.
    """
    validate.whole_number("permutations", n, 1)
    outcome = outcome_of(labels)
    n_symbols = 1 + max(
        int(codes.max(initial=0))
        for rows in (knn.queries, knn.known.rows)
        for codes in (rows.pert, rows.gene)
    )
    keys = list(np.random.default_rng(seed).random((n, n_symbols)))
    values = np.empty((n, len(SEEDS), 2))
    for i, cut in enumerate(prepare_cuts(knn, k)):
        for j, priors in enumerate(cut.predict(keys)):
            values[j, i] = point_values(
                outcome, scores_with_stand_ins(priors, cut.base_rates), cut.cells
            )
            if progress is not None:
                progress((i * n + j + 1) / (n * len(SEEDS)))
    return PermutationNull(values.mean(axis=1), seed)


def content_key(knn: KnnInputs, labels: ArrayLike, k: int, n: int, seed: int) -> str:
    """Return the SHA-256 of all inputs of `permutation_null`: vectors, rows, labels, settings,
    parts and permutations."""
    # The similarities were called "setting" when the first nulls were saved: the keys stay the
    # same.
    plain = {
        "version": VERSION,
        "setting": identity_of(knn.similarity),
        "k": k,
        "n": n,
        "seed": seed,
        "cuts": SEEDS,
    }
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    arrays: list[NDArray[Any]] = [
        knn.queries.pert,
        knn.queries.gene,
        knn.known.rows.pert,
        knn.known.rows.gene,
        knn.known.flags,
        np.array([label or "" for label in np.asarray(labels, dtype=object)], dtype="U4"),
        *[space.columns for space in knn.spaces],
    ]
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    for space in knn.spaces:
        digest.update(
            f"{space.built_from!r} {space.rebuild is not None} {knn.evaluated!r}".encode()
        )
    return digest.hexdigest()


def _test(observed: float, null: Floats) -> PermutationTest:
    if np.isnan(observed) or np.isnan(null).any():
        return PermutationTest(float("nan"), float("nan"), float("nan"))
    sd = float(null.std(ddof=1)) if len(null) > 1 else float("nan")
    as_high = int(np.count_nonzero(null >= observed - ROUNDING))
    return PermutationTest(float(null.mean()), sd, (1 + as_high) / (1 + len(null)))


@dataclass(frozen=True, slots=True, eq=False)
class KnnNumbers:
    """The numbers of a kNN.

    evaluation: of one run under this protocol, with this seed's cut. cuts, null: of its space under
    folds; None under another protocol, without labels, or if they were not computed.
    """

    protocol: EvaluationProtocol
    evaluation: Evaluation
    cuts: MeanOfCuts | None = None
    null: PermutationNull | None = None

    @property
    def score(self) -> ScoreIntervals:
        """The score of the space over all rows: the mean of the cuts if they were computed."""
        return self.evaluation.score if self.cuts is None else self.cuts.all_rows.score

    @property
    def covered(self) -> ScoreIntervals:
        """The score over the rows with a prior."""
        return self.evaluation.covered if self.cuts is None else self.cuts.covered.score

    def test_against_null(self) -> tuple[PermutationTest, PermutationTest, PermutationTest] | None:
        """Return DE, DIR and their mean against the permuted space; None if the null was not
        computed."""
        return (
            None
            if self.cuts is None or self.null is None
            else self.null.test(means_of(self.cuts.all_rows))
        )


def means_of(scores: CutScores) -> tuple[float, float]:
    """Return the means of DE and of DIR over cuts."""
    de, direction = scores.values.mean(axis=0).tolist()
    return de, direction
