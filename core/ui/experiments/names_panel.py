"""Memory or reasoning: what the chosen run loses without gene names, or why that is unknown; and a form that asks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions.contamination import ContaminationRequest, plan_contamination, start_apart
from core.actions.workspace import Workspace
from core.errors import InputError, StateError
from core.experiments.attribution_words import cost_sentence
from core.experiments.contamination import PAGE, TITLES, Contamination, choose_arms
from core.experiments.contamination_words import (
    LIMITS,
    arm_sentence,
    method_sentence,
    unknown_lines,
    verdict_sentence,
)
from core.fields.record import make, option_of
from core.plots import contamination as plot
from core.store.runs import Run
from core.ui.shared import loaders
from core.ui.shared.confirmation import confirm
from core.ui.shared.job_panel import watch_job
from core.ui.shared.linked import bind, choose_several
from core.ui.shared.option_controls import key_of, show_calls, show_more, show_settings, title_of
from core.ui.shared.shell import explain_errors
from core.ui.shared.widgets import as_text, show_figure

_ABOUT = (
    "The same rows are asked again with coded names, swapped names, both genes of the row hidden, and names "
    "alone. The loss shows whether the score rests on names or on the dossier."
)
_SAMPLE = 300
_OWNER = "names_"  # the beginning of keys and query parameters


def show(workspace: Workspace, run: Run) -> None:
    """Show the finished and running experiments on a run and a form that starts one, or why there can be none."""
    st.markdown("**Memory or reasoning?**")
    for unfinished in loaders.unfinished_contaminations(run.id):
        watch_job(workspace, PAGE, unfinished.spec.key)
    unknown = unknown_lines(run)
    if unknown is not None:
        st.markdown(as_text(" ".join(unknown)))
        return
    st.caption(_ABOUT)
    found = loaders.contamination_reports(run.id)
    for i, each in enumerate(found):
        st.markdown(f"**{as_text(verdict_sentence(each))}**")
        table, title = table_of(each), f"Memory or reasoning of {run.name}"
        show_figure(plot.figure(table), table, f"contamination {i}", title, method_sentence(each))
        st.markdown("\n".join(f"- {as_text(arm_sentence(arm))}" for arm in each.arms))
        st.caption(as_text(LIMITS))
    if not workspace.settings.read_only:
        with st.expander("Ask with other gene names"):
            _show_form(workspace, run)


def table_of(found: Contamination) -> pd.DataFrame:
    """Return one row for each arm: the columns of the figure."""
    lines = [
        {
            "name": TITLES[each.arm],
            "score": each.mean.b.value,
            **each.mean.change.shown.columns,
            "n": each.found.covered.n_labelled,
            "p_holm": each.p_holm,
            "falls": each.falls,
        }
        for each in found.arms
    ]
    return pd.DataFrame(lines, columns=list(plot.COLUMNS))


def _show_form(workspace: Workspace, run: Run) -> None:
    try:
        offered = choose_arms(run, ())
    except StateError as error:
        st.markdown(as_text(error))
        return
    if not run.done:
        st.markdown("This run has no answers yet.")
        return
    try:
        request = _show_choices(run, offered)
    except InputError as error:
        st.markdown(f":orange[{as_text(error)}]")
        return
    with st.container(horizontal=True):
        wants_cost = st.button("Estimate", key="estimate-names")
        wants_start = st.button("Start", type="primary", icon=":material/play_arrow:", key="start-names")
    if not wants_cost and not wants_start:
        return
    with explain_errors():
        plan = plan_contamination(workspace, request)
        if not wants_start:
            st.markdown(as_text(cost_sentence(plan.cost, plan.left, len(plan.spec.rows))))
            return
        start_apart(workspace, plan)
        confirm(f"{plan.left:,} runs were started in a separate process; the page Run lists them.")
        st.rerun()


def _show_choices(run: Run, offered: tuple[str, ...]) -> ContaminationRequest:
    most = min(_SAMPLE, run.done)
    rows, ways = (option_of(ContaminationRequest, name) for name in ("rows", "arms"))
    sample = st.number_input(title_of(rows), 1, run.done, most, help=rows.help, **bind(key_of(rows, _OWNER), most))
    titles = {arm: TITLES[arm] for arm in offered}
    arms = choose_several(st.multiselect, key_of(ways, _OWNER), title_of(ways), titles, help=ways.help, placeholder="all")
    chosen = show_settings(ContaminationRequest, _OWNER, ["endpoint"])
    chosen |= show_more(ContaminationRequest, _OWNER, ("rows", "arms", *chosen))
    chosen |= {"rows": f"sample={sample}", "arms": arms}
    return make(ContaminationRequest, chosen, run=run.id, calls=show_calls(_OWNER))
