"""A figure with all that has to stand beside it, made once for pages, reports and slides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd
import plotly.graph_objects as go


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedFigure:
    """One figure, or a sentence instead of it. title: its topic. subject: its run or runs.

    finding: its message as a headline, "" if the sentence is one. sentence: its message, with numbers. caption: dataset or run,
    n, and the interval or why there is none. chart: None where there is nothing to draw; the sentence then says why. table: its
    numbers.
    """

    title: str
    subject: str
    sentence: str
    caption: str = ""
    chart: go.Figure | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    finding: str = ""

    @property
    def headline(self) -> str:
        """What the figure says, without the full stop of a sentence."""
        return (self.finding or self.sentence).removesuffix(".")


def subject_of(names: Sequence[str]) -> str:
    """Return the subject of a figure of runs: the name of one, or the number of several."""
    return names[0] if len(names) == 1 else f"{len(names)} runs"


def of_each_run(names: Sequence[str], facts: Sequence[str]) -> str:
    """Return how the caption of a figure of runs begins: its subject, then a fact of each run."""
    if len(names) == 1:
        return f"{names[0]} · {facts[0]}"
    return f"{subject_of(names)} · {', '.join(f'{name} {fact}' for name, fact in zip(names, facts, strict=True))}"
