"""The score of a run by the distance of its rows to the training rows."""

from __future__ import annotations

import pandas as pd

from core.plots import drawing, slice_scores
from core.report.captioned import CaptionedFigure
from core.scoring.distance_scores import NETWORK, DistanceScores, change_sentence
from core.scoring.sentences import TWO_WAY, scored_text
from core.stats.slices import Slice


def of_scores(run: str, found: DistanceScores, overall: float, control: float, metric: str) -> CaptionedFigure:
    """Return one metric (mean, DE or DIR) of a run of this name. overall: of all rows; control: of row counts alone."""
    table = pd.DataFrame(
        [_line(part, cosines, metric) for part, cosines in zip(found.slices, found.cosines, strict=True)],
    )
    what = "target gene" if found.axis == "gene" else "perturbation"
    measure = "steps in the network" if found.by == NETWORK else f"the cosine in {found.by}"
    caption = (
        f"{run} · {int(table['n'].sum()):,} rows by {measure} from their {what} to the nearest other one of the training rows · "
        f"{metric} inside each slice, {scored_text(found.scored)}, interval {TWO_WAY}"
    )
    chart = slice_scores.figure(table, overall, control, drawing.METRICS[metric])
    sentence = f"{change_sentence(found)}."
    return CaptionedFigure(f"{metric} by distance to the training rows", run, sentence, caption, chart, table)


def _line(part: Slice, cosines: tuple[float, float] | None, metric: str) -> dict[str, object]:
    scored = part.parts[metric]
    reach = "" if cosines is None else f", {cosines[0]:.2f} to {cosines[1]:.2f}"
    counts = {"slice": f"{part.name}{reach}", "n": part.n, "n_labelled": part.n_labelled}
    return {**counts, **scored.score.shown.columns, "cost": scored.cost}
