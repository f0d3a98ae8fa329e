"""A score on all pages: value, both intervals, number of rows, chance."""

from __future__ import annotations

import streamlit as st

from core.base.result import LabelMarks
from core.base.texts import number_text, rows_behind
from core.scoring import sentences
from core.scoring.run_scores import RunScore
from core.scoring.score_result import ScoreResult
from core.scoring.sentences import TWO_WAY, axes_text, interval_text, limits_text
from core.stats.intervals import Interval
from core.ui.widgets import Number, as_text, show_numbers

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
