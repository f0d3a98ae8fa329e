"""What the explorer is told beside its content: weights, noise of cuts, optimism, mixes; each as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.explorer.content import noise_of_cuts
from core.explorer.prepare import CutNoise
from core.stats.selection_optimism import Optimism
from core.texts import number_text
from core.transfer.fusion import Weights, shares_of, weights_of

# Total weight of the other components for DE and for DIR, as in published entries; several components share it evenly.
STARTERS = {"base run alone": (0.0, 0.0), "half and half": (0.5, 0.5), "more weight on direction": (0.5, 0.7)}
REST = {  # what is left for the base, by `FusionSettings.by_support`
    "no": "",
    "more": "more in rows where neighbours have less support",
    "less": "more in rows where neighbours have more support",
}
REST_BY_AGREEMENT = "more in rows where the others' ranks are far from its own"


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of all components but the base in DE and in DIR as sliders stand, under a name."""

    name: str
    de: tuple[float, ...]
    up: tuple[float, ...]

    def weights(self) -> Weights:
        """The weights as they count."""
        return weights_of(shares_of(self.de), shares_of(self.up))

    def as_json(self) -> dict[str, Any]:
        """The mix as the explorer reads it."""
        return {"name": self.name, "de": list(self.de), "up": list(self.up)}


def starters(n_others: int) -> list[Mix]:
    """The mixes that every fusion has."""
    return [Mix(name, (w_de / n_others,) * n_others, (w_dir / n_others,) * n_others) for name, (w_de, w_dir) in STARTERS.items()]


def noise_at(noise: CutNoise | None, weights: Weights) -> dict[str, dict[str, float]] | None:
    """The noise of cuts at some weights as the explorer adds it; None where it is not known."""
    return None if noise is None else noise_of_cuts(noise.before, noise.scores_at(weights))


def describe_optimism(found: Optimism | None) -> str:
    """How optimistic the best weights of the plane are, in a sentence; "" where nothing can be chosen."""
    if found is None or math.isnan(found.optimism):
        return ""
    return (
        f"Weights chosen on other perturbations and genes score {number_text(found.optimism)} less than the best here "
        f"(mean of {found.cuts} cuts: {number_text(found.low)} to {number_text(found.high)})."
    )


def state_of_file(mix: Mix, mixes: Sequence[Mix], noise: CutNoise | None, said: Mapping[str, str]) -> dict[str, Any]:
    """The state of an explorer that no server answers: it begins at a mix, and each mix brings its own noise of cuts.

    said: caution, rest (see REST) and note, a sentence on how the scores were made.
    """
    return {
        "de": list(mix.de),
        "up": list(mix.up),
        "position": 0,
        "noise": noise_at(noise, mix.weights()),
        "mixes": [each.as_json() | {"noise": noise_at(noise, each.weights())} for each in mixes],
        "links": None,
        **said,
    }
