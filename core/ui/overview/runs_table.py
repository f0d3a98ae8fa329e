"""Overview: the table of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from core.scoring.controls import Verdicts
from core.scoring.public_noise import PublicNoise
from core.scoring.sentences import TWO_WAY
from core.store.runs import Run
from core.transfer.run_cells import ALL_ROWS
from core.types import Flag
from core.ui.shared import links, loaders, score_box
from core.ui.shared.linked import linked
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import show_empty

# A column that shows nothing else is left out.
_USUAL: dict[str, str | int] = {"origin": "imported", "status": "done", "failed": 0, "scored": ALL_ROWS}
_INTERVAL = f"95% interval {TWO_WAY}, over the rows with a label."
_VERDICTS = (
    "Whether the run is above what knows no biology, by the paired interval over perturbations and genes, on DE (count-only) and "
    "on DIR (rarer gene); where a dataset asks one question, the macro AUROC by gene above 0.5. yes: the interval lies above 0. "
    "no: below. ?: it holds 0."
)
_COLLAPSED = "Rows in which a brief answers the multiple-choice question instead of arguing."
_WORDS = {"cannot tell": "?"}
SCORES, WORK = "Scores", "Rows and tokens"


def show_runs(context: PageContext, noise: PublicNoise | None) -> None:
    """Show every run of the dataset in one table, its scores or what it took; choosing one opens its rows."""
    if not context.runs:
        show_empty("This dataset has no runs yet.", lambda: links.to_data("Import a submission"))
        return
    view = st.segmented_control(
        "Columns", [SCORES, WORK], default=SCORES, **linked("columns"), required=True, label_visibility="collapsed"
    )
    table = pd.DataFrame([_score_line(run) if view == SCORES else _work_line(run) for run in context.runs])
    usual = [name for name, value in _USUAL.items() if name in table and table[name].dropna().eq(value).all()]
    table = table.drop(columns=usual).dropna(axis="columns", how="all")
    if view == SCORES and (table["labelled"].eq(0) | table["labelled"].eq(table["rows"])).all():
        table = table.drop(columns="labelled")
    chosen = st.dataframe(
        table,
        hide_index=True,
        height="content",
        on_select="rerun",
        selection_mode="single-row",
        key="runs",
        placeholder="–",
        column_config=_columns(noise),
    )
    rows = chosen["selection"]["rows"]
    if rows:
        run = context.runs[rows[0]]
        st.switch_page(links.DEBATES, query_params={"dataset": run.dataset, "run": run.id})
    st.caption("Tick a run to read it row by row.")


def _score_line(run: Run) -> dict[str, object]:
    standing = loaders.standing(run.id)
    score, headline = standing.score.whole, standing.score.headline
    scores = {"mean": headline.value, "DE": score.de.shown, "DIR": score.dir.shown}
    if headline.genes is not None:
        scores = {headline.name: headline.value, "pooled": score.de.shown if score.n_de < score.n_labelled else score.dir.shown}
    return {
        "run": run.name,
        "rows": run.done,
        "labelled": score.n_labelled,
        "public score": run.public_score,
        **{name: score_box.shown_text(value) if score.n_labelled else None for name, value in scores.items()},
        "scored": score.scored if score.n_labelled else None,
        "beats no biology": verdicts_text(standing.verdicts),
    }


def verdicts_text(found: Verdicts) -> str | None:
    """The verdicts on both axes, "DE no, DIR ?"; None if neither is defined."""
    known = {name: each for name, each in (("DE", found.de), ("DIR", found.dir)) if each.beats is not None}
    return ", ".join(f"{name} {_WORDS.get(each.word, each.word)}" for name, each in known.items()) or None


def _work_line(run: Run) -> dict[str, object]:
    return {
        "run": run.name,
        "method": run.method.replace("_", " ") + (" (rank scores)" if run.has_rank_scores else ""),
        "model": run.model,
        "origin": run.origin,
        "status": run.status,
        "rows": run.done,
        "fallbacks": run.fallbacks,
        "fewer seeds": loaders.flag_counts(run.id).get(Flag.FEWER_SEEDS),
        "collapsed": run.collapsed if run.method == "debate" else None,
        "failed": run.failed,
        "tokens": run.tokens,
    }


def _columns(noise: PublicNoise | None) -> Mapping[str, Any]:
    """How the table of runs shows its columns; together the scores are narrow enough for a small screen."""
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    public = "As published or recorded." + (f" {noise.describe()}." if noise else "")
    return {
        "run": text(width=180),
        "public score": number("public", format="%.3f", help=public, width=60),
        **{name: text(help=f"{score_box.SCORE_HELP[name]} {_INTERVAL}", width=136) for name in ("DE", "DIR", "mean")},
        "scored": text(help="Which pairs of rows count.", width=140),
        "beats no biology": text(help=_VERDICTS, width=100),
        "rows": number(format="localized", width=58),
        "labelled": number(format="localized", help="Rows whose label is known here.", width=66),
        "fallbacks": number(format="localized", help="Rows in which a constant replaces an answer."),
        "fewer seeds": number(format="localized", help="Rows whose mean is over fewer seeds than asked."),
        "collapsed": number(format="localized", help=_COLLAPSED),
        "tokens": number(format="compact", help="Sum over the rows whose number of tokens is known."),
    }
