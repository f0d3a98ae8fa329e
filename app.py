"""PerturbDesk: `make app`, or `streamlit run app.py`.

This file is only the router; pages are in pages/, everything else in core/.
"""

import streamlit as st

from core.features import features
from core.ui.shared import shell
from core.ui.shared.sidebar import MORE


def page(file: str, title: str, icon: str) -> st.Page:
    """Return a page of pages/. Its address is the file's name."""
    return st.Page(f"pages/{file}.py", title=title, icon=f":material/{icon}:")


pages = {
    "": [
        st.Page("pages/overview.py", title="Overview", icon=":material/dashboard:", default=True),
        st.Page("pages/perturbation.py", title="Perturbation", visibility="hidden"),
        st.Page("pages/gene.py", title="Target gene", visibility="hidden"),
    ],
    "Read": [
        page("rows", "Rows", "forum"),
        page("search", "Search", "search"),
        page("arguments", "Arguments", "fact_check"),
    ],
    "Score": [
        page("scores", "Scores", "bar_chart"),
        page("compare", "Compare", "compare_arrows"),
        page("fuse", "Fuse", "tune"),
        page("neighbours", "Neighbours", "hub"),
    ],
    "Make": [
        page("run", "Run", "rocket_launch"),
        page("ask", "Ask", "record_voice_over"),
        page("share", "Share", "outbox"),
    ],
    "Workspace": [page("data", "Data", "database")],
    MORE: [page("targets", "Targets", "my_location")],
}
for brought in (each for feature in features().values() for each in feature.pages):
    pages.setdefault(brought.group, []).insert(0, page(brought.name, brought.title, brought.icon))
shell.route(pages)
