"""A score as every page shows it: value, interval by perturbations and genes, interval by rows, n, chance."""

from __future__ import annotations

import streamlit as st

from core.scoring.sentences import interval_text
from core.stats.delong import Estimate
from core.stats.official_score import ScoreIntervals
from core.ui.shared import loaders
from core.ui.shared.widgets import as_text

SCORE_HELP = {
    "DE": "AUROC of any effect against none, over rows with a label: 0.5 is chance.",
    "DIR": "AUROC of up against down, over rows with an effect: 0.5 is chance.",
    "mean": "The official score: the mean of DE and DIR.",
}


def text(value: Estimate) -> str:
    """ "0.621 [0.604, 0.638]" by perturbations and genes; words where there is no estimate."""
    if value.value != value.value:
        return "one class" if value.n else "no labels"
    return interval_text(value.two_way)


def show(score: ScoreIntervals) -> None:
    """DE, DIR and their mean side by side."""
    for column, (name, part, n) in zip(
        st.columns(3),
        (("DE", score.de, score.n_labelled), ("DIR", score.dir, score.dir.n), ("mean", score.mean, score.n_labelled)),
        strict=True,
    ):
        column.metric(name, f"{part.value:.3f}" if part.value == part.value else "–", help=SCORE_HELP[name])
        column.caption(
            f"{_range(part, 'two_way')} by perturbations and genes  \n{_range(part, 'row')} by rows alone  \n"
            f"n = {n:,}, chance 0.5"
        )


def _range(part: Estimate, unit: str) -> str:
    interval = getattr(part, unit)
    return f"[{interval.low:.3f}, {interval.high:.3f}]" if interval.low == interval.low else "no interval"


def no_labels(n: int) -> None:
    """What to say where a run has no labels."""
    st.markdown(
        f"**No labels here.** None of these {n:,} rows has a label in this workspace, so there is no score and no hit or miss."
    )


def protocol(run: str) -> None:
    """How the labels that a kNN behind a run has seen were kept away from the rows it is scored on, and what that does."""
    for kind, sentence in loaders.protocol_sentences(run):
        biased = " Leave-one-out is biased where similarities are flat: claim from folds." if kind == "loo" else ""
        st.caption(as_text(f"{sentence}.{biased}"))
