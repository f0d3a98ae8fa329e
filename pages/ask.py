"""Ask: what would the agents say about this pair?"""

import streamlit as st

from core.features.asking import actions as ask
from core.features.asking.page import argued
from core.ui import run_browser, shell
from core.ui.linked import read_ids

context = shell.open_page(__file__)
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
argued.show_form(context, context.dataset)
asked = ask.list_ad_hoc_runs(context.workspace, context.dataset.id)
watchable = {run.id: run for run in (*asked, *context.runs)}
chosen = next(iter(read_ids("asked", list(watchable))), None)
if chosen is not None:
    shell.set_title(watchable[chosen].name, "Ask")
    argued.show_row(context, watchable[chosen])
argued.show_asked(asked)
