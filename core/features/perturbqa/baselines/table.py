"""Score all baselines of a split: over all rows, and over the rows that each covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from core.base.errors import MissingPackage
from core.features.perturbqa.baselines import graph_attention, retrieval_vote
from core.features.perturbqa.baselines.material import (
    NO_DESCRIPTIONS,
    NO_NETWORK,
    KnowledgeBaseline,
    Material,
    MissingInput,
    Prediction,
    require,
)
from core.scoring.baselines import Baseline, OnCovered, score_baseline
from core.stats.arrays import Bools, Floats
from core.stats.scores_and_labels import ScoredRows, scores_from_probabilities
from core.transfer.knn import Priors, Similarities, Weighting, knn_priors
from core.transfer.run_cells import fill_with_base_rates, without_stand_ins
from core.transfer.similarity import OwnSimilarity, Space, cosine_similarity

Progress = Callable[[float], object]  # called with the share that is done


@dataclass(frozen=True, slots=True)
class Share:
    """How many of all are covered."""

    covered: int
    of: int


@dataclass(frozen=True, slots=True)
class Reach:
    """The coverage of the rows to predict by a kind of knowledge: of perturbations, genes, and rows
    by both."""

    knowledge: str
    perts: Share
    genes: Share
    rows: Share

    @property
    def words(self) -> str:
        """The coverage, as in "network: 5 of 6 perturbations"."""
        counts = {"perturbations": self.perts, "genes": self.genes, "rows": self.rows}
        return f"{self.knowledge}: " + ", ".join(
            f"{share.covered:,} of {share.of:,} {what}" for what, share in counts.items()
        )


def score_baselines(
    material: Material, progress: Progress = lambda _: None
) -> tuple[Baseline, ...]:
    """Return every baseline's score. A baseline with missing inputs names them, and the others are
    still computed."""
    rates = material.base_rates()
    baselines: list[Baseline] = []
    for i, each in enumerate(BASELINES.values()):
        try:
            predicted = each.make(material)
        except (MissingInput, MissingPackage) as error:
            baselines.append(Baseline(each.name, None, None, lacks=str(error)))
        else:
            # Its scores, with base rates for rows without a prediction; no direction if it never
            # predicts one
            filled = fill_with_base_rates(_priors(predicted), rates)
            rows = ScoredRows(
                material.outcome,
                scores_from_probabilities(
                    filled.de, _no_numbers(predicted) if predicted.up is None else filled.up
                ),
                material.rows.pert,
                material.rows.gene,
            )
            covered = predicted.covered
            on_covered = None
            if not covered.all():
                own = without_stand_ins(rows.scores, _priors(predicted))
                part = ScoredRows(rows.outcome, own, rows.pert, rows.gene).take(covered)
                on_covered = OnCovered(int(covered.sum()), len(covered), *score_baseline(part))
            baselines.append(
                Baseline(each.name, *score_baseline(rows), predicted.note or None, on_covered)
            )
        progress((i + 1) / len(BASELINES))
    return tuple(baselines)


def _priors(predicted: Prediction) -> Priors:
    up = _no_numbers(predicted) if predicted.up is None else predicted.up
    return Priors(predicted.de, up, predicted.covered.astype(np.float64))


def _no_numbers(predicted: Prediction) -> Floats:
    return np.full(len(predicted.de), np.nan)


def measure_coverage(material: Material) -> tuple[Reach, ...]:
    """Return how many of the rows to predict each kind of knowledge covers."""
    perts, genes = np.unique(material.rows.pert), np.unique(material.rows.gene)
    found, by_pack = [], dict[str, Bools]()  # flags of the symbols that a pack covers
    if material.genes.graph is not None:
        by_pack["network"] = material.genes.graph.covered
    if material.genes.text is not None:
        by_pack["descriptions"] = np.asarray(np.isfinite(material.genes.text.columns).all(axis=1))
    for name, covered in by_pack.items():
        both = covered[material.rows.pert] & covered[material.rows.gene]
        shares = (
            Share(int(flags.sum()), len(flags)) for flags in (covered[perts], covered[genes], both)
        )
        found.append(Reach(name, *shares))
    return tuple(found)


WEIGHTING = Weighting(axis="both")


def predict_by_space(material: Material, space: Space) -> Prediction:
    """Return the priors of the rows to predict from all training rows (protocol test), with the
    product of both axes' similarities.

    A symbol is similar to itself even if the space does not cover it, so a gene's own training rows
    count, weighted by their perturbations. Similar genes alone would give all perturbations of a
    gene the same score, an AUROC of 0.5 in each gene.
    """
    similar = OwnSimilarity(cosine_similarity([space]))
    found = knn_priors(material.rows, material.known, Similarities(similar, similar), WEIGHTING)
    return Prediction(
        found.de,
        found.up,
        f"{space.columns.shape[1]} columns, power {WEIGHTING.power:g}, all neighbours",
    )


def _by_edge(material: Material) -> Prediction:
    graph = require(material.genes.graph, NO_NETWORK)
    joined = graph.are_joined(material.rows)
    known = graph.covered[material.rows.pert] & graph.covered[material.rows.gene]
    return Prediction(
        np.where(known, joined.astype(np.float64), np.nan),
        None,
        f"{joined.mean():.1%} of rows are joined",
    )


TEXT = KnowledgeBaseline(
    name="text kNN",
    about=(
        "kNN: training rows weighted by the similarity of perturbation and gene in words of gene"
        " descriptions (TF-IDF)"
    ),
    make=lambda material: predict_by_space(material, require(material.genes.text, NO_DESCRIPTIONS)),
)

NETWORK = KnowledgeBaseline(
    name="network kNN",
    about=(
        "kNN: training rows weighted by the similarity of perturbation and gene in network"
        " neighbourhoods"
    ),
    make=lambda material: predict_by_space(material, require(material.genes.network, NO_NETWORK)),
)
EDGE = KnowledgeBaseline(
    name="physical edge",
    about="1 if an edge of the network joins perturbation and gene, otherwise 0; no direction",
    make=_by_edge,
)


BASELINES: Mapping[str, KnowledgeBaseline] = {
    each.name: each
    for each in (
        *(retrieval_vote.ALL_BUDGETS, retrieval_vote.OWN_GENE, EDGE, TEXT, NETWORK),
        graph_attention.BASELINE,
    )
}
