"""How often rows of each predicted probability have an effect, or go up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.plots import reliability
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.run_scores import RunRows
from core.stats.calibration import reliability as reliability_of
from core.stats.recalibration import recalibrate
from core.stats.scores_and_labels import outcome_of
from core.texts import rows_behind

NUMBERS = ("P(DE)", "P(up | DE)")
RANKS = "Rank scores are not probabilities: only their order counts, so they cannot be calibrated."
_FOLDS_SEED = 0


def of_run(rows: RunRows, name: str, *, recalibrated: bool = False) -> CaptionedFigure:
    """Return the reliability of a probability of `NUMBERS`.

    Recalibrated: also after a logistic curve fitted on other perturbations.
    """
    outcome = outcome_of(rows.labels)
    is_de = name == NUMBERS[0]
    values = rows.frame["p_de" if is_de else "p_up_given_de"]
    keep = (outcome.labelled if is_de else outcome.directed) & values.notna().to_numpy()
    title = f"Reliability of {name}"
    if not keep.any():
        return CaptionedFigure(title, rows.run.name, f"{name}: no row with a label.")
    positive, axes = (outcome.effect if is_de else outcome.up)[keep], (rows.pert[keep], rows.gene[keep])
    probability = values.to_numpy(dtype=np.float64)[keep]
    found = reliability_of(positive, probability, *axes)
    table, again = reliability.table(found), None
    caption = f"{rows.run.name} · {rows_behind('DE' if is_de else 'DIR', found.n)} · {reliability.summary(found)}"
    if recalibrated:
        curve = recalibrate(positive, probability, axes[0], _FOLDS_SEED)
        after = reliability_of(positive, curve.probability, *axes)
        again = reliability.table(after)
        extreme = "too extreme" if curve.slope < 1 else "too cautious"
        caption += f" · ◇ recalibrated: {reliability.summary(after)}; slope {curve.slope:.2f}, predictions are {extreme}"
    drawn = table if again is None else pd.concat([table, again], keys=["as predicted", "recalibrated"], names=["probability"])
    sentence = f"{rows.run.name}, {name}: {reliability.summary(found)}."
    return CaptionedFigure(title, rows.run.name, sentence, caption, reliability.figure(table, name, again), drawn.reset_index())


def of_runs(runs: Sequence[RunRows], name: str) -> CaptionedFigure:
    """Return the reliability of a probability of two or more runs in one figure."""
    made = {rows.run.name: of_run(rows, name) for rows in runs}
    drawn = {run: one for run, one in made.items() if one.chart is not None}
    title, subject = f"Reliability of {name}", f"{len(runs)} runs"
    sentence = " ".join(one.sentence for one in made.values())
    if not drawn:
        return CaptionedFigure(title, subject, sentence)
    tables = {run: one.table for run, one in drawn.items()}
    caption = f"{subject} · {'; '.join(one.caption for one in drawn.values())}"
    chart = reliability.overlay_figure(tables, name)
    table = pd.concat(tables, names=["run", "bin"]).reset_index("run").reset_index(drop=True)
    return CaptionedFigure(title, subject, sentence, caption, chart, table, f"{name} against observed shares, {subject}")


def _make(material: Material) -> Sequence[CaptionedFigure]:
    calibrated = [material.rows[run.id] for run in material.labelled_runs if not run.has_rank_scores]
    ranked = [run for run in material.labelled_runs if run.has_rank_scores]
    return [
        *(of_runs(calibrated, name) if len(calibrated) > 1 else of_run(calibrated[0], name) for name in NUMBERS if calibrated),
        *(CaptionedFigure("Reliability", run.name, f"{run.name}: {RANKS}") for run in ranked),
        *material.say_unlabelled("Reliability"),
    ]


FIGURE = FigureKind("reliability", "Reliability", "Predicted probabilities against observed shares.", 90, _make)
