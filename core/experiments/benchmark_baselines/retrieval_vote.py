"""retrieval vote: what share of the retrieved training rows changed, and of those with a direction went up; no language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from core.evidence.retrieval import DEFAULT_BUDGET, Budget
from core.experiments.benchmark_baselines.base import KnowledgeBaseline, Prediction
from core.experiments.benchmark_baselines.material import NO_NETWORK, Material
from core.experiments.benchmark_baselines.retrieved_labels import expected_share, tier_label_sums
from core.transfer.labelled_rows import DIRECTED, EFFECT, LABELLED, UP, Knowledge

BUDGETS: Mapping[Budget, int] = dict.fromkeys(get_args(Budget), DEFAULT_BUDGET)


def vote(material: Material, budgets: Mapping[Budget, int]) -> Prediction:
    """The labels that a retrieval with these budgets expects, each retrieved row counting alike."""
    graph = material.genes.close
    assert graph is not None
    known = Knowledge(graph.rows(material.known.rows), material.known.flags)
    sums = tier_label_sums(graph.rows(material.rows), known, graph.edges)
    de, up = (expected_share(sums, *flags, budgets) for flags in ((LABELLED, EFFECT), (DIRECTED, UP)))
    near = (sums[:3, :, LABELLED] > 0).any(axis=0)
    return Prediction(
        de, up, f"{near.mean():.0%} of rows have labelled rows with close symbols; the others are retrieved at random"
    )


def find_lacking(material: Material) -> str:
    """What a vote lacks, in words; "" for nothing."""
    return NO_NETWORK if material.genes.close is None else ""


BASELINE = KnowledgeBaseline(
    name="retrieval vote",
    about="the labels of the training rows that SUMMER would retrieve, up to five each for perturbation, gene and both",
    place=10,
    find_lacking=find_lacking,
    make=lambda material: vote(material, BUDGETS),
)
