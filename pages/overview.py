"""Overview: where do we stand?"""

import streamlit as st

from core.plots import label_counts
from core.ui.overview import panels
from core.ui.shared import loaders, shell, widgets

context = shell.open_page(__file__)
st.markdown("## Overview")
if context.dataset is None:
    panels.show_welcome()
    st.stop()

counts = loaders.dataset_counts()
counts = counts[counts["dataset"] == context.dataset.id]
panels.show_counts(context, counts)

st.markdown("### Runs")
panels.show_runs(context)

st.markdown("### The ladder")
panels.show_ladder(context)

st.markdown("### What needs attention")
panels.show_concerns(context)

st.markdown("### The dataset")
caption = f"{context.dataset.name} · {int(counts['rows'].sum()):,} rows · counts, so no interval"
widgets.show_figure(label_counts.figure(counts), counts.drop(columns="dataset"), "labels", caption)
