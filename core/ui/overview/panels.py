"""The parts of the Overview page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.audit.concerns import Concern, RunFacts, find_concerns
from core.plots import ladder as ladder_plot
from core.store.runs import Run
from core.ui.shared import links, loaders, score_box
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import FLAG_NAMES, as_text, show_empty, show_figure

# One public leaderboard half: 904 of the challenge's test rows; its standard error was measured on as many labelled rows.
PUBLIC_ROWS = 904
PUBLIC_SE = 0.025


def welcome() -> None:
    """An empty workspace: what to do first."""
    show_empty(
        "This workspace is empty. On the Data page, import the challenge's files and your submissions, or make the demo.",
        lambda: links.to_data("Go to Data"),
    )


def headline(context: PageContext, counts: pd.DataFrame) -> None:
    """What the dataset is, in four numbers."""
    if context.dataset is not None and context.dataset.origin == "simulated":
        st.caption(
            ":orange[simulated] – made by rules from a seed so that there is something to look at; "
            "its genes do not exist and nothing here is a finding."
        )
    labelled = counts["rows"] - counts["unlabelled"]
    first, second, third, fourth = st.columns(4)
    first.metric("labelled rows", f"{int(labelled.sum()):,}", help="Rows whose label (up, down, none) is known here.")
    second.metric("rows without a label", f"{int(counts['unlabelled'].sum()):,}", help="Runs on these have no score here.")
    third.metric("perturbations", f"{int(counts['perts'].sum()):,}", help="Over all splits; splits may share some.")
    fourth.metric("target genes", f"{int(counts['genes'].sum()):,}", help="Over all splits; splits may share some.")


def runs_table(context: PageContext) -> None:
    """Every run of the dataset in one table; choosing one opens its rows."""
    if not context.runs:
        show_empty("This dataset has no runs yet.", lambda: links.to_data("Import a submission"))
        return
    table = pd.DataFrame([_line(run) for run in context.runs])
    usual = {"origin": "imported", "status": "done", "failed": 0}
    table = table.drop(columns=[column for column, value in usual.items() if (table[column] == value).all()])
    scores = ["DE", "DIR", "mean", "beats counts"]
    table = table if table["labelled"].any() else table.drop(columns=scores)
    chosen = st.dataframe(
        table,
        hide_index=True,
        height="content",
        on_select="rerun",
        selection_mode="single-row",
        key="runs",
        placeholder="–",
        column_config={
            "public score": st.column_config.NumberColumn(
                format="%.3f", help="As published or recorded; standard error about 0.025."
            ),
            **{
                name: st.column_config.TextColumn(help=f"{score_box.SCORE_HELP[name]} {_INTERVAL}", width=140)
                for name in ("DE", "DIR", "mean")
            },
            "beats counts": st.column_config.TextColumn(help=_COUNTS),
            "rows": st.column_config.NumberColumn(format="localized"),
            "labelled": st.column_config.NumberColumn(format="localized", help="Rows whose label is known here."),
            "fallbacks": st.column_config.NumberColumn(
                format="localized", help="Rows in which a constant stands in for an answer."
            ),
            "collapsed": st.column_config.NumberColumn(
                format="localized", help="Rows in which a brief is a multiple-choice answer."
            ),
            "tokens": st.column_config.NumberColumn(format="compact", help="Sum over the rows that know theirs."),
        },
    )
    rows = chosen["selection"]["rows"]
    if rows:
        run = context.runs[rows[0]]
        st.switch_page(links.DEBATES, query_params={"dataset": run.dataset, "run": run.id})
    st.caption("Tick a run to read it row by row.")


_INTERVAL = "95% interval by perturbations and genes, over the rows with a label."
_COUNTS = (
    "Is DE above what row counts alone give on the same rows, without any biology? By the paired interval over "
    "perturbations and genes."
)


def _line(run: Run) -> dict[str, object]:
    score = loaders.run_score(run.id)
    return {
        "run": run.name,
        "method": run.method.replace("_", " "),
        "origin": run.origin,
        "status": run.status,
        "rows": run.done,
        "labelled": score.n_labelled,
        "public score": run.public_score,
        "DE": score_box.score_text(score.de),
        "DIR": score_box.score_text(score.dir),
        "mean": score_box.score_text(score.mean),
        "beats counts": loaders.beats_counts(run.id),
        "fallbacks": run.fallbacks,
        "collapsed": run.collapsed if run.method == "debate" else None,
        "failed": run.failed,
        "tokens": run.tokens,
        "model": run.model,
    }


def ladder(context: PageContext) -> None:
    """Every score there is, public or here, with how far it could be off."""
    table = pd.DataFrame([line for run in context.runs for line in _rungs(run, context.run)], columns=_RUNG)
    if table.empty:
        show_empty("No run has a score yet: none has labelled rows here, and none a recorded public score (Data, Runs).")
        return
    lines = {"chance": 0.5}
    counted = next((loaders.count_score(run.id).mean.value for run in context.runs if loaders.run_score(run.id).n_labelled), None)
    if counted is not None:
        lines["count-only"] = counted
    caption = (
        f"{context.dataset.name if context.dataset else ''} · mean of DE and DIR · "
        "here: 95% interval by perturbations and genes · "
        f"public: ± {1.96 * PUBLIC_SE:.3f}, from a standard error of about {PUBLIC_SE}"
    )
    show_figure(ladder_plot.figure(table, lines), table, "ladder", caption)


_RUNG = ["run", "kind", "score", "low", "high", "n", "chosen"]


def _rungs(run: Run, chosen: Run | None) -> list[dict[str, object]]:
    mean = loaders.run_score(run.id).mean.two_way
    shared = {"run": run.name, "chosen": chosen is not None and run.id == chosen.id}
    rungs: list[dict[str, object]] = []
    if mean.estimate == mean.estimate:
        rungs.append({**shared, "kind": "here", "score": mean.estimate, "low": mean.low, "high": mean.high, "n": mean.n})
    if run.public_score is not None:
        half = 1.96 * PUBLIC_SE
        span = {"score": run.public_score, "low": run.public_score - half, "high": run.public_score + half}
        rungs.append({**shared, "kind": "public", **span, "n": PUBLIC_ROWS})
    return rungs


def attention(context: PageContext) -> None:
    """What to look at before believing a number, each with a link to its rows."""
    rejected = loaders.rejected_rows()
    facts = [
        RunFacts(r.id, r.name, r.done, r.failed, r.tokens_unknown, loaders.flag_counts(r.id), _remarks(r)) for r in context.runs
    ]
    found = find_concerns(facts, len(rejected))
    if not found:
        st.caption("Nothing: no fallback, no collapsed role, no rejected row.")
    for run in context.runs:
        _of_run(run, [concern for concern in found if concern.run == run.id])
    for concern in found:
        if concern.run is None:
            links.to_data(concern.text, tab="Rejected rows")


def _remarks(run: Run) -> tuple[str, ...]:
    """A kNN under leave-one-out is biased: what a space that knows nothing would score stands beside it."""
    return tuple(sentence for kind, sentence in loaders.protocol_sentences(run.id) if kind == "loo")


def _of_run(run: Run, own: list[Concern]) -> None:
    if not own:
        return
    name, concerns_side = st.columns([0.28, 0.72])
    name.text(run.name)
    with concerns_side.container(gap="xxsmall"):
        for concern in own:
            if concern.flag is None:
                st.caption(as_text(concern.text))
            else:
                links.to_rows(run, concern.text, flags=FLAG_NAMES[concern.flag])
