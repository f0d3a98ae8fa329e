"""PerturbDesk: `make app`, or `streamlit run app.py`. Only the router; pages are in pages/, all else in core/."""

import streamlit as st

from core.ui.shared import shell

shell.route(
    {
        "": [
            st.Page("pages/overview.py", title="Overview", icon=":material/dashboard:", default=True),
            st.Page("pages/debates.py", title="Debates", icon=":material/forum:"),
            st.Page("pages/search.py", title="Search", icon=":material/search:"),
            st.Page("pages/read.py", title="Read", icon=":material/fact_check:"),
            st.Page("pages/neighbours.py", title="Neighbours", icon=":material/hub:"),
            st.Page("pages/breakdown.py", title="Breakdown", icon=":material/bar_chart:"),
            st.Page("pages/what_if.py", title="What-if", icon=":material/tune:"),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
            st.Page("pages/experiments.py", title="Experiments", icon=":material/science:"),
            st.Page("pages/targets.py", title="Targets", icon=":material/my_location:"),
            st.Page("pages/report.py", title="Report", icon=":material/slideshow:"),
            st.Page("pages/submit.py", title="Submit", icon=":material/outbox:"),
            st.Page("pages/ask.py", title="Ask", icon=":material/record_voice_over:"),
            st.Page("pages/launch.py", title="Launch", icon=":material/rocket_launch:"),
            st.Page("pages/data.py", title="Data", icon=":material/database:"),
            st.Page("pages/perturbation.py", title="Perturbation", visibility="hidden"),
            st.Page("pages/gene.py", title="Target gene", visibility="hidden"),
        ]
    }
)
