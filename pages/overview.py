"""Overview: where do we stand?"""

import streamlit as st

from core.plots import label_counts
from core.ui.overview import panels
from core.ui.shared import loaders, shell, widgets

view = shell.enter(__file__)
st.markdown("## Overview")
if view.dataset is None:
    panels.welcome()
    st.stop()

counts = loaders.dataset_counts()
counts = counts[counts["dataset"] == view.dataset.id]
panels.headline(view, counts)

st.markdown("### Runs")
panels.runs_table(view)

st.markdown("### The ladder")
panels.ladder(view)

st.markdown("### What needs attention")
panels.attention(view)

st.markdown("### The dataset")
caption = f"{view.dataset.name} · {int(counts['rows'].sum()):,} rows · counts, so no interval"
widgets.figure(widgets.themed(label_counts.figure(counts)), counts.drop(columns="dataset"), "labels", caption)
