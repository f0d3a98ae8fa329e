"""What a report is to show, chosen on the page; the address carries every choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import streamlit as st

from core.records import from_json
from core.report.figures.registry import DEFAULTS, KINDS
from core.report.selection import Explorers, ReportSelection, select
from core.store.runs import Run
from core.ui.shared import links, loaders
from core.ui.shared.linked import bind, choose_several
from core.ui.shared.shell import PageContext

EXPLORERS: dict[str, Explorers] = {"with the labels of their rows": "labels", "by ranks alone": "ranks", "no": "no"}
_EXPLORERS_HELP = "With labels, scores and intervals follow the hand. Without, labels stay here, and ranks follow alone."
_ROWS_HELP = "Each with its dossier, what was said and the audit, in every chosen run that has it. The page Rows shows the ids."


def choose(context: PageContext, run: Run) -> ReportSelection | None:
    """Show the choices; None without a run. Raises InputError for rows that no chosen run has."""
    names = {each.id: each.name for each in context.runs}
    left, right = st.columns(2, gap="medium")
    chosen = choose_several(left.multiselect, "runs", "Runs, the first of which stands out", names, [run.id])
    pairs = _pairs_of(chosen, names)
    compared = choose_several(
        right.multiselect, "pairs", "Comparisons", pairs, placeholder="none" if pairs else "needs two runs with common rows"
    )
    left, right = st.columns(2, gap="medium")
    titles = {name: kind.title for name, kind in KINDS.items()}
    figures = choose_several(left.multiselect, "figures", "Figures", titles, list(DEFAULTS))
    rows = right.text_area("Rows in full, one id a line", height=140, help=_ROWS_HELP, **bind("rows"))
    methods = {each.id: each.method for each in context.runs}
    explorers = _choose_explorers() if any(methods[key] == "fusion" for key in chosen) else "labels"
    if not chosen:
        return None
    ids = [word for line in (rows or "").splitlines() for word in line.replace(",", " ").split()]
    with context.workspace.store.read() as db:
        return select(db, chosen, [pair.split("|") for pair in compared], ids, figures, explorers)


def _choose_explorers() -> Explorers:
    """Show what of a fusion can be weighed anew in the file."""
    chosen = st.segmented_control(
        "Fusions can be weighed anew in the file",
        list(EXPLORERS),
        default=next(iter(EXPLORERS)),
        **bind("explorers"),
        help=_EXPLORERS_HELP,
        required=True,
    )
    return EXPLORERS[chosen]


def _pairs_of(chosen: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    """Every two of the chosen runs that have rows in common, either way round: baseline|run → in words."""
    shared = {key: loaders.shared_row_counts(key) for key in chosen}
    return {f"{a}|{b}": f"{names[b]} against {names[a]}" for a, b in permutations(chosen, 2) if shared[a].get(b)}


def apply_saved(saved: Mapping[str, Any], name: str) -> None:
    """Set the choices to those of a saved report; before the page is drawn."""
    selection = from_json(ReportSelection, saved, f"saved report {name!r}")
    chosen = {
        "runs": list(selection.runs),
        "pairs": ["|".join(pair) for pair in selection.compare],
        "figures": list(selection.figure_names),
    }
    # In the address too: of another run, the page is a new view, whose choices come from there.
    links.set_parameters({"dataset": selection.dataset, "run": selection.runs[0], **chosen})
    st.session_state.update({f"id-{choice}": ids for choice, ids in chosen.items()})
    explorers = next(title for title, value in EXPLORERS.items() if value == selection.explorers)
    st.session_state.update({"rows": "\n".join(selection.rows), "title": name, "explorers": explorers})
