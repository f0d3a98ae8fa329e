"""Arguments, tab Worth: were predictions better in rows whose answer to a rubric is yes than in the others?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.audit.rubric import YES_NO, Rubric
from core.scoring.rubric_worth import MEASURES, RubricWorth
from core.scoring.sentences import interval_text
from core.store.runs import Run
from core.texts import number_text
from core.ui.arguments import choices, numbers, worth_figure
from core.ui.shared import links, loaders, run_browser, tables
from core.ui.shared.linked import choose_several
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_captioned, show_empty

FIRST_TRIED = ("argues", "cites", "genes", "own_side")  # of the built-in rubrics: the others are much alike


def show(context: PageContext, run: Run) -> None:
    """Show the table and the forest plot of the rubrics that are tested together."""
    labelled = loaders.labelled_counts().set_index("run")["labelled"]
    if not labelled.get(run.id, 0):
        show_empty(f"{as_text(run.name)} has no labelled row, so hits and misses are unknown.")
        run_browser.offer_labelled_run(context, links.ARGUMENTS)
        return
    judged: dict[str, tuple[Rubric, str]] = {}
    for rubric in choices.all_rubrics(context.workspace):
        if choices.asks_about(run, rubric) and (judge := next(iter(choices.judges_of(run, rubric)), None)) is not None:
            judged[rubric.name] = (rubric, judge)
    if not judged:
        show_empty(
            f"No rubric that asks about texts of {as_text(run.name)} has an answer yet. Start in the tab Rubrics. A rubric of "
            "your own may ask about whole rows."
        )
        return
    default = [name for name, (rubric, _) in judged.items() if not rubric.rule or name in FIRST_TRIED]
    tried = choose_several(st.multiselect, "tried", "Rubrics tested together", {name: name for name in judged}, default)
    if not tried:
        show_empty("No rubric is chosen. You can add your own in the tab Rubrics, about briefs, verdicts or whole rows.")
        return
    found = numbers.worth(run.id, tuple(judged[name] for name in tried))

    captioned = worth_figure.of_run(run, found, loaders.scored_rows(run.id).scored)
    st.markdown(f"**{as_text(captioned.sentence)}**")
    _show_table(found)
    show_captioned(captioned, "rubric-worth")


def _show_table(found: Sequence[RubricWorth]) -> None:
    """Show rows with the answer against rows without it, a line for each rubric and measure."""
    lines = [
        {
            "rubric": worth.rubric,
            "answer": worth.answer,
            "measure": words,
            "rows with it": worth.n_yes,
            "rows without": worth.n_no,
            "with it": interval_text(worth.measures[key].yes.shown),
            "without": interval_text(worth.measures[key].no.shown),
            "difference": interval_text(worth.measures[key].change.shown, signed=True),
            "p": number_text(worth.p[key].p),
            "Holm p": number_text(worth.p[key].holm),
        }
        for worth in found
        for key, words in MEASURES.items()
    ]
    columns: dict[str, Any] = {
        name: st.column_config.NumberColumn(name, format="localized") for name in ("rows with it", "rows without")
    }
    if all(worth.answer == YES_NO[0] for worth in found):
        columns["answer"] = None
    tables.show_table(pd.DataFrame(lines), "rubric-worth", columns)
