"""Experiments, tab Controls: a run beside everything here that knows no biology."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import streamlit as st

from core.report.figures.baselines import caption_of, of_axis
from core.scoring import terms
from core.scoring.controls import RunControls
from core.scoring.sentences import verdict_sentence
from core.ui.breakdown.baselines import show_controls_table
from core.ui.shared import links, loaders, run_browser, score_box
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_captioned

_AXES: tuple[tuple[str, Literal["de", "dir"]], ...] = (("DE", "de"), ("DIR", "dir"))
_INSIDE = "the kNN without biology are scored inside the cells of doubly-disjoint folds, but for the one that says leave-one-out"
_SPACES = (
    "A kNN whose vectors hold no biology has 0.5 inside the cells of doubly-disjoint folds, however alike its vectors are. "
    "Leave-one-out has not: what it takes away from a row's knowledge base pushes equal weights against the label."
)


def show(context: PageContext) -> None:
    """Show the run's controls on both axes, and in a table with the kNN over spaces without biology."""
    run = context.run
    if run is None:
        run_browser.show_no_run(context)
        return
    score = loaders.run_score(run.id)
    if score.whole.n_labelled == 0:
        score_box.show_no_labels(score.whole.n)
        run_browser.offer_labelled_run(context, links.EXPERIMENTS)
        return
    with st.spinner("Permuting labels and vectors …"):
        found, spaces = loaders.run_controls(run.id), loaders.space_controls(run.id)
    both = replace(found, controls=(*found.controls, *spaces))
    _show_verdicts(found)
    caption = f"{caption_of(run, score.whole.n, found)}; {_INSIDE}"
    for name, axis in _AXES:
        figure = of_axis(run, score.whole.n, both, name, axis)
        show_captioned(replace(figure, caption=caption if figure.chart is not None else ""), f"controls-{axis}")
    st.markdown("**In numbers**")
    show_controls_table([found.own, *both.controls], "controls")
    st.caption(as_text(caption))
    st.caption(_SPACES)


def _show_verdicts(found: RunControls) -> None:
    judged = (("DE", found.verdicts.de), ("DIR", found.verdicts.dir))
    sentences = [verdict_sentence(axis, verdict) for axis, verdict in judged if verdict.beats is not None]
    said = "  \n".join(as_text(f"{sentence}.") for sentence in sentences)
    st.markdown(said, help=terms.explain(" ".join(sentences)))
