"""Overview: where do we stand?"""

import streamlit as st

from core.plots import labels
from core.ui import loaders, overview, shell, widgets

view = shell.enter(__file__)
st.markdown("## Overview")
if view.dataset is None:
    overview.welcome()
    st.stop()

counts = loaders.dataset_counts()
counts = counts[counts["dataset"] == view.dataset.id]
overview.headline(view, counts)

st.markdown("### Runs")
overview.runs_table(view)

st.markdown("### The ladder")
overview.ladder(view)

st.markdown("### What needs attention")
overview.attention(view)

st.markdown("### The dataset")
caption = f"{view.dataset.name} · {int(counts['rows'].sum()):,} rows · counts, so no interval"
widgets.figure(widgets.themed(labels.figure(counts)), counts.drop(columns="dataset"), "labels", caption)
