"""The parts of the Neighbours page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from core.base.texts import number_text
from core.features.neighbours.page.loaders import principal_axes, show_sentence, task_on_rows
from core.features.neighbours.page.neighbour_controls import LiveNeighbours, majority_label
from core.features.neighbours.plots import cumulative_share, gene_map
from core.scoring import sentences
from core.store.datasets import Dataset
from core.transfer.knn_settings import KnnSettings
from core.transfer.prior_provenance import Provenance
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import visible_rows
from core.ui import links, results, widgets
from core.ui.linked import bind, select_rows
from core.ui.loaders.records import dataset_rows, runs_with_row
from core.ui.shell import PageContext
from core.ui.widgets import Number, as_text, show_figure, show_numbers

PER = ("gene", "row")  # the unit of a point in the figure and of a line in the table
LISTED = 400  # neighbours in the table; the others are counted
MAPPED = 0.5  # share of the prior whose genes the map marks: nearly every gene has some weight


def choose_row(dataset: Dataset, linked: str | None) -> str:
    """Show the choice of a row, by perturbation and target gene; return its id.

    The default is the linked row, else the dataset's first. The address names a chosen row, but not
    the first: naming it would add a step to the browser's history.
    """
    rows = dataset_rows(dataset.id)
    named = rows[rows["pair_id"] == linked]
    if linked is not None and named.empty:
        st.warning("This dataset does not have the linked row; another is shown.")
    row = (rows if named.empty else named).iloc[0]
    left, right = st.columns(2)
    perts = sorted(rows["pert"].unique())
    pert = left.selectbox(
        "Perturbation",
        perts,
        index=perts.index(row["pert"]),
        key=f"pert-{dataset.id}-{row['pair_id']}",
    )
    of_pert = rows[rows["pert"] == pert].sort_values("gene")
    genes = of_pert["gene"].tolist()
    at = genes.index(row["gene"]) if row["gene"] in genes else 0
    gene = right.selectbox(
        "Target gene", genes, index=at, key=f"gene-{dataset.id}-{pert}-{row['pair_id']}"
    )
    pair_id = str(of_pert[of_pert["gene"] == gene]["pair_id"].iloc[0])
    if linked is not None or pair_id != row["pair_id"]:
        links.set_parameters({"row": pair_id})
    return pair_id


def show_number(dataset: Dataset, settings: KnnSettings) -> None:
    """Show the score of a kNN with these settings over all labelled rows of the dataset, under its
    folds or the usual ones."""
    by_folds = (
        settings
        if settings.protocol.kind == "folds"
        else replace(settings, protocol=EvaluationProtocol())
    )
    task = task_on_rows(dataset.id, dataset.name, by_folds, None)
    if len(task.labels):
        show_sentence(task, "These settings")


def explain_priors(live: LiveNeighbours, without: Sequence[int] = ()) -> Provenance:
    """Return the provenance of the row's priors, without some labelled rows (positions)."""
    left_out = np.array(without, dtype=np.intp) if without else None
    return live.neighbourhood.explain(0, live.settings.spaces, live.settings.similarity, left_out)


def choose_unit(settings: KnnSettings) -> str:
    """Show how neighbours are grouped, and return their unit: "gene" or "perturbation" if grouped,
    else "row"."""
    per = st.segmented_control("Group by", PER, default=PER[0], **bind("per"), required=True)
    units = {"gene": "gene", "pert": "perturbation", "both": "row"}
    return units[settings.similarity.weighting.axis] if per == PER[0] else "row"


def key_of_table(live: LiveNeighbours, unit: str, pair_id: str) -> str:
    """Return the key of the table: a different row or setting makes a new table with nothing
    picked."""
    return f"picked {pair_id} {live.settings.describe()} {unit}"


def find_picked_rows(rows: pd.DataFrame, key: str) -> list[int]:
    """Return the labelled rows of the neighbours picked in the table of this key, or named by the
    opened link."""
    lines = rows.head(LISTED)
    picked = select_rows(key, "without", lines["neighbour"].tolist())
    return [position for at in picked for position in lines["positions"].iloc[at]]


def show_priors(live: LiveNeighbours, unit: str, provenance: Provenance, label: str | None) -> None:
    """Show the priors, how many neighbours they have, and the row's label."""
    priors = {"P(DE)": provenance.prior_de, "P(up | DE)": provenance.prior_up}
    numbers = [
        Number(f"Prior {name}", number_text(p), sentences.PROBABILITY_HELP[name])
        for name, p in priors.items()
    ]
    at, known = provenance.neighbours, live.index.known.rows
    n = (
        len(at)
        if unit == "row"
        else len(np.unique((known.pert if unit == "perturbation" else known.gene)[at]))
    )
    rows = "" if unit == "row" else f"with {len(at):,} labelled rows"
    help_ = (
        f"{unit.capitalize()}s whose labelled rows have a weight above 0; the figure and the table"
        " count the same."
    )
    numbers.append(Number(f"Neighbour {unit}s", f"{n:,}", help_, rows))
    meaning = "The result of the screen; the priors do not use it."
    numbers.append(Number("Label", widgets.label_text(label), meaning))
    show_numbers("priors", numbers, 4)
    if live.settings.similarity.strength:
        st.caption(
            "Shown without the support strength of Fuse and runs, which moves the prior of an"
            " effect towards 0.5."
        )


def show_masked_rows(live: LiveNeighbours, label: str | None) -> None:
    """Show which labelled rows the row may not use, and why."""
    parts, known = live.neighbourhood.parts, live.index.known.rows
    n = len(known)
    if parts is None:
        what = (
            "has no label" if label is None else "is in the test split, whose labels are not used"
        )
        st.caption(f"This row {what}: it may use all {n:,} labelled rows of the training split.")
        return
    pert, gene = int(live.neighbourhood.queries.pert[0]), int(live.neighbourhood.queries.gene[0])
    seen = int(visible_rows((pert, gene), known, parts).sum())
    by_pert, by_gene = (
        parts.pert[known.pert] == parts.pert[pert],
        parts.gene[known.gene] == parts.gene[gene],
    )
    where = "are in its fold of" if live.settings.protocol.kind == "folds" else "share"
    whose = (
        ("perturbations", "genes")
        if live.settings.protocol.kind == "folds"
        else ("its perturbation", "its gene")
    )
    st.caption(
        f"May use {seen:,} of {n:,} labelled rows: {n - seen:,} are masked. "
        f"{int(by_pert.sum()):,} {where} {whose[0]}, {int(by_gene.sum()):,} {where} {whose[1]}."
    )


def show_neighbours(
    live: LiveNeighbours,
    unit: str,
    rows: pd.DataFrame,
    key: str,
    provenance: Provenance,
    without_picked: Provenance,
) -> None:
    """Show the table of neighbours under a key, and above it the priors without the picked ones."""
    shown, labels = rows.head(LISTED), ["up", "down", "none"]
    if unit == "row":
        shown, labels = shown.assign(label=shown["label"].map(widgets.label_text)), ["label"]
    rest = shown.columns.difference(
        ["neighbour", "label", "up", "down", "none", "symbol", "positions"], sort=False
    )
    shown = shown[["neighbour", *labels, *rest]]
    shares = {"share": "% of P(DE)", "cumulative": "cumulative %", "share_up": "% of P(up | DE)"}
    shown = shown.assign(**{name: 100 * shown[name] for name in shares})
    number = st.column_config.NumberColumn
    st.caption(
        f"{len(shown):,} of {len(rows):,} {unit}s, highest share first; the shares of all sum to"
        " 100%."
    )
    if without_picked is provenance:
        st.markdown(f"Pick {unit}s in the first column to see the priors without them.")
    else:
        moves = (
            ("P(DE)", provenance.prior_de, without_picked.prior_de),
            ("P(up | DE)", provenance.prior_up, without_picked.prior_up),
        )
        moved = " · ".join(
            f"{name} {number_text(before)} → {number_text(after)}"
            f" ({number_text(after - before, '+.3f')})"
            for name, before, after in moves
        )
        st.markdown(f"**Without the picked: {moved}**")
    results.show_table(
        shown,
        "neighbours",
        {
            **{
                name: number(format="%.3f")
                for name in ("similarity", "weight", *live.settings.spaces)
            },
            **{name: number(title, format="%.2f") for name, title in shares.items()},
        },
        key=key,
        height=420,
        on_select="rerun",
        selection_mode="multi-row",
    )


def show_figures(
    dataset: Dataset, live: LiveNeighbours, unit: str, rows: pd.DataFrame, pair_id: str
) -> None:
    """Show the neighbours' shares of the prior, and their places on a map of genes."""
    labelled = f"{rows['positions'].map(len).sum():,} labelled rows"
    count = labelled if unit == "row" else f"{len(rows):,} {unit}s with {labelled}"
    caption = f"{dataset.name} · {pair_id} · {count} · {live.settings.describe()}"
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Shares of the prior**")
        chart = cumulative_share.figure(
            rows[["neighbour", "share", "cumulative", "label"]], "prior of P(DE)", unit
        )
        shown = rows[["neighbour", "label", "share", "cumulative"]]
        show_figure(
            chart,
            shown,
            "shares",
            "Shares of the neighbours",
            f"{caption} · shares, so no interval",
        )
    with right:
        st.markdown("**Places among the genes**")
        _show_map(dataset, live, rows, caption)


def _show_map(dataset: Dataset, live: LiveNeighbours, rows: pd.DataFrame, caption: str) -> None:
    """Show the genes (or perturbations) on the first two principal components of the first chosen
    space."""
    axis = "pert" if live.settings.similarity.weighting.axis == "pert" else "gene"
    index, space = live.index, live.settings.spaces[0]
    coordinates, variances = principal_axes(dataset.id, space)
    query = int(getattr(live.neighbourhood.queries, axis)[0])
    known = np.unique(getattr(index.known.rows, axis))
    codes = known if query in known else np.append(known, query)
    share = rows.groupby("symbol")["share"].sum().sort_values(ascending=False)
    marked = share[share.cumsum().shift(fill_value=0.0) <= MAPPED]
    label = majority_label(rows.groupby("symbol")[["up", "down", "none"]].sum())
    symbols, of_query = [index.symbol(int(code)) for code in codes], index.symbol(query)
    table = pd.DataFrame(
        {
            "symbol": symbols,
            "x": coordinates[codes, 0],
            "y": coordinates[codes, 1],
            "kind": [
                "query" if s == of_query else "neighbour" if s in marked else "other"
                for s in symbols
            ],
            "share": [float(marked.get(s, 0.0)) for s in symbols],
            "label": [str(label[s]) if s in marked else "" for s in symbols],
        }
    )
    if table[["x", "y"]].dropna().empty:
        st.markdown(f"{space} covers none of these genes, so there is no map.")
        return
    axes = tuple(
        f"principal component {i + 1} ({variance:.0%} of the variance)"
        for i, variance in enumerate(variances)
    )
    chart = gene_map.figure(table, of_query, (axes[0], axes[1]))
    whole = f"{space} · {caption} · marked: the genes that make up half of the prior"
    show_figure(chart, table, "gene-map", f"Map of {space}", whole)


def show_links(context: PageContext, pair_id: str, pert: str, gene: str) -> None:
    """Show links to the row in the chosen run and to the pages of both symbols."""
    with st.container(horizontal=True):
        if context.run is not None and context.run.id in runs_with_row(
            context.run.dataset, pair_id
        ):
            links.to_row(context.run, pair_id, f"This row in {as_text(context.run.name)}")
        links.to_symbol("pert", pert, f"All rows of {widgets.symbol_text(pert)}")
        links.to_symbol("gene", gene, f"All rows of {widgets.symbol_text(gene)}")
