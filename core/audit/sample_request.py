"""Settings for drawing texts for people to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from core.fields.setting import Count, Whole, setting

Design = Literal["simple", "stratified"]


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Texts to draw. size: None for no draw. seed: the same seed draws the same texts."""

    size: Annotated[Count | None, setting("Draw N texts to read.", title="Texts", name="sample", metavar="N", key="size")] = None
    design: Annotated[
        Design,
        setting(
            "At random, or by a model's answers, which needs a reading.",
            title="How they are drawn",
            words={"simple": "at random", "stratified": "equal numbers of each of the judge's answers"},
            name="by",
            key="by",
        ),
    ] = "simple"
    seed: Annotated[Whole, setting("Random seed; the same seed draws the same texts.", where="command")] = 0
