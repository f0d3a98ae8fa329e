"""Arguments: the forms that add a rubric and start a model's reading."""

from __future__ import annotations

import streamlit as st

from core.base.errors import InputError
from core.base.fields.record import make, option_of
from core.base.texts import describe_duration
from core.features.arguments import readings
from core.features.arguments.findings import kind_of
from core.features.arguments.jobs import KIND
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.runs.request import money_text
from core.store.runs import Run
from core.ui import links
from core.ui.job_panel import watch_job
from core.ui.links import confirm
from core.ui.loaders.records import all_runs, stages, text_counts
from core.ui.option_controls import names_of_rest, show_calls, show_more, show_settings, title_of
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text

_RUBRIC = "note-rubric-"  # the beginning of keys of a new rubric's settings, which are in no link
_OWNER = "reading_"  # the beginning of keys and query parameters of a reading's settings


def show_forms(context: PageContext, run: Run, rubric: Rubric | None) -> None:
    """Show both forms, folded."""
    if rubric is not None:
        show_reading(context, run, rubric)
    if not context.read_only:
        with st.expander("Add a rubric", key="add-rubric"):
            _show_rubric(context, run)


def _show_rubric(context: PageContext, run: Run) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        chosen = show_settings(Rubric, _RUBRIC, ["name", "question", "answers"], in_link=False)
    with right:
        chosen |= show_settings(Rubric, _RUBRIC, ["unit"], in_link=False)
        roles = {role: None for counts in text_counts(run.id).values() for role in counts}
        chosen |= {
            "roles": _choose("roles", list(roles)),
            "stages": _choose("stages", stages(run.id)),
        }
        chosen |= show_settings(Rubric, _RUBRIC, names_of_rest(Rubric, chosen), in_link=False)
    is_ready = bool(chosen["name"] and chosen["question"])
    if st.button("Add rubric", type="primary", key="add-rubric-now", disabled=not is_ready):
        with explain_errors():
            rubric = make(Rubric, chosen)
            is_new = readings.add_rubric(context.workspace, rubric)
            links.set_parameters({"rubric": rubric.name})
            st.session_state.pop("id-rubric", None)
            confirm(f"{rubric.name}: {'added' if is_new else 'exists already'}.")


def _choose(name: str, known: list[str]) -> tuple[str, ...]:
    """Show the choice of a rubric's roles or stages: those of the run, or others that are typed."""
    option = option_of(Rubric, name)
    chosen = st.multiselect(
        title_of(option),
        known,
        help=option.about.help,
        placeholder=option.about.missing,
        accept_new_options=True,
        key=f"note-rubric-{option.about.key or name}",
    )
    return tuple(chosen)


def show_reading(context: PageContext, run: Run, rubric: Rubric, *, unfolded: bool = False) -> None:
    """Show the unfinished readings for a rubric, and the form that starts another, folded by
    default."""
    for reading in all_runs():
        is_live = reading.is_reading and reading.parents == (run.id,) and reading.status != "done"
        if is_live and readings.answers_rubric(reading, rubric):
            watch_job(context.workspace, KIND.name, reading.id)
    if not context.read_only:
        with st.expander("Let a model read this run", unfolded, key="read-by-model"):
            _show_reading(context, run, rubric)


def _show_reading(context: PageContext, run: Run, rubric: Rubric) -> None:
    chosen = show_settings(
        ReadingSettings,
        _OWNER,
        ["endpoint", "model"],
        columns=2,
        defaults={"endpoint": context.workspace.settings.endpoint},
    )
    if kind_of(rubric) is None:
        chosen |= show_settings(ReadingSettings, _OWNER, ["passage"])
    chosen |= show_more(ReadingSettings, _OWNER, ("passage", *chosen))
    try:
        settings = make(ReadingSettings, chosen, calls=show_calls(_OWNER))
    except InputError as error:
        st.markdown(f":orange[{as_text(error)}]")
        return
    with st.container(horizontal=True):
        wants_cost = st.button("Show the cost", key="plan-reading")
        wants_start = st.button(
            "Start reading", type="primary", icon=":material/play_arrow:", key="start-reading"
        )
    if not (wants_cost or wants_start):
        st.caption("A reading is a run: it is saved like any other.")
        return
    known = {each.id for each in all_runs()}
    with explain_errors(), st.spinner("Asking the server …"):
        plan = readings.plan_reading(context.workspace, rubric, run.id, settings)
        if wants_cost:
            st.markdown(_describe(plan, readings.estimate(context.workspace, plan)))
            return
        started = readings.start_reading(context.workspace, rubric, run.id, detach=True, plan=plan)
        said = "exists already" if started.id in known else "started"
        confirm(f"{started.name}: {said}.", lambda: links.to_run_page(started, "Watch"))


def _describe(plan: readings.ReadingPlan, estimate: readings.ReadingEstimate) -> str:
    """Return the expected cost of a reading as a line of Markdown."""
    expected = estimate.expected
    answers = expected.completion_tokens
    parts = [
        f"**{estimate.texts:,} texts** by {as_text(plan.request.model)}",
        f"**{expected.calls:,} calls**",
        f"about {expected.prompt_tokens:,.0f} tokens of prompts",
        "answers of unknown length" if answers is None else f"{answers:,.0f} of answers",
    ]
    if expected.seconds is not None:
        parts.append(f"about {describe_duration(expected.seconds)}")
    if expected.money is not None:
        parts.append(money_text(expected.money))
    return " · ".join(parts)
