"""Overview: what this dataset and its runs say, in words; where to start; what the words mean."""

from __future__ import annotations

import streamlit as st

from core.audit.debate_audit import DebateAudit, debates_sentence
from core.report.figures.ladder import group_runs
from core.scoring import terms
from core.scoring.standing import best_sentence, standing_sentence
from core.store.predictions import CONFIDENTLY_WRONG
from core.ui.shared import hint, links, loaders
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text

MOST_GROUPS = 3  # of runs that can be compared, whose best is told


def show_summary(context: PageContext) -> None:
    """Show what the runs say in a few sentences, three links to start with, and the terms in a line each."""
    for sentence in _sentences(context):
        st.markdown(as_text(sentence), help=terms.explain(sentence))
    if context.run is not None:
        _show_starts(context)
    hint.show("terms", terms.FIRST_TERMS)


def _sentences(context: PageContext) -> list[str]:
    standings = {run.id: loaders.standing(run.id) for run in context.runs}
    groups = [{run.name: standings[run.id].score for run in group} for group in group_runs(context.runs, standings)]
    audits = {run.name: audit for run in context.runs if run.method == "debate" and (audit := _audit(run.id)) is not None}
    unfinished = [f"{run.name} ({run.status})" for run in context.runs if run.status != "done"]
    found = [
        best_sentence(groups[:MOST_GROUPS]),
        standing_sentence({run.name: standings[run.id].verdicts for run in context.runs}),
        debates_sentence(audits),
        f"Unfinished: {', '.join(unfinished)}." if unfinished else "",
    ]
    return [sentence for sentence in found if sentence]


def _audit(run: str) -> DebateAudit | None:
    """The audit of a run's briefs; None if it has none."""
    audit, _ = loaders.debate_audit(run)
    return audit if len(audit.roles) else None


def _show_starts(context: PageContext) -> None:
    """Show three links: read, ask the neighbours, weigh."""
    labelled = loaders.labelled_counts().set_index("run")["labelled"]
    run = context.run
    assert run is not None
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.markdown("**Start here:**", width="content")
        if labelled.get(run.id, 0) and not run.has_rank_scores:
            links.to_rows(run, "the most confidently wrong rows", icon=":material/forum:", order=CONFIDENTLY_WRONG)
        else:
            links.to_rows(run, "what was argued, row by row", icon=":material/forum:")
        links.to_page(links.NEIGHBOURS, "which similar genes vote on a row", ":material/hub:")
        links.to_page(links.FUSE, "what if the runs are weighted differently", ":material/tune:")
