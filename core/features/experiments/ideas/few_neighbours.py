"""The number of measured genes that a prior needs, because few-shot prompts show only K of them."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import InputError
from core.features.experiments.ideas.idea import CUTS_HELP, Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arms, make_trial
from core.fields.option import split_names
from core.fields.record import setting
from core.transfer.knn import DEFAULT, Weighting

MOST = 8  # values of K
_REMARK = "A gene contributes all its measured rows; a prompt with K measured pairs has fewer. A model may use them differently."


@dataclass(frozen=True, slots=True)
class Settings(OfSpaces):
    """The settings of a kNN, and the values of K."""

    cuts: int = setting(3, CUTS_HELP, least=1, most=10)
    shots: str = setting("1,2,4,8,16,32", "Values of K, separated by commas.", title="Values of K")


def _numbers(text: str) -> list[int]:
    names = split_names(text)
    if not names or len(names) > MOST or not all(name.isascii() and name.isdigit() and int(name) > 0 for name in names):
        raise InputError(f"shots: got {text!r}, expected 1 to {MOST} whole numbers of at least 1, separated by commas")
    return sorted({int(name) for name in names})


def _judge(material: Material, chosen: Settings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    weightings = {"all genes": DEFAULT, **{f"{k} nearest": Weighting(k=k) for k in _numbers(chosen.shots)}}
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
