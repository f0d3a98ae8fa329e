"""Gene cards: facts about a gene beside its name, on hover or focus; a click opens its page in this
tab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from core.plots import theme
from core.store.datasets import Dataset
from core.ui import links
from core.ui.loaders.rows import symbol_facts
from core.ui.widgets import symbol_text

_NO_DESCRIPTION = "This workspace has no description of this gene."
LONGEST = 240  # characters of a description
_WORD = re.compile(r"[^\W_][\w.-]*")
_HERE = Path(__file__)
_cards = st.components.v2.component(
    "gene_cards", html="<div></div>", js=links.SCRIPT + _HERE.with_suffix(".js").read_text("utf-8")
)


def pages_of(
    dataset: Dataset, run: str | None, pair: tuple[str, str], texts: Iterable[str]
) -> dict[str, str]:
    """Return the addresses of the pages of the symbols that texts name, by the symbol in capitals;
    the pair's own symbols are always included. Another symbol without a digit, such as Impact or
    Max, may be a word and does not count.
    """
    facts = symbol_facts(dataset.id)
    words = {word.rstrip(".-") for text in texts for word in _WORD.findall(text)}
    named = {word for word in words if any(map(str.isdigit, word)) and word in facts}
    roles = {
        name: "gene" if facts.get(name, {}).get("gene_rows") else "perturbation"
        for name in sorted(named)
    } | {
        pair[1]: "gene",
        pair[0]: "perturbation",
    }
    address = {"dataset": dataset.id, **({"run": run} if run else {})}
    return {
        name.upper(): links.page_address(role, **address, name=name)
        for name, role in roles.items()
        if name
    }


def show(dataset: Dataset, symbols: Iterable[str]) -> None:
    """Attach the cards of these symbols (in capitals) to all links to their pages."""
    facts = {name.upper(): each for name, each in symbol_facts(dataset.id).items()}
    _cards(
        key="gene-cards",
        data={"cards": {name: _card(dataset, facts[name]) for name in symbols if name in facts}},
    )


def show_description(dataset: Dataset, symbol: str, description: str | None) -> None:
    """Show what a gene is, and a link to it at NCBI."""
    st.text(description or _NO_DESCRIPTION)
    if links.is_at_ncbi(dataset):
        st.markdown(
            f"[{symbol_text(symbol)} at NCBI]({links.ncbi_gene_address(symbol, dataset.organism)})"
        )


def _card(dataset: Dataset, facts: Mapping[str, Any]) -> dict[str, str]:
    description = str(facts["description"] or _NO_DESCRIPTION)
    labels = [
        f"{sign} {name} {facts[name]:,}"
        for name, sign in theme.LABEL_SIGNS.items()
        if facts.get(name)
    ]
    labels += [f"{facts['unlabelled']:,} without a label"] if facts["unlabelled"] else []
    rows = [
        f"{facts[key]:,} rows as {role}"
        for key, role in (("pert_rows", "perturbation"), ("gene_rows", "target gene"))
        if facts[key]
    ]
    outside = (
        links.ncbi_gene_address(str(facts["symbol"]), dataset.organism)
        if links.is_at_ncbi(dataset)
        else ""
    )
    return {
        "name": str(facts["symbol"]),
        "description": description
        if len(description) <= LONGEST
        else f"{description[:LONGEST].rsplit(' ', 1)[0]} …",
        "rows": " · ".join(rows),
        "labels": " · ".join(labels),
        "outside": outside,
    }
