"""The palette: one field, opened by Ctrl K or ⌘ K, that finds pages, runs, target genes, perturbations and rows.

Pages and runs the browser finds by itself; symbols and rows, of which there may be a hundred thousand, the server does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.ui.shared import links, loaders
from core.ui.shared.loaders.cache import cache_by
from core.ui.shared.run_choice import Choice

MOST = 8  # symbols of either role, and rows, that are listed
_ROLES = {"pert": ("perturbation", "perturbation"), "gene": ("target gene", "gene")}  # column → what it holds, its page
_HERE = Path(__file__)
_HTML = """<button type="button" class="open">Find anything <kbd></kbd></button>
<dialog aria-label="Find anything"><input type="text" role="combobox" aria-expanded="true" aria-controls="found"
 aria-label="Page, run, gene or row" placeholder="page, run, gene, or perturbation and gene" autocomplete="off"
 spellcheck="false">
<div id="found" role="listbox" aria-label="Found"></div><p class="none" role="status"></p></dialog>"""
_palette = st.components.v2.component(
    "palette",
    html=_HTML,
    css=_HERE.with_suffix(".css").read_text("utf-8"),
    js=links.SCRIPT + _HERE.with_suffix(".js").read_text("utf-8"),
)


def show(pages: Mapping[str, Sequence[Any]], choice: Choice) -> None:
    """Show the button that opens the palette. pages: the groups of `st.navigation`."""
    query = {name: each.id for name, each in (("dataset", choice.dataset), ("run", choice.run)) if each is not None}
    known = [*_pages(pages, query), *_runs()]

    @st.fragment
    def draw() -> None:
        wanted = st.session_state.get("palette", {}).get("wanted") or ""
        dataset = choice.dataset
        found = [] if dataset is None else list(find(loaders.dataset_rows(dataset.id), _symbols(dataset.id), wanted, query))
        _palette(key="palette", data={"known": known, "found": found, "of": wanted}, on_wanted_change=lambda: None)

    draw()


def find(
    rows: pd.DataFrame, symbols: Mapping[str, Sequence[str]], wanted: str, query: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Yield what the typed words name in a dataset: symbols that begin so, then rows whose pair has them; each with its link.

    rows: with pert, gene and pair_id. symbols: those of each column, sorted. query: the parameters of every link.
    """
    words = wanted.replace("_", " ").replace("⟶", " ").replace(">", " ").lower().split()
    if not words:
        return
    for column, (what, page) in _ROLES.items() if len(words) == 1 else ():
        starting = [symbol for symbol in symbols[column] if symbol.lower().startswith(words[0])]
        for each in starting[:MOST]:
            yield {"kind": what, "label": each, "link": links.page_address(page, **query, name=each)}
    pert, gene = rows["pert"].str.lower(), rows["gene"].str.lower()
    if len(words) == 1:
        mask = (pert == words[0]) | (gene == words[0])
    else:
        mask = pert.str.startswith(words[0]) & gene.str.startswith(words[1])
    for row in rows[mask].head(MOST).itertuples():
        yield {"kind": "row", "label": f"{row.pert} ⟶ {row.gene}", "link": _row_link(str(row.pair_id), query)}


def _row_link(pair_id: str, query: Mapping[str, str]) -> str:
    """A row in Rows, of the chosen run or else of the latest that has it; its neighbours where no run has."""
    having = loaders.runs_with_row(query["dataset"], pair_id)
    if not having:
        return links.page_address("neighbours", **query, row=pair_id)
    run = query["run"] if query.get("run") in having else having[-1]
    return links.page_address("rows", dataset=query["dataset"], run=run, row=pair_id)


@cache_by("datasets", entries=4, shared=True)
def _symbols(dataset: str) -> dict[str, list[str]]:
    """The symbols of each role in a dataset (id), sorted."""
    rows = loaders.dataset_rows(dataset)
    return {column: sorted(rows[column].unique(), key=str.lower) for column in _ROLES}


def _pages(pages: Mapping[str, Sequence[Any]], query: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for title, group in pages.items():
        for page in group:
            if page.visibility != "hidden":
                link = links.page_address(page.url_path, **query)
                yield {"kind": f"page{f', {title}' if title else ''}", "label": page.title, "link": link}


def _runs() -> Iterator[dict[str, str]]:
    for run in reversed(loaders.predicting_runs()):
        link = links.page_address("rows", dataset=run.dataset, run=run.id)
        yield {"kind": "run", "label": run.name, "link": link}
