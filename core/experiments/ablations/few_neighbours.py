"""few_neighbours: the number of measured genes that a prior needs, because few-shot prompts show only K of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import InputError
from core.experiments.ablations.arms import describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, SPACES, Neighbours, knn_arm, make_trial, predict
from core.fields.option import Option, split_names
from core.transfer.knn import Weighting

MOST = 8  # values of K
ALL = "all genes"


def _numbers(text: str) -> list[int]:
    names = split_names(text)
    if not names or len(names) > MOST or not all(name.isascii() and name.isdigit() and int(name) > 0 for name in names):
        raise InputError(f"shots: got {text!r}, expected 1 to {MOST} whole numbers of at least 1, separated by commas")
    return sorted({int(name) for name in names})


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    numbers, spaces = _numbers(options["shots"]), tuple(material.spaces(options["spaces"]))
    trial = make_trial(material, options["cuts"])
    arms = [knn_arm(ALL, predict(material, Neighbours(spaces, centre=options["centre"]), options["cuts"]))]
    for k in numbers:
        knn = Neighbours(spaces, Weighting(k=k), options["centre"])
        arms.append(knn_arm(f"{k} nearest", predict(material, knn, options["cuts"])))
    table = score_arms(trial, arms, ALL)
    remark = (
        "A gene contributes all its measured rows; a prompt with K measured pairs has fewer. A model may use them differently."
    )
    return Outcome(table, describe_changes(table, ALL), (remark,))


ABLATION = Ablation(
    name="few_neighbours",
    title="Few-shot K",
    question="How many similar measured genes are enough for a prior?",
    needs=("labels", "space"),
    options=(
        SPACES,
        Option("shots", "text", "1,2,4,8,16,32", "Values of K, separated by commas.", title="Values of K"),
        CENTRE,
        Option("cuts", "int", 3, "Number of averaged cuts of perturbations and genes into 5 × 5 cells.", least=1, most=10),
    ),
    make=_make,
)
