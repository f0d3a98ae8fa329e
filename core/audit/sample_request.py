"""Settings for drawing texts for people to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.fields.record import setting

Design = Literal["simple", "stratified"]


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Texts to draw. size: None for no draw. seed: the same seed draws the same texts."""

    size: int | None = setting(None, "Draw N texts to read.", name="sample", metavar="N", title="Texts", key="size", least=1)
    design: Design = setting(
        "simple",
        "At random, or by a model's answers, which needs a reading.",
        name="by",
        title="How they are drawn",
        words={"simple": "at random", "stratified": "equal numbers of each of the judge's answers"},
        command_help="simple (at random) or stratified (by the judge's answer).",
        key="by",
    )
    seed: int = setting(
        0,
        "Random seed; the same seed draws the same texts.",
        least=0,
        not_on_form="a page uses the number of earlier samples, so that a new sample has other texts",
    )
