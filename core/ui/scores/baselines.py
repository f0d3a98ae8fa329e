"""Scores: baselines without biology on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from core.report.figures.baselines import caption_of, of_axis
from core.scoring import terms
from core.scoring.control_words import controls_table, verdict_lines
from core.scoring.controls import Control
from core.scoring.run_scores import RunRows
from core.ui.shared import loaders, tables
from core.ui.shared.widgets import as_text, show_captioned

_AXES: tuple[tuple[str, Literal["de", "dir"]], ...] = (("DE", "de"), ("DIR", "dir"))
_INSIDE = "the kNN without biology are scored inside the cells of doubly-disjoint folds, except the leave-one-out one"
_SPACES = (
    "A kNN whose vectors contain no biology scores 0.5 inside the cells of doubly-disjoint folds. Leave-one-out does not: "
    "leaving out a row's own label biases equal weights against it."
)
_FINGERPRINT = (
    "These means use labels of other rows of the same gene or perturbation. No method may see those here, so a run need not "
    "beat them. In the challenge, a gene's unchanged rows were sampled to match its changed ones. The means then point away "
    "from the label and score high when reversed. They describe the sampling."
)


def show_baselines(rows: RunRows) -> None:
    """Show whether the run beats the controls without biology, the controls, and separately the fingerprint of the sampling."""
    with st.spinner("Permuting labels …"):
        found = loaders.run_controls(rows.run.id)
    verdicts = verdict_lines(found)
    st.markdown("  \n".join(map(as_text, verdicts)), help=terms.explain(" ".join(verdicts)))
    with st.spinner("Permuting vectors …"):
        spaces = loaders.space_controls(rows.run.id)
    both = replace(found, controls=(*found.controls, *spaces))
    n = int(rows.arrays.outcome.labelled.sum())
    caption = f"{caption_of(rows.run, n, found)}; {_INSIDE}"
    for name, axis in _AXES:
        figure = of_axis(rows.run, n, both, name, axis)
        show_captioned(replace(figure, caption=caption if figure.chart is not None else ""), f"controls-{axis}")
    _show_controls_table([found.own, *both.controls], "baselines")
    st.caption(as_text(caption))
    st.caption(_SPACES)
    with st.expander("What the sampling reveals"):
        st.caption(_FINGERPRINT)
        _show_controls_table(found.fingerprint, "fingerprint of the sampling", is_reversed=True)


def _show_controls_table(controls: Sequence[Control], name: str, *, is_reversed: bool = False) -> None:
    """Show the scores of controls in a table, and a description of each. name: of the table's file."""
    table = pd.DataFrame(controls_table(controls, is_reversed=is_reversed))
    tables.show_table(table.dropna(axis="columns", how="all"), name)
    st.caption("  \n".join(f"**{as_text(each.name)}**: {as_text(each.about)}" for each in controls))
