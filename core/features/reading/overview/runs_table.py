"""Overview: the table of runs, grouped by their rows, with time, tokens and cost in words.

Unknown values are left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.base.texts import NO_BIOLOGY, describe_duration
from core.base.types import Flag
from core.features.reading.report_parts import group_runs
from core.runs.model_servers import ENDPOINT_FILE, prices_of_runs
from core.runs.request import Price
from core.scoring import sentences
from core.scoring.run_scores import RunScore
from core.scoring.sentences import TWO_WAY, UNSEEN
from core.scoring.standing import PublicNoise
from core.store.runs import Run
from core.transfer.run_cells import ALL_ROWS
from core.ui import links, results
from core.ui.loaders.records import tokens_by_run
from core.ui.loaders.scores import flag_counts
from core.ui.loaders.scores import standing as load_standing
from core.ui.shell import PageContext, explain_errors
from core.ui.sidebar import method_text
from core.ui.widgets import show_empty

# A column that shows nothing else is left out.
_USUAL: dict[str, str | int] = {
    "origin": "imported",
    "status": "done",
    "failed": 0,
    "scored": ALL_ROWS,
}
_SCORES = {
    **sentences.SCORE_HELP,
    "DE by gene": sentences.HEADLINE_HELP,
    "DIR by gene": sentences.HEADLINE_HELP,
}
# Shown only if a person chooses them in the table's menu.
_HIDDEN = ("method", "model", "origin", "fallbacks", "fewer seeds", "collapsed", "failed")
_INTERVAL = f"95% interval {TWO_WAY}, over the rows with a label."
_VERDICTS = (
    "Whether the run beats the no-biology baseline, which uses only how often each gene was"
    " measured: count-only on DE, rarer gene on DIR. On a cell line of PerturbQA: whether the mean"
    " AUROC over genes is above 0.5. Above: the interval of the difference is above 0. Below: it is"
    " below 0. Cannot tell: it contains 0."
)
_TOKENS = (
    "Sum over the rows; ≥ if the count is missing for some rows. To see costs, set"
    " PERTURBDESK_PRICE_PROMPT and PERTURBDESK_PRICE_COMPLETION per million tokens, or a server's"
    f" prices in {ENDPOINT_FILE}."
)
_COST = (
    "At the prices of the run's server and model, else of the settings. Cached answers cost"
    " nothing. A range if only the sum of prompt and answer tokens is known."
)
_WORDS = {"yes": "above", "no": "below"}


def show_runs(context: PageContext, noise: PublicNoise | None) -> None:
    """Show every run of the dataset in one table, runs on the same rows together; choosing one
    opens its rows."""
    if not context.runs:
        show_empty("This dataset has no runs yet.", lambda: links.to_data("Import a submission"))
        return
    prices: Mapping[str, Price] = {}
    with explain_errors():  # the file of endpoints may be unreadable
        prices = prices_of_runs(context.workspace, context.runs)
    runs, table = _build_table(context.runs, prices)
    st.caption(
        "Runs on the same rows are grouped, the best first, the baseline last. Tick a run to read"
        " it row by row."
    )
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    public = "As published or recorded." + (f" {noise.describe()}." if noise else "")
    chosen = results.show_table(
        table,
        "runs",
        {
            **{
                "rows": text(
                    help="How many rows the run has, and whether their labels are known here."
                ),
                "public score": number("public", format="%.3f", help=public),
                **{name: text(help=f"{help} {_INTERVAL}") for name, help in _SCORES.items()},
                "scored": text(help=f"Which pairs of rows count. Inside cells: {UNSEEN}."),
                "against no biology": text(help=_VERDICTS),
                "time": text(
                    help="From the start to the end of a finished run; unknown for imported ones."
                ),
                "tokens": text(help=_TOKENS),
                "cost": text(help=_COST),
            },
            **dict.fromkeys(_HIDDEN),
        },
        key="runs",
        on_select="rerun",
        selection_mode="single-row",
        alt="Runs of this dataset",
    )
    rows = chosen["selection"]["rows"]
    run = runs[rows[0]] if rows else None
    if run is not None:
        st.switch_page(links.ROWS, query_params={"dataset": run.dataset, "run": run.id})


def _build_table(
    runs: Sequence[Run], prices: Mapping[str, Price]
) -> tuple[list[Run | None], pd.DataFrame]:
    """Return the table of runs, and the run of each line; None for a group's no-biology
    baseline."""
    standings = {run.id: load_standing(run.id) for run in runs}
    spent = tokens_by_run() if prices else {}

    def line(run: Run) -> dict[str, object]:
        standing = standings[run.id]
        score, n = standing.score.whole, standing.score.whole.n_labelled
        verdicts = (("DE", standing.verdicts.de.verdict), ("DIR", standing.verdicts.dir.verdict))
        above = [f"{name} {_WORDS.get(each, each)}" for name, each in verdicts if each]
        labelled = "labelled" if n == run.done else f"{n:,} labelled" if n else "no labels"
        return {
            "run": run.name,
            "rows": f"{run.done:,}, {labelled}",
            "status": run.status,
            "public score": run.public_score,
            **_score_texts(standing.score),
            "scored": score.scored if n else None,
            "against no biology": ", ".join(above) or None,
            "time": time_text(run),
            "tokens": tokens_text(run),
            "cost": cost_text(run, spent, prices.get(run.id)),
            "method": method_text(run.method) + (" (rank scores)" if run.has_rank_scores else ""),
            "model": run.model,
            "origin": run.origin,
            "fallbacks": run.fallbacks,
            "fewer seeds": flag_counts(run.id).get(Flag.FEWER_SEEDS),
            "collapsed": run.collapsed if run.method == "debate" else None,
            "failed": run.failed,
        }

    of_lines: list[Run | None] = []
    lines: list[dict[str, object]] = []
    for group in group_runs(runs, standings):
        of_lines += group
        lines += map(line, group)
        first = standings[group[0].id]
        if first.score.headline.genes is None:
            of_lines.append(None)
            lines.append(
                {
                    "run": NO_BIOLOGY,
                    "rows": lines[-1]["rows"],
                    **_score_texts(first.counts),
                }
            )
    others = [run for run in runs if run not in of_lines]
    others.sort(key=lambda run: (-run.done, -(run.public_score or 0)))
    of_lines += others
    lines += map(line, others)
    table = pd.DataFrame(lines)
    usual = [
        name
        for name, value in _USUAL.items()
        if name in table and table[name].dropna().eq(value).all()
    ]
    return of_lines, table.drop(columns=usual).dropna(axis="columns", how="all")


def _score_texts(found: RunScore) -> dict[str, str | None]:
    """Return a score's columns with intervals: the headline, DE and DIR, and pooled scores beside
    averages over genes."""
    score, headline = found.whole, found.headline
    scores = {"mean": headline.value, "DE": headline.de, "DIR": headline.dir}
    if headline.genes is not None:
        pooled = {"DE, pooled": score.de.shown, "DIR, pooled": score.dir.shown}
        scores = {
            headline.name: headline.value,
            "DE by gene": headline.de,
            "DIR by gene": headline.dir,
            **pooled,
        }
    return {
        name: results.shown_text(value) if score.n_labelled else None
        for name, value in scores.items()
    }


def time_text(run: Run) -> str | None:
    """Return the time from the start of a finished run to its end; None for a run that was imported
    or is not done, or whose clock was set back meanwhile."""
    if run.status != "done" or run.started_at is None or run.finished_at is None:
        return None
    seconds = (run.finished_at - run.started_at).total_seconds()
    return describe_duration(seconds) if seconds >= 0 else None


def tokens_text(run: Run) -> str | None:
    """Return the tokens of a run's rows, with ≥ if the count is missing for some rows; None if no
    row does."""
    if run.tokens is None:
        return None
    number = f"{run.tokens / 1e6:.1f} M" if run.tokens >= 1e6 else f"{run.tokens:,}"
    return f"≥ {number}" if run.tokens_unknown else number


def cost_text(run: Run, spent: Mapping[str, tuple[int, int]], price: Price | None) -> str | None:
    """Return what a run cost, from the tokens of its calls (`tokens_by_run`).

    A run whose calls are not recorded knows only the sum of its tokens: a range if prompts and
    answers differ in price. None without a price, or if the tokens of some rows are unknown.
    """
    if price is None:
        return None
    if run.id in spent:
        return f"{price.of(*spent[run.id]):,.2f}"
    if run.tokens is None or run.tokens_unknown:
        return None
    low, high = sorted((price.of(run.tokens, 0), price.of(0, run.tokens)))
    return f"{low:,.2f}" if low == high else f"{low:,.2f}–{high:,.2f}"
