"""Scores: how well does a run predict, and where does the score come from?"""

import streamlit as st

from core.features.scores.loaders import score_result
from core.features.scores.page import panels
from core.ui import links, results, run_browser, shell, widgets
from core.ui.loaders.scores import scored_rows

context = shell.open_page(__file__)


def show_more_baselines() -> None:
    """Show baselines of other features, such as simple methods on a split."""
    for show in shell.tabs_of("scores", context).values():
        show()


if context.dataset is not None:
    results.show_marks(context.dataset.marks)
run = context.run
if run is None:
    run_browser.show_no_run(context)
    show_more_baselines()
    st.stop()

with st.spinner(f"Scoring {widgets.as_text(run.name)} …"):
    result, rows = score_result(run.id), scored_rows(run.id)
score = result.score
if score.whole.n_labelled == 0:
    results.show_no_labels(score.whole.n)
    run_browser.offer_labelled_run(context, links.SCORES)
    panels.show_ties(rows)
    st.stop()


def show_baselines() -> None:
    """Show the scores of baselines without biology, and of simple methods on a split."""
    panels.show_baselines(rows)
    show_more_baselines()


results.show_run_score(result)
results.show_protocols(run.id)
widgets.show_tabs(
    "part",
    {
        "Slices": lambda: panels.show_slices(run, rows, score),
        "Baselines": show_baselines,
        "Genes and perturbations": lambda: panels.show_macro(run, rows),
        "Top of the list": lambda: panels.show_top(run, rows),
        "Curves": lambda: panels.show_curves(rows, score),
        "Calibration": lambda: panels.show_calibration(run, rows),
    },
)
