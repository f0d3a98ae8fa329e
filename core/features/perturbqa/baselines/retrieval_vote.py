"""retrieval vote: the share of retrieved training rows with an effect, and of up among directed
ones, without a language model.

Labels are counted for many rows at once: the counts in each class of labelled rows, and the
expected share in a draw. The classes, their order and their budgets are those of
`core.features.perturbqa.retrieval`, which draws rows one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

import numpy as np
from scipy.sparse import csr_array

from core.features.perturbqa.baselines.material import (
    NO_NETWORK,
    KnowledgeBaseline,
    Material,
    Prediction,
    require,
)
from core.features.perturbqa.retrieval import BUDGET_OF, DEFAULT_BUDGET, Budget
from core.stats.arrays import Codes, Floats, divide
from core.transfer.knn import distinct_codes
from core.transfer.row_index import DIRECTED, EFFECT, LABELLED, UP, Knowledge, Rows

_ROLES = {"perturbation": "pert", "gene": "gene"}


class Tier(NamedTuple):
    """A class of labelled rows: the relation of its symbols to a row's (same, close, any), and its
    budget."""

    pert: str
    gene: str
    budget: Budget


def _tier(preference: str, budget: Budget) -> Tier:
    """Return the class with a name such as "same gene, close perturbation"."""
    relation = {
        _ROLES[role]: how for how, role in (part.split() for part in preference.split(", "))
    }
    return Tier(relation["pert"], relation["gene"], budget)


TIERS = tuple(_tier(preference, budget) for preference, budget in BUDGET_OF.items())


def tier_label_sums(queries: Rows, known: Knowledge, close: Any) -> Floats:
    """Return the number of labelled rows in each class with each flag, for each row, of shape
    (n_tiers, n_queries, 4).

    close: sparse and symmetric, of shape (n_symbols, n_symbols), not 0 if two symbols are close.
    """
    (perts, pert), (genes, gene) = distinct_codes(queries.pert), distinct_codes(queries.gene)
    (own_perts, own_pert), (own_genes, own_gene) = (
        distinct_codes(known.rows.pert),
        distinct_codes(known.rows.gene),
    )
    near_pert = _near(close, perts, own_perts), _same(perts, own_perts)
    near_gene = _near(close, genes, own_genes), _same(genes, own_genes)
    sums = np.empty((len(TIERS), len(queries), 4))
    for flag, counted in enumerate(known.flags.T):
        shape = len(own_perts), len(own_genes)
        labels = csr_array(
            (counted[counted].astype(np.float64), (own_pert[counted], own_gene[counted])),
            shape=shape,
        )
        sums[:, :, flag] = _sums_of(labels, near_pert, near_gene, (pert, gene))
    return sums


def _sums_of(
    labels: Any, near_pert: tuple[Any, Any], near_gene: tuple[Any, Any], at: tuple[Codes, Codes]
) -> Floats:
    """Return the sums of a flag in each class, of shape (n_tiers, n_queries). labels: of shape
    (n_known_perts, n_known_genes)."""
    by_pert = {"close": near_pert[0] @ labels, "same": near_pert[1] @ labels}
    by_gene = {"close": near_gene[0].T, "same": near_gene[1].T}
    both = {
        (p, g): (rows @ columns).toarray()[at]
        for p, rows in by_pert.items()
        for g, columns in by_gene.items()
    }
    of_pert = {p: np.asarray(rows.sum(axis=1)).ravel()[at[0]] for p, rows in by_pert.items()}
    of_gene = {
        g: np.asarray((labels @ columns).sum(axis=0)).ravel()[at[1]]
        for g, columns in by_gene.items()
    }

    def count(tier: Tier) -> Floats:
        if tier.gene == "any":
            found = of_pert[tier.pert] - both[tier.pert, "close"] - both[tier.pert, "same"]
        elif tier.pert == "any":
            found = of_gene[tier.gene] - both["close", tier.gene] - both["same", tier.gene]
        else:
            found = both[tier.pert, tier.gene]
        return np.asarray(found)

    return np.stack([count(tier) for tier in TIERS])


def _near(close: Any, rows: Codes, columns: Codes) -> Any:
    """Return a sparse matrix of shape (n_rows, n_columns): 1 if two symbols are close and not the
    same."""
    part = close[rows][:, columns].tocoo()
    kept = (part.data != 0) & (rows[part.coords[0]] != columns[part.coords[1]])
    ends = part.coords[0][kept], part.coords[1][kept]
    return csr_array((np.ones(int(kept.sum())), ends), shape=(len(rows), len(columns)))


def _same(rows: Codes, columns: Codes) -> Any:
    """Return a sparse matrix of shape (n_rows, n_columns): 1 if two symbols are the same."""
    _, at, where = np.intersect1d(rows, columns, assume_unique=True, return_indices=True)
    return csr_array((np.ones(len(at)), (at, where)), shape=(len(rows), len(columns)))


def expected_share(
    sums: Floats, counted: int, positive: int, budgets: Mapping[Budget, int]
) -> Floats:
    """Return the expected share of positive rows in a random draw from the classes, in order and
    within the budgets.

    sums: from `tier_label_sums`. counted, positive: the flags of the rows to draw from, and of the
    positive ones among them. Return an array of shape (n_queries,), NaN if nothing is retrieved.
    """
    taken, found = np.zeros((2, sums.shape[1]))
    left = {budget: np.full(sums.shape[1], float(most)) for budget, most in budgets.items()}
    for tier, of_tier in zip(TIERS, sums, strict=True):
        there = of_tier[:, counted]
        n = np.minimum(there, left[tier.budget])
        left[tier.budget] -= n
        taken += n
        found += n * divide(of_tier[:, positive], there, 0.0)
    return divide(found, taken)


BUDGETS: Mapping[Budget, int] = dict.fromkeys(get_args(Budget), DEFAULT_BUDGET)
# Labels of other genes tell how often those genes change, and this varies more between genes than
# between perturbations.
GENE_BUDGETS: Mapping[Budget, int] = {"pert": 0, "gene": DEFAULT_BUDGET, "both": 0}


def vote(material: Material, budgets: Mapping[Budget, int]) -> Prediction:
    """Return the expected labels of a retrieval with these budgets; retrieved rows have equal
    weights."""
    graph = require(material.genes.close, NO_NETWORK)
    known = Knowledge(graph.rows(material.known.rows), material.known.flags)
    sums = tier_label_sums(graph.rows(material.rows), known, graph.edges)
    de, up = (
        expected_share(sums, *flags, budgets) for flags in ((LABELLED, EFFECT), (DIRECTED, UP))
    )
    near = (sums[:3, :, LABELLED] > 0).any(axis=0)
    return Prediction(
        de,
        up,
        f"{near.mean():.0%} of rows have labelled rows with close symbols; the others are retrieved"
        " at random",
    )


ALL_BUDGETS = KnowledgeBaseline(
    name="retrieval vote",
    about=(
        "the labels of the training rows that SUMMER would retrieve, up to five each for"
        " perturbation, gene and both"
    ),
    make=lambda material: vote(material, BUDGETS),
)
OWN_GENE = KnowledgeBaseline(
    name="retrieval vote, own gene",
    about="the same with at most five rows of the gene, close perturbations first",
    make=lambda material: vote(material, GENE_BUDGETS),
)
