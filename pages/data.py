"""Data: what do we have, and can it be trusted?"""

import streamlit as st

from core.ui import data_tabs, loaders, shell

view = shell.enter(__file__)
st.markdown("## Data")
imports, rejected = loaders.import_list()
titles = ["Import", "Imported files", "Rejected rows", "Runs", "Changes"]
tabs = dict(zip(titles, st.tabs(titles, key="tab", bind="query-params"), strict=True))
if tabs["Import"].open:
    with tabs["Import"]:
        data_tabs.bring_in(view)
if tabs["Imported files"].open:
    with tabs["Imported files"]:
        data_tabs.imported(view, imports)
if tabs["Rejected rows"].open:
    with tabs["Rejected rows"]:
        data_tabs.rejected(rejected)
if tabs["Runs"].open:
    with tabs["Runs"]:
        data_tabs.manage_run(view)
if tabs["Changes"].open:
    with tabs["Changes"]:
        data_tabs.changes(loaders.latest_changes())
