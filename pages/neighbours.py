"""Neighbours: who voted for this row?"""

import streamlit as st

from core.features.neighbours.page import neighbour_controls, panels, spaces_tab
from core.ui import results, run_browser, shell, widgets
from core.ui.loaders.records import dataset_row, is_training_row

context = shell.open_page(__file__)
dataset = context.dataset
if dataset is None:
    run_browser.show_no_run(context)
    st.stop()
spaces = neighbour_controls.usable_spaces(dataset)
if not spaces:
    spaces_tab.offer()
    st.stop()

pair_id = panels.choose_row(dataset, st.query_params.get("row"))
pair = dataset_row(dataset.id, pair_id)
settings = neighbour_controls.choose_settings(dataset, spaces, training=is_training_row(pair))
if settings is None:
    st.stop()

unit = panels.choose_unit(settings)
results.show_marks(dataset.marks)
panels.show_number(dataset, settings)
with st.spinner("Finding the similar genes …"):
    live = neighbour_controls.find_neighbours(dataset, settings, (pair_id,))
    provenance = panels.explain_priors(live)
rows = neighbour_controls.neighbour_table(live, provenance, grouped=unit != "row")
key = panels.key_of_table(live, unit, pair_id)
picked = panels.find_picked_rows(rows, key)
without_picked = panels.explain_priors(live, picked) if picked else provenance
st.markdown(f"### {widgets.pair_text(pair.pert, pair.gene)}")
panels.show_priors(live, unit, provenance, pair.label)
panels.show_masked_rows(live, pair.label)
if not len(provenance.neighbours):
    st.markdown(
        "This row has no prior: in these spaces, no labelled row that it may use is similar to it."
    )
    st.stop()

panels.show_figures(dataset, live, unit, rows, pair_id)
panels.show_neighbours(live, unit, rows, key, provenance, without_picked)
panels.show_links(context, pair_id, pair.pert, pair.gene)
neighbour_controls.show_unusable_spaces(dataset)
