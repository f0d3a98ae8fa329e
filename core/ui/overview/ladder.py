"""Overview: public scores, and the noise that they have."""

from __future__ import annotations

import streamlit as st

from core.report.figures import ladder
from core.scoring.public_noise import PublicNoise, public_noise
from core.ui.shared import loaders
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import show_captioned


def noise_of(context: PageContext, n_unlabelled: int) -> PublicNoise | None:
    """The noise of a public score of the chosen dataset."""
    return public_noise([loaders.standing(run.id).score for run in context.runs], n_unlabelled)


def show_published(context: PageContext, noise: PublicNoise | None) -> None:
    """Show the public scores of runs that have one, which are of other rows than any score here."""
    published = ladder.published_of(context.runs)
    if published:
        dataset, chosen = context.dataset.name if context.dataset else "", context.run.id if context.run else None
        st.markdown("### Public scores")
        show_captioned(ladder.of_published(dataset, published, noise, chosen), "ladder-public")
