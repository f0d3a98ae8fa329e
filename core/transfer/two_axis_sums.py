"""Weighted label sums for the product of two similarities, of genes and of perturbations.

Σ w_gene[g, g'] · labels[g', p'] · w_pert[p, p'] is a matrix product from each side, since rows that a row may not see have
weight 0 on one axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from core.stats.arrays import Floats
from core.transfer.label_sums import (
    CHUNK_WEIGHTS,
    LabelSumTable,
    batches,
    kth_largest_weights,
    label_sum_table,
    weight_chunks,
    zero_below,
)
from core.transfer.labelled_rows import Knowledge, Parts, Rows
from core.transfer.similarity import Similarity


def two_axis_sums(
    queries: Rows,
    known: Knowledge,
    similarities: tuple[Similarity, Similarity],
    power: float,
    k: int | None,
    parts: Parts | None,
) -> Floats:
    """The label sums weighted by the product of the similarities of genes and of perturbations, of shape (n_queries, 4).

    similarities: of genes and of perturbations. k: number of nearest of each that count, None for all.
    """
    swapped = None if parts is None else parts.swap_axes()
    genes, perts = label_sum_table(known, parts), label_sum_table(known.swap_axes(), swapped)
    labels = _label_matrices(known, genes, perts)
    sums = np.empty((len(queries), 4))
    for near in weight_chunks(queries, genes, similarities[0], power, parts):
        spread = [near.weights @ label for label in labels] if k is None else []
        near_thresholds = np.zeros(len(near.rows)) if k is None else kth_largest_weights(near, genes, k)
        for far in weight_chunks(queries.take(near.rows).swap_axes(), perts, similarities[1], power, swapped):
            far_thresholds = np.zeros(len(far.rows)) if k is None else kth_largest_weights(far, perts, k)
            for batch in batches(len(far.rows), CHUNK_WEIGHTS // max(near.weights.shape[1] + far.weights.shape[1], 1)):
                batch_rows = far.rows[batch]
                pert_weights = zero_below(far.weights[far.gene[batch]], far_thresholds[batch])
                if k is None:
                    reached = [part[near.gene[batch_rows]] for part in spread]
                else:
                    chosen = csr_array(zero_below(near.weights[near.gene[batch_rows]], near_thresholds[batch_rows]))
                    reached = [(chosen @ label).toarray() for label in labels]
                sums[near.rows[batch_rows]] = np.stack([np.einsum("qp,qp->q", part, pert_weights) for part in reached], axis=1)
    return sums


def _label_matrices(known: Knowledge, genes: LabelSumTable, perts: LabelSumTable) -> list[Any]:
    """One sparse matrix of shape (n_genes, n_perts) for each flag of the labels."""
    positions = np.searchsorted(genes.genes, known.rows.gene), np.searchsorted(perts.genes, known.rows.pert)
    shape = len(genes.genes), len(perts.genes)
    return [csr_array((flag.astype(np.float64), positions), shape=shape) for flag in known.flags.T]
