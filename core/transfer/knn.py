"""Compute a row's priors from labelled rows with similar genes, similar perturbations, or both.

prior_de = Σ w·[effect] / Σ w and prior_up = Σ w·[up] / Σ w·[up or down], with w = similarity^power,
over the labelled rows that the row may see.

The two similarities, of genes and of perturbations, may also be multiplied.

Σ w_gene[g, g'] · labels[g', p'] · w_pert[p, p'] is a matrix product from each side, because rows
that a row may not see have weight 0 on one axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.sparse import csr_array

from core.base.errors import InputError
from core.base.fields.record import check_values
from core.base.fields.setting import Count, Positive, setting
from core.stats.arrays import Bools, Floats, divide
from core.transfer.label_sums import (
    CHUNK_WEIGHTS,
    axis_sums,
    batches,
    kth_largest_weights,
    label_sum_table,
    weight_chunks,
    zero_below,
)
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
