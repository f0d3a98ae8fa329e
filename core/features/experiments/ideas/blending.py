"""A saved run fused with kNN components, on the run's labelled rows, under several cuts of the folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.features.experiments.ideas.arms import Ranking
from core.features.experiments.ideas.idea import Judged, OfFusion
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, make_trial, predict
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.scores_and_labels import Scores
from core.transfer.fusion import Component, Percentiles, fuse, percentiles_of, weights_of
from core.transfer.knn import Priors
from core.transfer.similarity import Space

Rule = Callable[[Scores, Priors], Floats | float]  # a kNN's weight in each row, from the run's scores and the priors


def predict_rows(material: Material, run: RunRows, spaces: tuple[Space, ...], chosen: OfFusion) -> list[Priors]:
    """Return a kNN's priors of a run's rows under each cut."""
    knn = Neighbours(spaces, centre=chosen.centre)
    return [priors for priors, _ in predict(material, knn, chosen.cuts, run)]


def ranks_of(scores: Scores, priors: Sequence[Priors]) -> Percentiles:
    """Return the percentiles of a run and of kNNs on its rows."""
    components = [Component(f"knn {i}", each.de, each.up) for i, each in enumerate(priors)]
    return percentiles_of([Component("run", scores.p_de, scores.p_up), *components])


def fused_arm(name: str, scores: Scores, knns: Sequence[Sequence[Priors]], weight: Rule, note: str = "") -> Ranking:
    """Return the arm of a rank fusion. knns: of each, its priors under each cut; weight: of each, for DE and DIR alike."""
    fused = []
    for priors in zip(*knns, strict=True):
        weights = [np.broadcast_to(weight(scores, each), scores.p_de.shape) for each in priors]
        fused.append(fuse(ranks_of(scores, priors), weights_of(weights, weights)).scores())
    return Ranking(name, tuple(fused), note)


def judge_rules(material: Material, chosen: OfFusion, rules: Mapping[str, tuple[Rule, str]], remark: str) -> Judged:
    """Compare rules for the weight of a kNN with one weight for every row. rules: by name, each with a note."""
    run, weight = material.labelled_run(chosen.run), chosen.weight
    priors = predict_rows(material, run, material.spaces(chosen.spaces), chosen)
    same: tuple[Rule, str] = (lambda *_: weight, f"weight {weight:g}")
    named = {"the same weight for every row": same, **rules}
    arms = [fused_arm(name, run.scores, [priors], rule, note) for name, (rule, note) in named.items()]
    arms.append(Ranking(f"{run.run.name} alone", (run.scores,) * chosen.cuts, run=run.run.id))
    return Judged(make_trial(material, chosen.cuts, run), arms, (remark,))
