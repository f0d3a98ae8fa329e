"""Scores: baselines without biology on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.base.result import Table
from core.features.scores.loaders import run_controls, space_controls
from core.plots.captioned import captioned
from core.scoring import sentences
from core.scoring.controls import Control
from core.scoring.run_scores import RunRows
from core.ui import results
from core.ui.widgets import as_text, show_captioned

_INSIDE = (
    "the kNN without biology are scored inside the cells of doubly-disjoint folds, except the"
    " leave-one-out one"
)
_SPACES = (
    "A kNN whose vectors contain no biology scores 0.5 inside the cells of doubly-disjoint folds."
    " Leave-one-out does not: leaving out a row's own label biases equal weights against it."
)
_FINGERPRINT = (
    "These means use labels of other rows of the same gene or perturbation. No method may see those"
    " here, so a run need not beat them. In the challenge, a gene's unchanged rows were sampled to"
    " match its changed ones. The means then point away from the label and score high when"
    " reversed. They describe the sampling."
)


def show_baselines(rows: RunRows) -> None:
    """Show whether the run beats the controls without biology, the controls, and separately the
    fingerprint of the sampling."""
    with st.spinner("Permuting labels …"):
        found = run_controls(rows.run.id)
    st.markdown(as_text(found.sentence), help=sentences.explain(found.sentence))
    with st.spinner("Permuting vectors …"):
        both = replace(found, controls=(*found.controls, *space_controls(rows.run.id)))
    for axis in ("de", "dir"):
        show_captioned(captioned(replace(both, axis=axis), rows.run.name), f"controls-{axis}")
    controls, fingerprint = both.tables()
    _show_table(controls, "baselines", [both.own, *both.controls])
    st.caption(f"{as_text(both.scope)}; {_INSIDE}. {_SPACES}")
    with st.expander("What the sampling reveals"):
        st.caption(_FINGERPRINT)
        _show_table(fingerprint, "fingerprint of the sampling", found.fingerprint)


def _show_table(table: Table, name: str, controls: Sequence[Control]) -> None:
    """Show the scores of controls in a table, and a description of each. name: of the table's
    file."""
    results.show_table(pd.DataFrame(table.texts()), name)
    st.caption("  \n".join(f"**{as_text(each.name)}**: {as_text(each.about)}" for each in controls))
