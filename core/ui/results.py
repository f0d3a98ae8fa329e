"""How a page shows a result: its sentence first, then scope, caveats, figure and tables; and a
score: value, both intervals, number of rows, chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.base.result import LabelMarks, Result
from core.base.texts import number_text, rows_behind
from core.features import hooks
from core.plots.printed import captioned
from core.scoring import sentences
from core.scoring.run_scores import RunScore
from core.scoring.score_result import ScoreResult
from core.scoring.sentences import BIASED, TWO_WAY, axes_text, interval_text, limits_text
from core.stats.intervals import Interval
from core.ui import widgets
from core.ui.widgets import Number, as_text, show_captioned, show_numbers


def show_result(result: Result, subject: str, key: str) -> None:
    """Show a result. subject: the run or runs that it is about. key: tells it apart from others on
    the page."""
    st.markdown(f"**{as_text(result.sentence)}**")
    figure = result.figure()
    if result.scope and figure is None:  # else it is the figure's caption
        st.caption(as_text(result.scope))
    for caveat in result.caveats:
        st.caption(f":orange[⚠] {as_text(caveat)}")
    if figure is not None:
        shown = captioned(result, subject)
        show_captioned(replace(shown, caption=result.scope, sentence=""), key)
    for i, table in enumerate(filter(attrgetter("rows"), result.tables())):
        st.markdown(as_text(table.title))
        show_table(pd.DataFrame(table.texts()), f"{key}-{i}")


LONG = 65  # characters of a text that takes several lines
MEASURED_ROWS = 500  # rows of a longer table, whose texts are much alike
TALL_PX = 62  # a row of three lines; Streamlit breaks lines in rows above 4rem alone
COUNT = st.column_config.NumberColumn(format="localized")
OPEN = st.column_config.LinkColumn(display_text="open")


def show_table(
    table: pd.DataFrame | Styler,
    name: str | None,
    columns: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
    **options: Any,
) -> Any:
    """Show a table without its index, with downloads as CSV and Parquet; return the value of
    `st.dataframe`.

    name: of the table on its page, and in its file name; None if it has other downloads or is part
    of a dossier. columns: its column_config; other columns have whole numbers with separators, and
    long texts in several lines. Further options are those of `st.dataframe`.
    """
    frame: pd.DataFrame = cast(Any, table).data if isinstance(table, Styler) else table
    texts = frame.drop(columns=[*(columns or {})], errors="ignore").head(MEASURED_ROWS)
    if (texts.map(str).map(len) > LONG).to_numpy().any():
        options = {"row_height": TALL_PX} | options
    counts: dict[Any, Any] = dict.fromkeys(frame.select_dtypes("integer"), COUNT)
    with st.container(gap=None, key=f"table-{name}" if name else None):
        shown = st.dataframe(
            table,
            hide_index=True,
            key=key,
            column_config=counts | dict(columns or {}),
            **{"height": "content", "placeholder": "–"} | options,
        )
        if name:
            widgets.show_parquet_button(frame, f"table-{name}", widgets.file_name_of(name))
    return shown


_INTERVALS = f"{TWO_WAY}, by rows alone"  # the caption of every score


def shown_text(value: Interval) -> str:
    """Return a score with the interval shown."""
    if value.estimate != value.estimate:
        return "one class" if value.n else "no labels"
    return interval_text(value)


def show_run_score(result: ScoreResult) -> None:
    """Show a run's scores side by side, and below them what to know before trusting them."""
    if result.score.headline.genes is None:
        score = result.score.whole
        counted = {"DE": score.n_labelled, "DIR": score.dir.n, "mean": score.n_labelled}
        numbers = [
            _number(
                name,
                part.shown,
                f"{limits_text(part.row)} by rows alone  \n{rows_behind(name, counted[name])},"
                " chance 0.5",
            )
            for name, part in score.parts.items()
        ]
        show_numbers("score", numbers, 3)
    else:
        _show_headline(result.score)
    caveats = " ".join(caveat for caveat in result.caveats if caveat != result.label_marks.sentence)
    st.caption(as_text(caveats), help=sentences.explain(caveats))


def show_marks(marks: LabelMarks) -> None:
    """Show the caveats about the labels beside scores on them, if there are any."""
    if marks.sentence:
        (st.warning if marks.marked else st.caption)(as_text(marks.sentence))


def _number(name: str, shown: Interval, more: str, help_text: str = "") -> Number:
    explained = f"{help_text or sentences.SCORE_HELP[name]}\n\n{sentences.explain(_INTERVALS)}"
    return Number(
        name,
        number_text(shown.estimate),
        explained,
        f"{limits_text(shown)} {axes_text(shown)}  \n{more}",
    )


def _show_headline(found: RunScore) -> None:
    """Show the headline of a dataset that is judged by genes: the mean of DE and DIR, and each with
    its pooled score."""
    headline, whole = found.headline, found.whole
    parts = zip(
        ("DE", "DIR"),
        (headline.de, headline.dir),
        (whole.de, whole.dir),
        headline.genes or (0, 0),
        strict=True,
    )
    numbers = [
        _number(
            f"{name} by gene",
            value,
            f"{n:,} genes with both classes, chance 0.5  \npooled {shown_text(pooled.shown)},"
            f" {rows_behind(name, pooled.n)}",
            f"{sentences.HEADLINE_HELP}\n\n{sentences.SCORE_HELP[name]} Pooled, a mean by gene"
            " would raise it.",
        )
        for name, value, pooled, n in parts
        if value.estimate == value.estimate
    ]
    if len(numbers) != 1:  # else the headline is that score
        more = "" if numbers else "no labels of both classes"
        numbers.insert(0, _number(headline.name, headline.value, more, sentences.HEADLINE_HELP))
    show_numbers("score", numbers, 3)


def show_no_labels(n: int) -> None:
    """Show that a run of `n` rows has no labels here."""
    st.markdown(
        f"**No labels here.** None of these {n:,} rows is labelled, so there is no score, no hit"
        " and no miss."
    )


def show_protocols(run: str) -> None:
    """Show the score of each kNN in a run; under leave-one-out, beside the score without gene
    information."""
    for describe in hooks("protocol_sentences"):
        for kind, sentence in describe(run):
            biased = f" {BIASED}" if kind == "loo" else ""
            st.caption(as_text(f"{sentence}.{biased}"), help=sentences.explain(sentence))
