"""retrieval vote, own gene: the vote of those retrieved training rows alone that are taken from the gene's budget.

Labels of other genes say how often those change, which differs from gene to gene more than between perturbations.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.evidence.retrieval import DEFAULT_BUDGET, Budget
from core.experiments.benchmark_baselines.base import KnowledgeBaseline
from core.experiments.benchmark_baselines.retrieval_vote import find_lacking, vote

BUDGETS: Mapping[Budget, int] = {"pert": 0, "gene": DEFAULT_BUDGET, "both": 0}

BASELINE = KnowledgeBaseline(
    name="retrieval vote, own gene",
    about="the same of the up to five rows for the gene alone, of close perturbations first",
    place=11,
    find_lacking=find_lacking,
    make=lambda material: vote(material, BUDGETS),
)
