"""Overview: where do we stand?"""

import streamlit as st

from core.features import hooks
from core.features.reading import report_parts
from core.features.reading.overview import concerns, dataset, runs_table, summary
from core.ui import shell, widgets
from core.ui.loaders.records import dataset_counts

context = shell.open_page(__file__).without_asked()
for show_news in hooks("news"):
    show_news()
if context.dataset is None:
    dataset.show_welcome(context)
    st.stop()

dataset.say_if_simulated(context)
summary.show_first_screen(context)
counts = dataset_counts()
counts = counts[counts["dataset"] == context.dataset.id]
noise = summary.noise_of(context, int(counts["unlabelled"].sum()))

st.markdown("### Runs")
runs_table.show_runs(context, noise)
summary.show_published(context, noise)

st.markdown("### What needs attention")
concerns.show_all(context)
concerns.watch_states(context)

st.markdown("### The dataset")
dataset.show_counts(counts)
widgets.show_captioned(report_parts.labels_of_dataset(context.dataset.name, counts), "labels")
