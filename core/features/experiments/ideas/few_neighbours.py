"""The number of measured genes that a prior needs, because few-shot prompts show only K of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from core.features.experiments.ideas.idea import Cuts, Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arms, make_trial
from core.fields.setting import Count, setting
from core.transfer.knn import DEFAULT, Weighting

_REMARK = "A gene contributes all its measured rows; a prompt with K measured pairs has fewer. A model may use them differently."


@dataclass(frozen=True, slots=True)
class Settings(OfSpaces):
    """The settings of a kNN, and the values of K."""

    cuts: Cuts = 3
    shots: Annotated[tuple[Count, ...], setting("Values of K.", title="Values of K")] = (1, 2, 4, 8, 16, 32)


def _judge(material: Material, chosen: Settings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    weightings = {"all genes": DEFAULT, **{f"{k} nearest": Weighting(k=k) for k in sorted(chosen.shots)}}
    knns = {name: Neighbours(spaces, weighting, chosen.centre) for name, weighting in weightings.items()}
    return Judged(make_trial(material, chosen.cuts), knn_arms(material, chosen.cuts, knns), (_REMARK,))


KIND = idea(
    "few_neighbours",
    "Few-shot K",
    "How many similar measured genes are enough for a prior?",
    ("labels", "space"),
    Settings,
    _judge,
)
