"""Overview: the table of runs, by the rows that they are on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.actions.launch import price_of
from core.engine.request import Price
from core.scoring.controls import Verdicts
from core.scoring.public_noise import PublicNoise
from core.scoring.sentences import TWO_WAY
from core.store.runs import Run
from core.transfer.run_cells import ALL_ROWS
from core.types import Flag
from core.ui.overview.ladder import COUNTS, group_runs
from core.ui.overview.usage import cost_text, time_text, tokens_text
from core.ui.shared import links, loaders, score_box
from core.ui.shared.linked import linked
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import show_empty

# A column that shows nothing else is left out.
_USUAL: dict[str, str | int] = {"origin": "imported", "status": "done", "failed": 0, "scored": ALL_ROWS}
# Shown only if a person chooses them.
_MORE = ("method", "model", "origin", "fallbacks", "fewer seeds", "collapsed", "failed")
_INTERVAL = f"95% interval {TWO_WAY}, over the rows with a label."
_VERDICTS = (
    "Whether the run is above what knows no biology, by the paired interval over perturbations and genes, on DE (count-only) and "
    "on DIR (rarer gene); where a dataset asks one question, the macro AUROC by gene above 0.5. yes: the interval lies above 0. "
    "no: below. ?: it holds 0."
)
_COLLAPSED = "Rows in which a brief answers the multiple-choice question instead of arguing."
_COST = (
    "At the prices of a million tokens in the settings; cached answers cost nothing. A range where only the sum of prompt and "
    "answer tokens is known."
)
_WORDS = {"cannot tell": "?"}


def show_runs(context: PageContext, noise: PublicNoise | None) -> None:
    """Show every run of the dataset in one table, runs on the same rows together; choosing one opens its rows."""
    if not context.runs:
        show_empty("This dataset has no runs yet.", lambda: links.to_data("Import a submission"))
        return
    price = price_of(context.workspace)
    runs, table = _build_table(context.runs, price)
    columns = [name for name in table if name != "run"]
    hint, choice = st.columns([0.8, 0.2], vertical_alignment="bottom")
    hint.caption("Runs on the same rows stand together, the best first. Tick a run to read it row by row.")
    with choice.popover("Columns", width="stretch", icon=":material/view_column:"):
        default = [name for name in columns if name not in _MORE]
        shown = st.multiselect("Columns", columns, default, label_visibility="collapsed", **linked("columns", default))
        if price is None:
            st.caption("Set PERTURBDESK_PRICE_PROMPT and PERTURBDESK_PRICE_COMPLETION, prices of a million tokens, to see costs.")
    chosen = st.dataframe(
        table[["run", *(name for name in columns if name in shown)]],
        hide_index=True,
        height="content",
        on_select="rerun",
        selection_mode="single-row",
        key="runs",
        placeholder="–",
        alt="Runs of this dataset",
        column_config=_columns(noise),
    )
    rows = chosen["selection"]["rows"]
    run = runs[rows[0]] if rows else None
    if run is not None:
        st.switch_page(links.DEBATES, query_params={"dataset": run.dataset, "run": run.id})


def _build_table(runs: Sequence[Run], price: Price | None) -> tuple[list[Run | None], pd.DataFrame]:
    """The table of runs, and the run of each of its lines; None for what row counts alone score on the rows of a group."""
    standings = {run.id: loaders.standing(run.id) for run in runs}
    spent = loaders.tokens_by_run() if price is not None else {}

    def line(run: Run) -> dict[str, object]:
        work = {"time": time_text(run), "tokens": tokens_text(run), "cost": cost_text(run, spent, price)}
        return {**_score_line(run, standings[run.id]), **work, **_more_line(run)}

    of_lines: list[Run | None] = []
    lines: list[dict[str, object]] = []
    for group in group_runs(runs, standings):
        of_lines += group
        lines += map(line, group)
        first = standings[group[0].id]
        if first.score.headline.genes is None:
            of_lines.append(None)
            lines.append({"run": f"no biology: {COUNTS}", "rows": lines[-1]["rows"], "mean": f"{first.counts:.3f}"})
    others = sorted((run for run in runs if run not in of_lines), key=lambda run: (-run.done, -(run.public_score or 0)))
    of_lines += others
    lines += map(line, others)
    table = pd.DataFrame(lines)
    usual = [name for name, value in _USUAL.items() if name in table and table[name].dropna().eq(value).all()]
    return of_lines, table.drop(columns=usual).dropna(axis="columns", how="all")


def _score_line(run: Run, standing: loaders.Standing) -> dict[str, object]:
    score, headline = standing.score.whole, standing.score.headline
    scores = {"mean": headline.value, "DE": score.de.shown, "DIR": score.dir.shown}
    if headline.genes is not None:
        scores = {headline.name: headline.value, "pooled": score.de.shown if score.n_de < score.n_labelled else score.dir.shown}
    return {
        "run": run.name,
        "rows": _rows_text(run.done, score.n_labelled),
        "status": run.status,
        "public score": run.public_score,
        **{name: score_box.shown_text(value) if score.n_labelled else None for name, value in scores.items()},
        "scored": score.scored if score.n_labelled else None,
        "beats no biology": verdicts_text(standing.verdicts),
    }


def _rows_text(rows: int, labelled: int) -> str:
    """How many rows a run has, and how many of them have a label."""
    labels = "labelled" if labelled == rows else f"{labelled:,} labelled" if labelled else "no labels"
    return f"{rows:,}, {labels}"


def verdicts_text(found: Verdicts) -> str | None:
    """The verdicts on both axes, "DE no, DIR ?"; None if neither is defined."""
    known = {name: each for name, each in (("DE", found.de), ("DIR", found.dir)) if each.beats is not None}
    return ", ".join(f"{name} {_WORDS.get(each.word, each.word)}" for name, each in known.items()) or None


def _more_line(run: Run) -> dict[str, object]:
    return {
        "method": run.method.replace("_", " ") + (" (rank scores)" if run.has_rank_scores else ""),
        "model": run.model,
        "origin": run.origin,
        "fallbacks": run.fallbacks,
        "fewer seeds": loaders.flag_counts(run.id).get(Flag.FEWER_SEEDS),
        "collapsed": run.collapsed if run.method == "debate" else None,
        "failed": run.failed,
    }


def _columns(noise: PublicNoise | None) -> Mapping[str, Any]:
    """How the table of runs shows its columns; together those that it begins with are narrow enough for a small screen."""
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    public = "As published or recorded." + (f" {noise.describe()}." if noise else "")
    return {
        "run": text(width=185),
        "rows": text(width=115, help="How many rows the run has, and whether their labels are known here."),
        "public score": number("public", format="%.3f", help=public, width=60),
        **{name: text(help=f"{score_box.SCORE_HELP[name]} {_INTERVAL}", width=136) for name in ("DE", "DIR", "mean")},
        "scored": text(help="Which pairs of rows count.", width=140),
        "beats no biology": text(help=_VERDICTS, width=100),
        "time": text(width=75, help="From the start to the end of a finished run; unknown for imported ones."),
        "tokens": text(width=80, help="Sum over the rows; ≥ where some rows do not know theirs."),
        "cost": text(width=90, help=_COST),
        "fallbacks": number(format="localized", help="Rows in which a constant replaces an answer."),
        "fewer seeds": number(format="localized", help="Rows whose mean is over fewer seeds than asked."),
        "collapsed": number("did not argue", format="localized", help=_COLLAPSED),
    }
