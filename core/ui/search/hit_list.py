"""The list of hits: a component of our own, since hundreds of links and marked words are too many elements for Streamlit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    js=links.SCRIPT + _HERE.with_suffix(".js").read_text("utf-8"),
)


def show(names: Mapping[str, str], dataset: str, phrase: str, hits: Iterable[Hit]) -> None:
    """Show hits below the pair of their row, each with links to that row on the page Rows.

    names: run (id) → its name, in order. The same words of a row stand once, with every run that has them: fusions keep their
    parents' texts.
    """
    of_rows: dict[str, dict[tuple[str, ...], list[Hit]]] = {}
    for hit in hits:
        of_rows.setdefault(hit.pair_id, {}).setdefault((hit.role, hit.before, hit.hit, hit.after), []).append(hit)
    groups = [
        {
            "pert": (first := next(iter(texts.values()))[0]).pert,
            "gene": first.gene,
            "hits": [_content(same, names, dataset, phrase) for same in texts.values()],
        }
        for texts in of_rows.values()
    ]
    _list(key="hits", data={"groups": groups})


def _content(same: Sequence[Hit], names: Mapping[str, str], dataset: str, phrase: str) -> dict[str, Any]:
    """What the component draws of equal words in several runs; the links have the phrase in the search of the page Rows."""
    hit = same[0]
    return {
        "role": hit.role.replace("_", " "),
        "colour": theme.ROLE_COLOURS.get(hit.role, theme.NONE),
        "before": hit.before,
        "hit": hit.hit,
        "after": hit.after,
        "runs": [
            {
                "name": names[run],
                "link": links.page_address("rows", dataset=dataset, run=run, row=hit.pair_id, q=phrase),
            }
            for run in sorted({each.run for each in same}, key=[*names].index)
        ],
    }
