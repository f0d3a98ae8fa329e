"""Neighbours: who voted for this row?"""

import streamlit as st

from core.ui import browser, loaders, near, neighbours, shell, widgets

view = shell.enter(__file__)
st.markdown("## Neighbours")
dataset = view.dataset
if dataset is None:
    browser.nothing(view)
    st.stop()
spaces = near.usable(dataset)
if not spaces:
    near.no_space()
    st.stop()

pair_id = neighbours.choose_row(dataset, st.query_params.get("row"))
pair = loaders.pair(dataset.id, pair_id)
plan = near.controls(dataset, spaces, labelled=pair.label is not None)
if plan is None:
    st.stop()

found = near.around(dataset, plan, (pair_id,))
whole, rest = neighbours.explain(found, pair_id)
st.markdown(f"### {widgets.pair(pair.pert, pair.gene)}")
neighbours.numbers(found, whole, rest, pair.label)
neighbours.masked(found)
if not len(whole.neighbours):
    st.markdown("No labelled row that this one may see is similar to it in these spaces: there is no prior.")
    st.stop()

rows = neighbours.lines(found, whole)
neighbours.pictures(view, found, rows, pair_id)
neighbours.listing(found, rows, pair_id)
neighbours.links_out(view, pair_id, pair.pert, pair.gene)
near.not_offered(dataset)
