"""Arguments, tab Clash: a model's reading of which points in a run's debates were answered, ignored or decisive."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.actions.clash import clash_of_run
from core.audit.clash import SPEECHES
from core.scoring.clash_counts import RunClash, describe_clash, list_counts
from core.store.runs import Run
from core.ui.arguments import choices, rubric_forms
from core.ui.shared import links, loaders, tables
from core.ui.shared.linked import choose_one
from core.ui.shared.loaders.cache import cache_by
from core.ui.shared.server_workspace import read_workspace
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_empty

_MOST_SHOWN = 1_000  # points in the table; the command gives all
_COLUMNS = ("side", "point", "status", "answered_by", "answer", "verdict")


def show(context: PageContext, run: Run) -> None:
    """Show the counts of each side, the points with their quotations, and the form for a reading."""
    roles = [role for of_kind in loaders.text_counts(run.id).values() for role in of_kind]
    if not {"brief", "verdict"} <= loaders.text_counts(run.id).keys() or len(set(roles)) < 3:  # two sides and a judge
        show_empty("This run has no debates of two sides before a judge.")
        return
    finished = choices.finished_readings(run, SPEECHES)
    if finished:
        titles = {each.id: f"{each.model or 'a model'}: {each.name}" for each in finished}
        chosen = choose_one(st.selectbox, "clash_reading", "Read by", titles, finished[0].id) if len(finished) > 1 else None
        _show(run, _clash(run.id, chosen or finished[0].id))
    else:
        show_empty(
            "No model has read these debates yet. A reading lists each side's points and quotes the other side's answers and "
            "the judge. Quotations that are not in the text are counted but not shown."
        )
    rubric_forms.show_reading(context, run, SPEECHES)


@cache_by("run:{0}", "run:{1}", entries=8)
def _clash(run: str, reading: str) -> RunClash:
    return clash_of_run(read_workspace(), run, reading)


def _show(run: Run, found: RunClash) -> None:
    st.markdown(as_text(describe_clash(found)))
    counts = list_counts(found.counts)
    shares = counts.assign(**{name: _share(counts[name], counts[of]) for name, of in _SHARES.items()})
    shown = shares.rename(columns=_NAMES)[list(_NAMES.values())]
    tables.show_table(shown, "points by side", {_NAMES[name]: _column(name) for name in _NAMES})
    if found.worth is not None:
        st.caption(as_text(found.worth.sentence))
    _show_points(run, found)


def _share(part: pd.Series, whole: pd.Series) -> pd.Series:
    return (100 * part / whole).where(whole > 0)


def _column(name: str) -> Any:
    if name in _SHARES:
        return st.column_config.NumberColumn(_NAMES[name], format="%.0f%%", help=_HELP[name])
    if name in ("side", "outcome"):
        return st.column_config.TextColumn(_NAMES[name], help=_HELP[name])
    return st.column_config.NumberColumn(_NAMES[name], format="localized", help=_HELP[name])


def _show_points(run: Run, found: RunClash) -> None:
    points = found.points
    if points.empty:
        return
    shown = points.head(_MOST_SHOWN)
    st.caption(f"{len(shown):,} of {len(points):,} points")
    rows = [links.page_address("rows", dataset=run.dataset, run=run.id, row=pair_id) for pair_id in shown["pair_id"]]
    table = shown[list(_COLUMNS)].rename(columns={"answered_by": "answered by", "verdict": "the judge on it"})
    table.insert(0, "row", rows)
    tables.show_table(table, "points", {"row": st.column_config.LinkColumn("row", display_text=r"row=([^&]+)")})


_SHARES = {
    "answered": "points",
    "ignored": "points",
    "unclear": "points",
    "decisive": "judged",
    "decisive_ignored": "judged",
}
_NAMES = {
    "side": "side",
    "outcome": "row is",
    "debates": "debates",
    "points": "points",
    "answered": "answered",
    "ignored": "ignored",
    "unclear": "unclear",
    "decisive": "decisive",
    "decisive_ignored": "decisive, ignored",
}
_HELP = {
    "side": "The side that makes the points.",
    "outcome": "Whether the most probable of up, down and none is the row's label.",
    "debates": "Debates that were read.",
    "points": "Points whose quotation is in the side's own text.",
    "answered": "Points that a sentence of another side answers.",
    "ignored": "Points that no side answers, according to the reader.",
    "unclear": "Points whose quoted answer is in no text of another side.",
    "decisive": "Points that the judge takes up, in debates whose judge gives reasons.",
    "decisive_ignored": "Points that the judge takes up although no side answered them.",
}
