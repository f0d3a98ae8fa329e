"""Arguments, tab Worth: were predictions better in rows whose answer to a rubric is yes than in the
others?"""

from __future__ import annotations

import streamlit as st

from core.features.arguments import rubrics
from core.features.arguments.page import choices, numbers
from core.features.arguments.rubric import Rubric
from core.store.runs import Run
from core.ui import links, run_browser
from core.ui.linked import choose_several
from core.ui.loaders.records import count_labelled
from core.ui.results import show_result
from core.ui.shell import PageContext
from core.ui.widgets import as_text, show_empty

# of the built-in rubrics: the others are much alike
FIRST_TRIED = ("argues", "cites", "genes", "own_side")


def show_worth(context: PageContext, run: Run) -> None:
    """Show the table and the forest plot of the rubrics that are tested together."""
    if not count_labelled(run.id):
        show_empty(f"{as_text(run.name)} has no labelled row, so hits and misses are unknown.")
        run_browser.offer_labelled_run(context, links.ARGUMENTS)
        return
    judged: dict[str, tuple[Rubric, str]] = {}
    for rubric in rubrics.list_rubrics(context.workspace):
        if (
            choices.asks_about(run, rubric)
            and (judge := next(iter(choices.judges_of(run, rubric)), None)) is not None
        ):
            judged[rubric.name] = (rubric, judge)
    if not judged:
        show_empty(
            f"No rubric that asks about texts of {as_text(run.name)} has an answer yet. Start in"
            " the tab Rubrics. A rubric of your own may ask about whole rows."
        )
        return
    default = [
        name for name, (rubric, _) in judged.items() if not rubric.rule or name in FIRST_TRIED
    ]
    tried = choose_several(
        st.multiselect, "tried", "Rubrics tested together", {name: name for name in judged}, default
    )
    if not tried:
        show_empty(
            "No rubric is chosen. You can add your own in the tab Rubrics, about briefs, verdicts"
            " or whole rows."
        )
        return
    show_result(
        numbers.worth(run.id, tuple(judged[name] for name in tried)), run.name, "rubric-worth"
    )
