"""Overview: the ladder of scores, one for runs on the same rows that are scored alike."""

from __future__ import annotations

import streamlit as st

from core.report.figures import ladder
from core.scoring.public_noise import PublicNoise, public_noise
from core.ui.shared import loaders
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_captioned, show_empty


def noise_of(context: PageContext, n_unlabelled: int) -> PublicNoise | None:
    """The noise of a public score of the chosen dataset."""
    return public_noise([loaders.standing(run.id).score for run in context.runs], n_unlabelled)


def show_ladder(context: PageContext, noise: PublicNoise | None) -> None:
    """Show the runs of each group, the highest score first, and the public scores."""
    standings = {run.id: loaders.standing(run.id) for run in context.runs}
    groups, published = ladder.group_runs(context.runs, standings), ladder.published_of(context.runs)
    if not groups and not published:
        show_empty("No run has a score yet: none has labelled rows here, and none a recorded public score (Data, Runs).")
        return
    dataset, chosen = context.dataset.name if context.dataset else "", context.run.id if context.run else None
    for number, group in enumerate(groups):
        st.markdown(f"**{as_text(ladder.describe_rows(standings[group[0].id]))}**")
        show_captioned(ladder.of_group(dataset, group, standings, chosen), f"ladder-{number}")
    if published:
        st.markdown("**Public scores**")
        show_captioned(ladder.of_published(dataset, published, noise, chosen), "ladder-public")
