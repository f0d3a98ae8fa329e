"""What a person may choose of how texts are drawn for people to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.fields.record import setting

Design = Literal["random", "stratified", "unsure"]


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Texts to draw. size: None for no draw. seed: the same draws the same again."""

    size: int | None = setting(None, "Draw N texts to read.", name="sample", metavar="N", title="Texts", key="size", least=1)
    design: Design = setting(
        "random", "random, stratified (by the judge's answer) or unsure (where the judge is).", name="by", key="by"
    )
    seed: int = setting(
        0,
        "The same draws the same again.",
        least=0,
        not_on_form="a page takes the number of samples before it, so that another one has other texts",
    )
