"""The page of one perturbation or one target gene."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.base.texts import count_text
from core.plots import drawing
from core.store.datasets import Dataset
from core.transfer.similarity import cosine_similarity
from core.ui import links, results, widgets
from core.ui.linked import bind, choose_one, read_ids
from core.ui.loaders.cache import cache_by
from core.ui.loaders.components import row_index, space_vectors
from core.ui.loaders.records import (
    all_spaces,
    dataset_rows,
    gene_description,
    symbol_facts,
    symbol_rows,
)
from core.ui.shell import PageContext
from core.ui.widgets import show_empty, symbol_text

MOST_SIMILAR = 15  # symbols that are listed
TITLES = {"pert": "Perturbation", "gene": "Target gene"}
OTHER_ROLE = {"pert": "gene", "gene": "pert"}


def show(context: PageContext, role: str) -> None:
    """Show everything in this workspace about a symbol in one role, "pert" or "gene"."""
    symbols = _symbols(context, role)
    if typed := read_ids(role, symbols):  # a hand-written address names the role
        links.set_parameters({"name": st.query_params.get("name", typed[0]), role: None})
    title, choice = st.columns([0.6, 0.4], vertical_alignment="center")
    chosen = choose_one(
        choice.selectbox,
        "name",
        TITLES[role],
        dict(zip(symbols, symbols, strict=True)),
        index=None,
        placeholder=f"choose a {TITLES[role].lower()}",
        label_visibility="collapsed",  # it is beside the title
    )
    if chosen is None or context.dataset is None:
        title.markdown(f"## {TITLES[role]}")
        if symbols:
            show_empty("Choose a symbol above.")
        else:
            show_empty("There are no rows yet.", lambda: links.to_data("Go to Data"))
        return
    title.markdown(f"## {widgets.symbol_text(chosen)}")
    rows = symbol_rows(context.dataset.id, role, chosen)
    kind, description = gene_description(chosen)
    show_description(context.dataset, chosen, description)
    labels = rows.drop_duplicates("pair_id")["label"]
    found = Counter(labels.dropna())
    counts = [
        f"{sign} {label} {found[label]:,}"
        for label, sign in drawing.LABEL_SIGNS.items()
        if found[label]
    ]
    unknown = int(labels.isna().sum())
    counts += [f"{unknown} without a label"] if unknown else []
    remark = (
        "" if kind == "named" else f" · {kind}: a provisional symbol, so little is known about it"
    )
    st.caption(f"{TITLES[role]} of {count_text(len(labels), 'row')}: {', '.join(counts)}{remark}")
    if chosen in _symbols(context, OTHER_ROLE[role]):
        links.to_symbol(
            OTHER_ROLE[role], chosen, f"It is also a {TITLES[OTHER_ROLE[role]].lower()}"
        )
    _show_rows(context, role, rows)
    _show_most_similar(context.dataset, role, chosen)


def _symbols(context: PageContext, role: str) -> list[str]:
    return sorted(dataset_rows(context.dataset.id)[role].unique()) if context.dataset else []


def _show_rows(context: PageContext, role: str, rows: pd.DataFrame) -> None:
    """Show one line per row, with one column of P(DE), or of the rank score, per run that has the
    row."""
    # the chosen one first
    runs = sorted(context.runs, key=lambda run: context.run is None or run.id != context.run.id)
    names = {
        run.id: f"{run.name} (rank score)" if run.has_rank_scores else run.name for run in runs
    }
    pairs = rows.drop_duplicates("pair_id").set_index("pair_id")[
        [OTHER_ROLE[role], "label", "split"]
    ]
    predicted = rows.dropna(subset=["run"]).pivot(index="pair_id", columns="run", values="p_de")
    names = {
        key: f"{name} ({key})" if name in (*pairs, "debate") else name
        for key, name in names.items()
    }
    predicted = (
        predicted[[key for key in names if key in predicted]]
        .rename(columns=names)
        .rename(columns=str)
    )
    table = pairs.copy()
    table["label"] = [
        widgets.label_text(label if isinstance(label, str) else None) for label in table["label"]
    ]
    if context.run is not None and names.get(context.run.id) in predicted:
        of_run = set(rows[rows["run"] == context.run.id]["pair_id"])
        table["debate"] = [
            links.row_address(context.run, key) if key in of_run else None for key in table.index
        ]
    table = table.join(predicted)
    st.caption(
        "P(DE) of each run that has the row; for a fusion its rank score, which is not a"
        " probability."
    )
    results.show_table(
        table,
        "rows",
        {
            OTHER_ROLE[role]: TITLES[OTHER_ROLE[role]].lower(),
            **{str(name): st.column_config.NumberColumn(format="%.2f") for name in predicted},
            "debate": results.OPEN,
        },
        height="auto",
    )


@cache_by("spaces", "datasets", entries=50)
def _most_similar(dataset: str, space: str, role: str, symbol: str) -> pd.DataFrame:
    """Return the perturbations or genes of a dataset (id) that are most similar to one: symbol,
    similarity, counts of labels."""
    rows = dataset_rows(dataset)
    names = sorted(rows[role].unique())
    code_of = {name: i for i, name in enumerate(row_index(dataset).symbols)}
    codes = np.array([code_of[name] for name in names])
    similarity = cosine_similarity([space_vectors(dataset, space)]).block(
        np.array([code_of[symbol]]), codes
    )[0]
    table = pd.DataFrame({"symbol": names, "similarity": similarity})
    table = table[(table["similarity"] > 0) & (table["symbol"] != symbol)].nlargest(
        MOST_SIMILAR, "similarity"
    )
    counts = rows.groupby([role, "label"]).size().unstack(fill_value=0)
    return table.join(counts, on="symbol").fillna(0).astype(dict.fromkeys(counts.columns, int))


def _show_most_similar(dataset: Dataset, role: str, name: str) -> None:
    """Show the most similar symbols of the dataset in one gene space, with their labels."""
    spaces = [space.name for space in all_spaces()]
    if not spaces:
        return
    st.markdown("### Most similar")
    space = st.selectbox("Gene space", spaces, **bind("alike_space"))
    similar = _most_similar(dataset.id, space, role, name)
    if similar.empty:
        st.markdown(
            f"{widgets.as_text(space)} does not cover {widgets.symbol_text(name)}, or has no"
            " similar symbol."
        )
        return
    similar["page"] = [
        links.page_address("perturbation" if role == "pert" else "gene", dataset=dataset.id, name=s)
        for s in similar["symbol"]
    ]
    labels = [label for label in drawing.LABEL_SIGNS if label in similar]
    results.show_table(
        similar[["symbol", "similarity", *labels, "page"]],
        "most similar",
        {
            "similarity": st.column_config.NumberColumn(
                format="%.3f", help="Cosine of the two vectors; 0 if negative."
            ),
            "page": results.OPEN,
        },
    )


_NO_DESCRIPTION = "This workspace has no description of this gene."
LONGEST = 240  # characters of a description
_WORD = re.compile(r"[^\W_][\w.-]*")
_cards = st.components.v2.component(
    "gene_cards",
    html="<div></div>",
    js=links.SCRIPT + Path(__file__).with_name("gene_cards.js").read_text("utf-8"),
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


def show_cards(dataset: Dataset, symbols: Iterable[str]) -> None:
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
        for name, sign in drawing.LABEL_SIGNS.items()
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
