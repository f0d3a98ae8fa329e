"""Every gene space alone, and every ensemble of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

from core.errors import InputError
from core.features.experiments.ideas.idea import Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arms, make_trial
from core.fields.setting import setting

MOST_ARMS = 20


@dataclass(frozen=True, slots=True)
class Settings(OfSpaces):
    """The settings of a kNN, and whether spaces are joined."""

    ensembles: Annotated[bool, setting("Also score every ensemble of the spaces.")] = True


def _judge(material: Material, chosen: Settings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    sizes = range(1, (len(spaces) if chosen.ensembles else 1) + 1)
    parts = [part for size in sizes for part in combinations(spaces, size)]
    if len(parts) > MOST_ARMS:
        raise InputError(f"spaces: {len(parts)} spaces and ensembles, expected at most {MOST_ARMS}; name fewer spaces")
    knns = {" + ".join(space.name for space in part): Neighbours(part, centre=chosen.centre) for part in parts}
    arms = knn_arms(material, chosen.cuts, knns)
    remark = "The highest of several scores is optimistic: the labels on which it is scored chose it."
    return Judged(make_trial(material, chosen.cuts), arms, (remark,) if len(arms) > 1 else ())


KIND = idea(
    "embedding_ladder",
    "Embedding ladder",
    "Which gene space carries information about the labels, and do ensembles carry more than the first space alone?",
    ("labels", "space"),
    Settings,
    _judge,
)
