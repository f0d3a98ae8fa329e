"""Arguments, tab Rubrics: how often the texts of a run have an answer, by role, and the texts."""

from __future__ import annotations

import streamlit as st

from core.base.fields.record import option_of
from core.features.arguments.page import choices, numbers, rubric_forms
from core.features.arguments.rubric import Rubric
from core.methods.text_rules.text import YES_NO
from core.store.runs import Run
from core.ui import filters, links, tables
from core.ui.linked import choose_one
from core.ui.results import show_result
from core.ui.shell import PageContext
from core.ui.widgets import as_text, show_empty

LISTED = 100  # texts of a role below the rates
EXCERPT = 160  # characters of each


def show(context: PageContext, run: Run) -> None:
    """Show the rates of the chosen rubric, its texts, and the forms for another rubric and another
    reading."""
    rubric_place, judge_place, answer_place = st.columns(
        [0.52, 0.3, 0.18], vertical_alignment="bottom"
    )
    rubric = choices.choose_rubric(context.workspace, run, rubric_place)
    if rubric is None:
        show_empty("No rubric yet: add one below.")
    else:
        judges = choices.judges_of(run, rubric)
        judged_by = choose_one(
            judge_place.selectbox,
            "judge",
            "Answered by",
            judges,
            next(iter(judges), None),
            disabled=not judges,
            placeholder="nothing yet",
        )
        titles = {answer: answer for answer in rubric.answers}
        answer = (
            choose_one(answer_place.selectbox, "answer", "Answer", titles, rubric.answers[0])
            or rubric.answers[0]
        )
        _show_rubric(run, rubric, judged_by, answer)
    rubric_forms.show(context, run, rubric)


def _show_rubric(run: Run, rubric: Rubric, judged_by: str | None, answer: str) -> None:
    if judged_by is None:
        show_empty(
            f"{as_text(rubric.question)} There are no answers about {as_text(run.name)} yet. Let a"
            " model read it with the form below, or answer in the tab Label."
        )
        return
    rates = numbers.rates(run.id, rubric, judged_by, answer)
    if rates is None or rates.whole.unread == rates.whole.n:
        judge = choices.judges_of(run, rubric)[judged_by]
        show_empty(
            f"{as_text(rubric.question)} {judge.capitalize()} says nothing of {as_text(run.name)}:"
            f" it finds no text to answer for ({as_text(_scope_text(rubric))}). Add a rubric of"
            " your own below."
        )
        return
    show_result(rates, run.name, "rubric-rates")
    _show_texts(run, rubric, judged_by, answer)


def _show_texts(run: Run, rubric: Rubric, judged_by: str, answer: str) -> None:
    """Show the first texts of each role with the answer, each with a link to its row."""
    found = numbers.texts_with(run.id, rubric, judged_by, answer)
    st.markdown(f"### Texts with the answer “{as_text(answer)}”")
    if found.empty:
        st.markdown("None.")
        return
    finding = filters.ANY, rubric.rule
    if answer == YES_NO[0] and finding in filters.BRIEF_CHOICES.values():
        links.to_rows(run, "See their rows", brief=filters.brief_choice(*finding))
    shown = found.groupby("role", sort=False).head(LISTED)
    row_links = [links.row_address(run, key) for key in shown["pair_id"]]
    table = shown[["role", "p", "passage"]].assign(text=shown["content"].str.slice(0, EXCERPT))
    table = table[[name for name in table if (table[name].notna() & table[name].ne("")).any()]]
    table.insert(0, "row", row_links)
    columns = {
        "row": st.column_config.LinkColumn("row", display_text=r"row=([^&]+)"),
        "p": st.column_config.NumberColumn(f"P({answer})", format="%.2f"),
        "passage": st.column_config.TextColumn("deciding passage", width="large"),
    }
    tables.show_table(table, "rubric-texts", columns, height=360)
    if len(found) > len(shown):
        st.caption(f"The first {LISTED} of each role, of {len(found):,}, in file order.")


def _scope_text(rubric: Rubric) -> str:
    roles = f"of {', '.join(rubric.roles)}" if rubric.roles else ""
    return " ".join(
        filter(
            None, (option_of(Rubric, "unit").titles[rubric.unit], roles, ", ".join(rubric.stages))
        )
    )
