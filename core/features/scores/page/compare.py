"""The parts of the Compare page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.base.texts import number_text
from core.features import hooks
from core.features.scores import figures
from core.features.scores.loaders import comparison as load_comparison
from core.scoring import sentences
from core.scoring.compare_runs import RunComparison, SeveralComparisons
from core.stats.row_changes import row_changes
from core.store.runs import Run
from core.ui import links
from core.ui.linked import bind, choose_one, choose_several
from core.ui.loaders.records import shared_row_counts
from core.ui.results import OPEN, show_table
from core.ui.shell import PageContext
from core.ui.widgets import as_text, label_text, show_captioned, show_empty

LISTED = 15  # rows in each of the two tables
PARTS = ("mean", "DE", "DIR")
_MARGIN = (
    "The largest difference of the mean that would not matter, chosen before looking. Two one-sided"
    ' tests then say whether the runs are equal within it. Without a margin, "no difference shown"'
    " does not mean that they are equal."
)


def choose_baselines(context: PageContext, run: Run) -> tuple[list[Run], float | None]:
    """Show the choice of runs to compare with; return them, the baseline first, and the largest
    difference that would not matter (None: not chosen). Show a sentence and return no run if no
    other is on the same rows.
    """
    shared = shared_row_counts(run.id)
    others = {other.id: other for other in context.runs if other.id in shared}
    if not others:
        show_empty(
            "No other run of this dataset is on the same rows, so there is no run to compare with.",
            lambda: links.to_data("Import another"),
        )
        return [], None
    left, middle, right = st.columns([0.4, 0.4, 0.2], vertical_alignment="bottom")
    names = {key: other.name for key, other in others.items()}
    chosen = choose_one(
        left.selectbox,
        "baseline",
        f"Is {as_text(run.name)} better than …",
        names,
        next(iter(names)),
    )
    assert chosen is not None
    also = choose_several(
        middle.multiselect,
        "also",
        "… and better than",
        {key: name for key, name in names.items() if key != chosen},
        placeholder="further runs",
        help="Several comparisons at once, with p-values corrected for their number.",
    )
    margin = right.number_input(
        "Equal within ±",
        0.0,
        0.5,
        None,
        0.005,
        format="%.3f",
        **bind("margin"),
        placeholder="none",
        help=_MARGIN,
    )
    return [others[key] for key in (chosen, *also)], margin or None


def show_verdict(result: RunComparison) -> None:
    """Show the conclusion: first the verdict in bold, then what a reader needs to judge it."""
    st.markdown(f"**{as_text(result.sentence)}**")
    rest = " ".join(caveat for caveat in result.caveats if caveat != result.label_marks.sentence)
    if rest:
        st.text(rest, help=sentences.explain(f"{result.sentence} {rest}"))


def compare_with(
    context: PageContext, run: Run, others: Sequence[Run], margin: float | None
) -> list[RunComparison]:
    """Return the comparisons with each chosen run, counted among all made on the dataset."""
    results = [replace(load_comparison(other.id, run.id), margin=margin) for other in others]
    for count in hooks("looks"):
        results = count(context.workspace, results)
    return results


def show_several(results: Sequence[RunComparison]) -> None:
    """Show the differences from several runs in one table, with p-values corrected for their
    number, and their caveats but those of the first, which stand with its verdict."""
    several, first = SeveralComparisons.of(results), SeveralComparisons.of(results[:1])
    show_table(pd.DataFrame(several.tables()[0].texts()), "against others")
    st.caption(
        f"{several.scope}: Holm, so that one false claim is as rare as 5%; Benjamini–Hochberg, so"
        " that at most about 5% are"
    )
    for caveat in (each for each in several.caveats if each not in first.caveats):
        st.caption(f":orange[⚠] {as_text(caveat)}")


def show_gains_and_losses(result: RunComparison) -> None:
    """Show the rows that raised the mean most beside those that lowered it most, as many of each
    where there are."""
    before, baseline, run = result.a, result.a.run, result.b.run
    de, direction = row_changes(before.labels, before.scores, result.b.scores, before.cells)
    rows = before.frame[["pair_id", "pert", "gene", "label"]].assign(
        DE=de.contribution, DIR=direction.contribution
    )
    rows["mean"] = (rows["DE"] + rows["DIR"]) / 2
    gained, lost = (
        rows[rows["mean"] * sign > 0].sort_values("mean", ascending=sign < 0, kind="stable")
        for sign in (1, -1)
    )
    which = (
        "exactly"
        if before.headline == "mean"
        else "over all pairs of rows, also of different genes"
    )
    st.markdown("### Rows gained and lost")
    st.caption(
        f"A row gains where {as_text(run.name)} ranks it better than {as_text(baseline.name)}"
        f" against rows of the other class. DE: {de.wins:,} rows gain, {de.losses:,} lose,"
        f" {de.even:,} stay even. DIR: {direction.wins:,} gain, {direction.losses:,} lose,"
        f" {direction.even:,} stay even. The effects of all rows sum to the change {which}."
    )
    for column, part, word in zip(st.columns(2), (gained, lost), ("gained", "lost"), strict=True):
        with column:
            _show_changed_rows(part, word, baseline, run)


def _show_changed_rows(rows: pd.DataFrame, word: str, baseline: Run, run: Run) -> None:
    """Show the first rows that gained or lost (as `word` says), the sum over all of them, and links
    to them."""
    shown = rows.head(LISTED)
    st.markdown(f"**{word.capitalize()} most: {len(shown):,} of {len(rows):,} rows**")
    st.caption(
        f"All {len(rows):,} together change the mean of DE and DIR by"
        f" {number_text(rows['mean'].sum(), '+.3f')}."
    )
    table = pd.DataFrame(
        {
            "row": shown["pert"] + " ⟶ " + shown["gene"],
            "label": [label_text(label) for label in shown["label"]],
            **{name: 1000 * shown[name] for name in PARTS},
            "debate": [
                links.row_address(run, key, **{"with": baseline.id}) for key in shown["pair_id"]
            ],
        }
    )
    number = st.column_config.NumberColumn
    show_table(
        table,
        f"rows {word}",
        {
            **{
                name: number(
                    f"{name} ‰",
                    format="%+.2f",
                    help=f"Change of {name} by this row, in thousandths.",
                )
                for name in PARTS
            },
            "debate": OPEN,
        },
    )


def show_rank_changes(comparison: RunComparison) -> None:
    """Show the ranks of the two runs against each other and how far they agree; labels are not
    needed."""
    st.markdown("### How they differ")
    figure = figures.ranks_of_pair(comparison)
    if comparison.covered.n_labelled:  # without labels it stands with the verdict
        st.caption(as_text(figure.sentence))
    show_captioned(figure, "ranks")
