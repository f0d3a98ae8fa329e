"""The choices of a report on the page; the address contains every choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import streamlit as st

from core.base.records import from_json
from core.features.sharing import walks
from core.features.sharing.page.stop_buttons import all_walks
from core.features.sharing.report.question import Parts, find_abstract, find_title
from core.features.sharing.report.selection import PARTS, ReportSelection, select
from core.store.runs import Run
from core.ui import links
from core.ui.linked import bind, choose_one, choose_several
from core.ui.loaders.records import shared_row_counts
from core.ui.shell import PageContext

_NO_WALK = "-"
_KEPT = "_kept_abstracts"  # session key: the texts, by the runs of the report
_WALK_HELP = (
    "Rows, figures and comparisons added with “Add to report”, or the stops of a walk-through."
)
_ABSTRACT_HELP = (
    "If this is empty, the report has the draft, marked as such. Your text is saved with the"
    " report."
)
_ROWS_HELP = (
    "Each with its dossier, texts and audit, in every chosen run that has it. The page Rows shows"
    " the ids."
)


def choose(context: PageContext, run: Run) -> ReportSelection | None:
    """Show the choices of a report and return them; None without a run. Raise InputError for rows
    that no chosen run has."""
    names = {each.id: each.name for each in context.runs}
    chosen = choose_several(
        st.multiselect, "runs", "Runs (the first is highlighted)", names, [run.id]
    )
    shared = {key: shared_row_counts(key) for key in chosen}
    pairs = {
        f"{a}|{b}": f"{names[b]} against {names[a]}"
        for a, b in permutations(chosen, 2)
        if shared[a].get(b)
    }
    against_first = [pair for pair in pairs if pair.endswith(f"|{chosen[0]}")]
    compared = choose_several(
        st.multiselect,
        "pairs",
        "Comparisons",
        pairs,
        against_first,
        placeholder="none" if pairs else "needs two runs with common rows",
    )
    walk = _choose_walk(context)
    with st.expander("Figures and rows"):
        titles = {name: part.title for name, part in PARTS.items()}
        figures = choose_several(
            st.multiselect,
            "figures",
            "Figures",
            titles,
            placeholder="six, the others in an appendix",
        )
        rows = st.text_area(
            "Rows in full, one id a line", height=100, help=_ROWS_HELP, **bind("rows")
        )
    if not chosen:
        return None
    ids = [word for line in (rows or "").splitlines() for word in line.replace(",", " ").split()]
    with context.workspace.store.read() as db:
        found = select(db, chosen, [pair.split("|") for pair in compared], ids, figures)
    return replace(found, walk=walk)


def _choose_walk(context: PageContext) -> str:
    """Show the choice of the list of added rows and figures, by default that of "Add to report";
    return its name."""
    dataset = context.dataset
    counts = {
        name: n for home, name, n in all_walks() if dataset is not None and home == dataset.id
    }
    titles = {_NO_WALK: "none", **{name: f"{name} ({n:,})" for name, n in counts.items()}}
    usual = walks.REPORT if walks.REPORT in counts else _NO_WALK
    chosen = choose_one(
        st.selectbox, "added", "Added rows and figures", titles, usual, help=_WALK_HELP
    )
    return "" if chosen in (None, _NO_WALK) else str(chosen)


def write_texts(parts: Parts) -> ReportSelection:
    """Show the fields for title, abstract and authors, with the draft; return the selection with
    these texts."""
    selection = parts.selection
    title = st.text_input(
        "Finding, as a title",
        placeholder=find_title(parts.material, selection),
        max_chars=200,
        **bind("finding"),
    )
    draft, _ = find_abstract(parts.material, selection)
    kept = st.session_state.setdefault(_KEPT, {})
    if "note-abstract" not in st.session_state:  # the page was left meanwhile: its text stays
        st.session_state["note-abstract"] = kept.get(selection.runs, "")
    abstract = st.text_area(
        "Abstract", key="note-abstract", height=180, placeholder=draft, help=_ABSTRACT_HELP
    )
    kept[selection.runs] = abstract
    if not abstract:
        st.button(
            "Edit the draft",
            key="edit-draft",
            icon=":material/edit:",
            on_click=_write_abstract,
            args=(draft,),
        )
    authors = st.text_input(
        "Authors", placeholder=parts.byline.authors, max_chars=200, **bind("authors")
    )
    return replace(
        selection, title=title.strip(), abstract=abstract.strip(), authors=authors.strip()
    )


def _write_abstract(text: str) -> None:
    st.session_state["note-abstract"] = text


def apply_saved(saved: Mapping[str, Any], name: str) -> None:
    """Set the choices to those of a saved report; before the page is drawn."""
    selection = from_json(ReportSelection, saved, f"saved report {name!r}")
    chosen = {
        "runs": list(selection.runs),
        "pairs": ["|".join(pair) for pair in selection.compare] or "",
        "figures": list(selection.figures),
    }
    one = {"added": selection.walk or _NO_WALK}
    # Also in the address: for another run, the page is a new view, which reads its choices there.
    links.set_parameters({"dataset": selection.dataset, "run": selection.runs[0], **chosen, **one})
    st.session_state.update({f"id-{choice}": value for choice, value in (chosen | one).items()})
    st.session_state.update(
        {
            "finding": selection.title,
            "note-abstract": selection.abstract,
            "authors": selection.authors,
        }
    )
    st.session_state.update({"rows": "\n".join(selection.rows), "title": name})
