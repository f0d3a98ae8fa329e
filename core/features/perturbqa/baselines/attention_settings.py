"""The settings of the graph attention networks to try, and their shared constants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from core.base.errors import InputError
from core.stats import validate

HEADS = 4
FEED_FORWARD = 1024  # units
DROPOUT = 0.1
WEIGHT_DECAY = 1e-6
LEARNING_RATE = 1e-4
VALIDATION_SHARE = 0.1  # share of the training perturbations
FULL = "full"  # the name of the published grid
PUBLISHED_SIZES = tuple(product((1, 2, 4, 8), (64, 128, 256)))  # layers, width


@dataclass(frozen=True, slots=True)
class AttentionGrid:
    """The networks to train; the best one on the validation perturbations predicts.

    sizes: (layers, width) of each, the width a multiple of HEADS. epochs: most passes over the
    training rows; patience: training stops after this many passes without a better validation
    score. batch: number of rows in a step. seed: of the validation perturbations, the weights and
    the order of rows.
    """

    sizes: tuple[tuple[int, int], ...] = PUBLISHED_SIZES
    epochs: int = 30
    patience: int = 3
    batch: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InputError("attention networks: got no size; expected at least one")
        for name in ("epochs", "patience", "batch"):
            validate.whole_number(name, getattr(self, name), 1)
        for layers, width in self.sizes:
            validate.whole_number("layers", layers, 1)
            if validate.whole_number("width", width, HEADS) % HEADS:
                raise InputError(
                    f"attention networks: width {width}; expected a multiple of {HEADS}, the number"
                    " of heads"
                )


def read_grid(text: str) -> AttentionGrid:
    """Return the grid for a text: "full" for the published one, or sizes such as "1x64,2x128"
    (layers x width).

    Raise InputError.
    """
    if text == FULL:
        return AttentionGrid()
    sizes = [re.fullmatch(r"(\d{1,2})x(\d{1,4})", part.strip()) for part in text.split(",")]
    if None in sizes:
        raise InputError(
            f"attention networks: got {text!r}; expected {FULL}, or sizes such as 1x64,2x128"
            " (layers x width)"
        )
    return AttentionGrid(tuple((int(size[1]), int(size[2])) for size in sizes if size is not None))
