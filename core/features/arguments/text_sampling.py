"""Settings for drawing texts for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.fields.setting import Count, Whole, setting

Design = Literal["simple", "stratified"]


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Texts to draw. size: None for no draw. seed: the same seed draws the same texts."""

    size: Annotated[
        Count | None,
        setting("Draw N texts to read.", title="Texts", name="sample", metavar="N", key="size"),
    ] = None
    design: Annotated[
        Design,
        setting(
            "At random, or by a model's answers, which needs a reading.",
            title="How they are drawn",
            words={
                "simple": "at random",
                "stratified": "equal numbers of each of the judge's answers",
            },
            name="by",
            key="by",
        ),
    ] = "simple"
    seed: Annotated[
        Whole, setting("Random seed; the same seed draws the same texts.", where="command")
    ] = 0


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The drawn texts. places: their positions among all texts, shape (size,), in random reading
    order. probabilities: of shape (size,), each in (0, 1].
    """

    places: NDArray[np.int64]
    probabilities: NDArray[np.float64]


def draw(strata: Sequence[str], size: int, rng: np.random.Generator) -> Drawn:
    """Draw equally many texts from each stratum, or all of a small one; the largest strata give the
    rest.

    strata: of each text, shape (n,); a simple random sample has only one. Raise InputError without
    a text, and if there are more strata than texts to draw, because some texts would have
    probability 0.
    """
    names = np.asarray(strata, dtype=str)
    if not len(names):
        raise InputError("sample: there is no text to draw from, expected at least 1")
    known, stratum, counts = np.unique(names, return_inverse=True, return_counts=True)
    if size < len(known):
        raise InputError(
            f"sample: {size} texts from {len(known)} strata, expected at least one from each"
        )
    drawn = _equal_shares(counts, min(len(names), size))
    order = rng.permutation(len(names))
    place_in_stratum = np.empty(len(names), dtype=np.int64)
    for each in range(len(known)):
        members = order[stratum[order] == each]
        place_in_stratum[members] = np.arange(len(members))
    places = order[place_in_stratum[order] < drawn[stratum[order]]]
    return Drawn(places, (drawn / counts)[stratum[places]])


def _equal_shares(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the number to draw from strata of these sizes: equal numbers, as far as the sizes
    allow."""
    drawn = np.zeros_like(counts)
    while (left := size - int(drawn.sum())) > 0:
        open_strata = np.flatnonzero(drawn < counts)
        share = left // len(open_strata)
        if share == 0:
            largest = open_strata[np.argsort(-counts[open_strata], kind="stable")]
            drawn[largest[:left]] += 1
        else:
            drawn[open_strata] += np.minimum(share, (counts - drawn)[open_strata])
    return drawn
