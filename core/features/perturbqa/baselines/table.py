"""Score all baselines of a split: over all rows, over the rows that each covers, and by distance in the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.errors import MissingPackage
from core.features.perturbqa.baselines.base import KnowledgeBaseline, Prediction, knowledge_baselines
from core.features.perturbqa.baselines.material import Material
from core.scoring.baselines import Baseline, BaselineScore, OnCovered, score_baseline
from core.stats.arrays import Bools, Floats
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.evaluation import fill_with_base_rates, without_stand_ins
from core.transfer.gene_graph import HOPS
from core.transfer.knn import Priors

Progress = Callable[[float], object]  # called with the share that is done


@dataclass(frozen=True, slots=True)
class HopScore:
    """The score of a baseline on rows whose symbols are this many steps apart in the network."""

    baseline: str
    hops: str
    rows: int
    de: BaselineScore | None
    dir: BaselineScore | None


@dataclass(frozen=True, slots=True)
class Share:
    """How many of all are covered."""

    covered: int
    of: int


@dataclass(frozen=True, slots=True)
class Reach:
    """The coverage of the rows to predict by a kind of knowledge: of perturbations, genes, and rows by both."""

    knowledge: str
    perts: Share
    genes: Share
    rows: Share

    @property
    def words(self) -> str:
        """The coverage, as in "network: 5 of 6 perturbations"."""
        counts = {"perturbations": self.perts, "genes": self.genes, "rows": self.rows}
        return f"{self.knowledge}: " + ", ".join(f"{share.covered:,} of {share.of:,} {what}" for what, share in counts.items())


@dataclass(frozen=True, slots=True)
class BaselineTable:
    """The baselines that read knowledge, on a split. hops: by distance, the nearest first; coverage: by kinds of knowledge."""

    baselines: tuple[Baseline, ...]
    hops: tuple[HopScore, ...]
    coverage: tuple[Reach, ...]


def score_baselines(material: Material, progress: Progress = lambda _: None) -> BaselineTable:
    """Return every baseline's score. A baseline with missing inputs names them, and the others are still computed."""
    known = knowledge_baselines().values()
    rates = material.base_rates()
    by_hops = _rows_by_hops(material)
    baselines: list[Baseline] = []
    hops: list[HopScore] = []
    for i, each in enumerate(known):
        predicted, lacks = _predict(each, material)
        if predicted is None:
            baselines.append(Baseline(each.name, None, None, lacks=lacks))
        else:
            # Its scores, with base rates for rows without a prediction; no direction if it never predicts one
            filled = fill_with_base_rates(_priors(predicted), rates)
            rows = ScoredRows(
                material.outcome,
                scores_from_probabilities(filled.de, _no_numbers(predicted) if predicted.up is None else filled.up),
                material.rows.pert,
                material.rows.gene,
            )
            baselines.append(_baseline(each.name, predicted, rows))
            hops += [
                HopScore(each.name, name, int(some.sum()), *score_baseline(rows.take(some))) for name, some in by_hops.items()
            ]
        progress((i + 1) / len(known))
    return BaselineTable(tuple(baselines), tuple(hops), _reach(material))


def _predict(baseline: KnowledgeBaseline, material: Material) -> tuple[Prediction | None, str | None]:
    """Return a baseline's prediction, or a description of its missing inputs."""
    if lacks := baseline.find_lacking(material):
        return None, lacks
    try:
        return baseline.make(material), None
    except MissingPackage as error:
        return None, str(error)


def _priors(predicted: Prediction) -> Priors:
    up = _no_numbers(predicted) if predicted.up is None else predicted.up
    return Priors(predicted.de, up, predicted.covered.astype(np.float64))


def _no_numbers(predicted: Prediction) -> Floats:
    return np.full(len(predicted.de), np.nan)


def _baseline(name: str, predicted: Prediction, rows: ScoredRows) -> Baseline:
    covered = predicted.covered
    on_covered = None
    if not covered.all():
        own = without_stand_ins(rows.scores, _priors(predicted))
        part = ScoredRows(rows.outcome, own, rows.pert, rows.gene).take(covered)
        on_covered = OnCovered(int(covered.sum()), len(covered), *score_baseline(part))
    return Baseline(name, *score_baseline(rows), predicted.note or None, on_covered)


def _rows_by_hops(material: Material) -> dict[str, Bools]:
    """Return the rows at each distance, by its name; empty without a network."""
    if material.genes.graph is None:
        return {}
    hops = material.genes.graph.count_hops(material.rows)
    return {name: found for key, name in HOPS.items() if (found := hops == key).any()}


def _reach(material: Material) -> tuple[Reach, ...]:
    perts, genes = np.unique(material.rows.pert), np.unique(material.rows.gene)
    found = []
    for name, covered in material.genes.pack_coverage().items():
        both = covered[material.rows.pert] & covered[material.rows.gene]
        shares = (Share(int(flags.sum()), len(flags)) for flags in (covered[perts], covered[genes], both))
        found.append(Reach(name, *shares))
    return tuple(found)
