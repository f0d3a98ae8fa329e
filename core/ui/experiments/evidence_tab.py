"""Evidence: which tools moved the answers of a run, how sure its judge is, and a form that starts an attribution."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions.attribution import (
    PAGE,
    AttributionRequest,
    SavedAttribution,
    plan_attribution,
    start_apart,
)
from core.errors import InputError, StateError
from core.experiments.attribution import Attribution
from core.experiments.attribution_arms import AttributionSpec, tools_given
from core.experiments.attribution_words import cost_sentence, method_sentence, verdict_sentence
from core.fields.record import make, option_of
from core.plots import attribution as figure
from core.scoring.sentences import interval_text
from core.store.runs import Run
from core.ui.experiments import names_panel
from core.ui.shared import further, links, loaders, tables
from core.ui.shared.confirmation import confirm
from core.ui.shared.job_panel import Parts, watch_job
from core.ui.shared.linked import bind, choose_one, choose_several
from core.ui.shared.option_controls import key_of, show_calls, show_more, show_settings, title_of
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty, show_figure

_ABOUT = (
    "Each tool is left out of the dossier in turn. The same rows are asked again under the same seeds. Asking again with "
    "the full dossier measures the noise."
)
_SAMPLE = 100
_OWNER = "evidence_"  # the beginning of keys and query parameters


def show(context: PageContext) -> None:
    """Show one of the attributions of this dataset, and the form that starts one."""
    if context.dataset is None:
        show_empty("This workspace has no dataset yet.", lambda: links.to_data("Import one"))
        return
    st.caption(_ABOUT)
    saved = {each.spec.key: each for each in loaders.saved_attributions() if each.spec.dataset == context.dataset.id}
    if not saved:
        show_empty("No run of this dataset has an attribution yet.")
    else:
        titles = {key: _title(each.spec) for key, each in saved.items()}
        key = choose_one(st.selectbox, "attribution", "Evidence of", titles, next(reversed(titles))) or next(reversed(titles))
        with explain_errors():
            _show(context, saved[key])
    if context.run is not None:
        further.show_judge(context.run)
        names_panel.show(context.workspace, context.run)
    if not context.workspace.settings.read_only:
        with st.expander("Start an attribution", expanded=not saved):
            _show_start(context)


def _title(spec: AttributionSpec) -> str:
    return f"{spec.name}: {len(spec.rows):,} rows, {len(spec.tools)} tools, {spec.repeats} repeats"


def _show(context: PageContext, saved: SavedAttribution) -> None:
    spec, done = saved.spec, loaders.count_done_arms(saved)
    if done < len(saved.runs):
        watch_job(context.workspace, PAGE, spec.key, Parts(lambda: _show_progress(saved)))
        return
    with st.spinner("Comparing the answers …"):
        found = loaders.attribution_report(spec.key)
    st.markdown(f"**{as_text(verdict_sentence(found))}**")
    _show_tools(found)


def _show_progress(saved: SavedAttribution) -> None:
    done = loaders.count_done_arms(saved)
    st.markdown(f"Not finished: {done:,} of {len(saved.runs):,} runs are done.")


def _show_tools(found: Attribution) -> None:
    """Show the figure, and a table with further numbers."""
    ordered = sorted(found.tools, key=lambda each: -each.movement.both.value)
    shown = [(each, each.movement.both.shown) for each in ordered]
    lines = [(e.name, *s.ends, e.rows, e.p_holm, e.is_confirmed) for e, s in shown]
    table, floor = pd.DataFrame(lines, columns=list(figure.COLUMNS)), found.floor.both.shown
    chart = figure.figure(table, floor.ends)
    caption = f"{method_sentence(found)} Band: asking again, on all of these rows, 95% interval."
    show_figure(chart, table, "evidence", f"Evidence that moved {found.spec.name}", caption)
    details = [
        {
            "without": each.name,
            "|ΔP(DE)|": interval_text(each.movement.de.shown),
            "|ΔP(up | DE)|": interval_text(each.movement.up.shown),
            "one-sided p": each.test.p,
            "after Holm": each.p_holm,
            "ΔDE": interval_text(each.scores.de.change.shown, signed=True),
            "ΔDIR": interval_text(each.scores.dir.change.shown, signed=True),
        }
        for each in ordered
    ]
    number = st.column_config.NumberColumn
    help_text = "Change of the AUROC against asking again; it is not tested."
    columns = {
        **{name: number(format="%.4f") for name in ("one-sided p", "after Holm")},
        **{name: st.column_config.TextColumn(help=help_text) for name in ("ΔDE", "ΔDIR")},
    }
    tables.show_table(pd.DataFrame(details), "evidence tools", columns)


def _show_start(context: PageContext) -> None:
    """Show the choices, the cost, and the button that starts."""
    run = context.run
    try:
        given = () if run is None else tools_given(run)
    except StateError as error:
        st.markdown(as_text(error))
        return
    if run is None or not given or not run.done:
        st.markdown("Choose a run that ran here with a method that has tools, such as debate.")
        return
    try:
        request = _show_choices(run, given)
    except InputError as error:
        st.markdown(f":orange[{as_text(error)}]")
        return
    with st.container(horizontal=True):
        wants_cost = st.button("Estimate", key="estimate-evidence")
        wants_start = st.button("Start", type="primary", icon=":material/play_arrow:", key="start-evidence")
    with explain_errors():
        if wants_start:
            _start(context, request)
        elif wants_cost:
            plan = plan_attribution(context.workspace, request)
            st.markdown(as_text(cost_sentence(plan.cost, plan.left, len(plan.spec.rows))))


def _show_choices(run: Run, given: tuple[str, ...]) -> AttributionRequest:
    one, two = st.columns(2)
    most = min(_SAMPLE, run.done)
    rows, left_out = (option_of(AttributionRequest, name) for name in ("rows", "tools"))
    sample = one.number_input(title_of(rows), 1, run.done, most, help=rows.help, **bind(key_of(rows, _OWNER), most))
    with two:
        chosen = show_settings(AttributionRequest, _OWNER, ["repeats"])
    names = {name: name.replace("_", " ") for name in given}
    all_of_them = {"help": left_out.help, "placeholder": "all that answered for these rows"}
    tools = choose_several(st.multiselect, key_of(left_out, _OWNER), title_of(left_out), names, **all_of_them)
    chosen |= show_settings(AttributionRequest, _OWNER, ["endpoint"])
    chosen |= show_more(AttributionRequest, _OWNER, ("rows", "tools", *chosen))
    chosen |= {"rows": f"sample={sample}", "tools": tools}
    return make(AttributionRequest, chosen, run=run.id, calls=show_calls(_OWNER))


def _start(context: PageContext, request: AttributionRequest) -> None:
    plan = plan_attribution(context.workspace, request)
    start_apart(context.workspace, plan)
    confirm(f"{plan.left:,} runs were started in a separate process; the page Run lists them.")
    st.session_state.pop("id-attribution", None)  # so that the choice is read from the address again
    links.set_parameter("attribution", plan.spec.key)
    st.rerun()
