"""Scores: a run's score between no biology and a replicate of the screen, which the user chooses."""

from __future__ import annotations

import streamlit as st

from core.errors import InputError
from core.scoring.score_scale import RunScale, caution, ends_text
from core.stats.official_score import RESAMPLES, ScaledScore
from core.store.runs import Run
from core.texts import number_text, range_text
from core.ui.shared import loaders
from core.ui.shared.linked import choose_one
from core.ui.shared.widgets import Number, as_text, show_numbers

_CHOICE = (
    "A repeat of the same screen, with other guides or in another batch, as a dataset of the same pairs. Another cell line is "
    "not a replicate. Datasets do not record this, so choose one."
)
_HELP = (
    "(score − no biology) / (replicate − no biology), as AUROCs on the rows that both have. No biology is 0, the replicate 1. "
    f"The interval is from {RESAMPLES} bootstraps of perturbations."
)


def show(run: Run) -> None:
    """Show the choice of a replicate, and DE and DIR on its scale; nothing without another dataset of these pairs."""
    known = dict(loaders.datasets_sharing(run.dataset))
    if not known:
        return
    choice, numbers = st.columns([0.3, 0.7], vertical_alignment="bottom")
    titles = {name: f"{name} ({n:,} pairs)" for name, n in known.items()}
    chosen = choose_one(
        choice.selectbox, "replicate", "Replicate of the screen", titles, index=None, placeholder="none chosen", help=_CHOICE
    )
    if chosen is None:
        return
    with numbers:
        try:
            found = loaders.run_scale(run.id, chosen)
        except InputError as error:
            st.markdown(as_text(error))
            return
        _show(found)


def _show(found: RunScale) -> None:
    show_numbers("scale", [_number(name, part) for name, part in (("DE", found.de), ("DIR", found.dir))], 2)
    for name, part in (("DE", found.de), ("DIR", found.dir)):
        if warning := caution(part):
            st.markdown(as_text(f"{name}: {warning}."))


def _number(name: str, part: ScaledScore) -> Number:
    return Number(
        f"{name} on the scale",
        number_text(part.value, ".2f"),
        _HELP,
        f"{range_text(part.low, part.high, '.2f')}  \n{ends_text(part)}",
    )
