"""embedding_ladder: every gene space alone, and every ensemble of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from core.errors import InputError
from core.experiments.ablations.arms import describe_changes, score_arms, score_of
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours, knn_arm, make_trial, predict
from core.methods.base import Option

MOST_ARMS = 20


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    spaces = material.spaces(options["spaces"])
    sizes = range(1, (len(spaces) if options["ensembles"] else 1) + 1)
    chosen = [part for size in sizes for part in combinations(spaces, size)]
    if len(chosen) > MOST_ARMS:
        raise InputError(f"spaces: {len(chosen)} spaces and ensembles, expected at most {MOST_ARMS}; name fewer spaces")
    trial = make_trial(material, options["cuts"])
    arms = []
    for part in chosen:
        predicted = predict(material, Neighbours(part, centre=options["centre"]), options["cuts"])
        arms.append(knn_arm(" + ".join(space.name for space in part), predicted))
    table = score_arms(trial, arms, arms[0].name)
    best = max((arm.name for arm in arms), key=lambda name: score_of(table, name).estimate)
    sentence = f"{best} has the highest mean, {score_of(table, best).text}."
    if len(arms) > 1:
        sentence += f" {describe_changes(table, arms[0].name)}"
    remark = "The labels chose the highest of several scores, so its value is optimistic."
    return Outcome(table, sentence, (remark,) if len(arms) > 1 else ())


ABLATION = Ablation(
    name="embedding_ladder",
    title="Embedding ladder",
    question="Which gene space carries information about the labels, and do ensembles carry more than the first space alone?",
    needs=("labels", "space"),
    options=(SPACES, Option("ensembles", "flag", True, "Also score every ensemble of the spaces."), CENTRE, CUTS),
    make=_make,
)
