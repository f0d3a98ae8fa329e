"""Arguments: the forms that add a rubric and start a model's reading."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from core.actions import readings, rubrics
from core.audit.clash import SPEECHES
from core.audit.rubric import Rubric, Unit
from core.audit.rules.claims import RULE as CLAIMS
from core.engine.request import money_text
from core.errors import InputError
from core.methods.judge_rubric import asks_for_passage
from core.store.runs import Run
from core.texts import describe_duration
from core.ui.shared import links, loaders
from core.ui.shared.confirmation import confirm
from core.ui.shared.linked import bind
from core.ui.shared.option_controls import show_calls
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text

_UNITS = {
    "brief": "each brief",
    "speech": "each brief, rebuttal and verdict",
    "verdict": "each verdict",
    "row": "each whole row",
    "claim": "each claim of a reading of claims",
}
assert set(_UNITS) == set(get_args(Unit))
_PLAN = "_reading_plan"  # session key: (rubric's hash, run, server, model) → its plan and estimate


def show(context: PageContext, run: Run, rubric: Rubric | None) -> None:
    """Show both forms, folded."""
    if rubric is not None:
        with st.expander("Let a model read this run", key="read-by-model"):
            show_reading(context, run, rubric)
    with st.expander("Add a rubric", key="add-rubric"):
        _show_rubric(context, run)


def _show_rubric(context: PageContext, run: Run) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.text_input("Name", key="note-rubric-name", max_chars=60, placeholder="names-a-pathway")
        question = st.text_area("Question", key="note-rubric-question", height=80, placeholder="Does the brief name a pathway?")
        answers = st.text_input("Answers, with commas between", "yes, no", key="note-rubric-answers")
    with right:
        unit = st.selectbox("Asked of", list(_UNITS), format_func=lambda unit: _UNITS[unit], key="note-rubric-unit")
        known = ("EFFECT", "NULL", "UP", "DOWN") if run.method == "debate" else ()
        roles = st.multiselect("Roles", known, key="note-rubric-roles", placeholder="all", accept_new_options=True)
        stages = st.multiselect(
            "Stages",
            loaders.stages(run.id),
            key="note-rubric-stages",
            placeholder="all",
            accept_new_options=True,
            help="Those of this run; type another and press Enter.",
        )
        pattern = st.text_input(
            "Pattern (optional)",
            key="note-rubric-pattern",
            placeholder="pathway|signalling",
            help="A regular expression, case ignored: the answer is yes if it matches. Without one, people and models answer.",
        )
        dossier = st.toggle("A model sees the row's dossier too", key="note-rubric-dossier")
    if st.button("Add rubric", type="primary", key="add-rubric-now", disabled=not (name and question)):
        with explain_errors():
            rubric = Rubric(
                name.strip(),
                question.strip(),
                tuple(filter(None, (answer.strip() for answer in answers.split(",")))),
                next(each for each in get_args(Unit) if each == unit),
                tuple(roles),
                tuple(stages),
                dossier=dossier,
                pattern=pattern.strip(),
            )
            is_new = rubrics.add(context.workspace, rubric)
            confirm(f"{rubric.name}: {'added' if is_new else 'exists already'}.")
            links.set_parameter("rubric", rubric.name)
            st.session_state.pop("id-rubric", None)
            st.rerun()


def show_reading(context: PageContext, run: Run, rubric: Rubric) -> None:
    """Show the form that plans and starts a reading for a rubric, or for the clash of debates."""
    left, right = st.columns(2)
    server = left.text_input("Model server", context.workspace.settings.endpoint, key="endpoint-reading", help="Ends in /v1.")
    model = right.text_input("Model", placeholder="the server's only model", **bind("reading_model"))
    passage = not readings.reads_quotations(rubric) and st.toggle(
        "Copy the sentence that decides",
        help="The model also copies the sentence on which its answer rests. If the text contains it word for word, it is "
        "stored and marked there. If a row's judge gave no reason, the row's header shows it. A reading with this option "
        "is a separate run.",
        **bind("reading_passage"),
    )
    try:
        settings = readings.ReadingSettings(passage=passage, calls=show_calls("reading_"))
    except InputError as error:
        st.markdown(f":orange[{as_text(error)}]")
        return
    wanted = (rubric.sha256, run.id, server, model, settings)
    if st.button("Show the cost", key="plan-reading"):
        with explain_errors(), st.spinner("Asking the server …"):
            plan = readings.plan_reading(
                context.workspace, rubric, run.id, endpoint=server, model=model or None, settings=settings
            )
            st.session_state[_PLAN] = (wanted, plan, readings.estimate(context.workspace, plan))
    planned = st.session_state.get(_PLAN)
    if planned is None or planned[0] != wanted:
        st.caption("A reading is a run: it is saved like any other, and its cost is shown before you start it.")
        return
    _, plan, estimate = planned
    st.markdown(_describe(plan, estimate))
    if st.button("Start reading", type="primary", icon=":material/play_arrow:", key="start-reading"):
        known = {each.id for each in loaders.all_runs()}
        with explain_errors(), st.spinner("Starting …"):
            started = readings.start_reading(context.workspace, rubric, run.id, detach=True, plan=plan)
            said = "exists already" if started.id in known else "started"
            st.session_state.pop(_PLAN)
            confirm(f"{started.name}: {said}.", lambda: links.to_run_page(started, "Watch"))
            st.rerun()


def _describe(plan: readings.ReadingPlan, estimate: readings.ReadingEstimate) -> str:
    """Return the expected cost of a reading as a line of Markdown."""
    expected = estimate.expected
    parts = [
        f"**{estimate.texts:,} texts** by {as_text(plan.request.model)}",
        f"**{expected.calls:,} calls**",
        f"about {expected.prompt_tokens:,.0f} + {expected.completion_tokens:,.0f} tokens",
    ]
    if not estimate.measured:
        counted = {SPEECHES.name: "six points", CLAIMS.name: "four claims"}.get(plan.rubric.name, "a letter")
        with_sentence = " and a sentence" if asks_for_passage(plan.spec.options) else ""
        parts[-1] += f", answers counted as {counted}{with_sentence} each"
    if expected.seconds is not None:
        parts.append(f"about {describe_duration(expected.seconds)}")
    if expected.money is not None:
        parts.append(money_text(expected.money))
    return " · ".join(parts)
