"""Overview: where do we stand?"""

import streamlit as st

from core.plots import label_counts
from core.ui.overview import ladder, panels, runs_table, summary
from core.ui.shared import loaders, shell, widgets

context = shell.open_page(__file__)
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
caption = f"{context.dataset.name} · {int(counts['rows'].sum()):,} rows · counts, so no interval"
widgets.show_figure(label_counts.figure(counts), counts.drop(columns="dataset"), "labels", "Labels of the dataset", caption)
