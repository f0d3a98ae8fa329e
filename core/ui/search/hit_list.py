"""The list of hits: a component of our own, since hundreds of links and marked words are too many elements for Streamlit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from core.plots import theme
from core.store.text_search import Hit
from core.ui.shared import links

_HERE = Path(__file__)
_list = st.components.v2.component(
    "hit_list",
    html='<div class="hits"></div>',
    css=_HERE.with_suffix(".css").read_text("utf-8"),
    js=_HERE.with_suffix(".js").read_text("utf-8"),
)


def show(names: Mapping[str, str], dataset: str, phrase: str, hits: Iterable[Hit], counts: Mapping[str, int]) -> None:
    """Show hits below the name of their run, each a link to its row in Debates.

    names, counts: run (id) → its name, and how many texts of it hold the phrase.
    """
    groups = [
        {
            "run": names[run],
            "count": f"{counts[run]:,}" if len(shown) == counts[run] else f"first {len(shown):,} of {counts[run]:,}",
            "hits": [_content(hit, dataset, phrase) for hit in shown],
        }
        for run, shown in ((run, list(of_run)) for run, of_run in groupby(hits, lambda hit: hit.run))
    ]
    _list(key="hits", data={"groups": groups})


def _content(hit: Hit, dataset: str, phrase: str) -> dict[str, Any]:
    """What the component draws of a hit; its link has the phrase in the search of Debates."""
    return {
        "pert": hit.pert,
        "gene": hit.gene,
        "role": hit.role.replace("_", " "),
        "colour": theme.ROLE_COLOURS.get(hit.role, theme.NONE),
        "before": hit.before,
        "hit": hit.hit,
        "after": hit.after,
        "link": links.page_address("rows", dataset=dataset, run=hit.run, row=hit.pair_id, q=phrase),
    }
