"""Overview: where do we stand?"""

import streamlit as st

from core.report.figures import labels
from core.ui.overview import ladder, panels, runs_table, summary
from core.ui.shared import loaders, shell, widgets

context = shell.open_page(__file__).without_asked()
st.markdown("## Overview")
if context.dataset is None:
    panels.show_welcome()
    st.stop()

summary.show_summary(context)
counts = loaders.dataset_counts()
counts = counts[counts["dataset"] == context.dataset.id]
panels.show_counts(context, counts)
noise = ladder.noise_of(context, int(counts["unlabelled"].sum()))

st.markdown("### Runs")
runs_table.show_runs(context, noise)

st.markdown("### The ladder")
ladder.show_ladder(context, noise)

st.markdown("### What needs attention")
panels.show_concerns(context)
panels.watch_states(context)

st.markdown("### The dataset")
widgets.show_captioned(labels.of_dataset(context.dataset.name, counts), "labels")
