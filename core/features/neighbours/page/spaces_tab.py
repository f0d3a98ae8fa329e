"""Data, tab Spaces and leaks: gene spaces and knowledge packs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.features.neighbours import spaces as actions
from core.features.neighbours.build import MINILM
from core.features.neighbours.page import neighbour_controls
from core.features.neighbours.page.loaders import all_packs, space_coverage, space_matches
from core.features.neighbours.space_settings import SPACE_SETTINGS
from core.store.datasets import Dataset
from core.store.spaces import SpaceRecord
from core.transfer.knn_settings import KnnSettings
from core.ui import links, results
from core.ui.linked import bind
from core.ui.links import confirm
from core.ui.loaders.records import all_spaces
from core.ui.option_controls import names_of_rest, show_settings
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text, show_empty

# Title → kind of space, and kind of knowledge pack that it needs.
KINDS = {
    "words of gene descriptions (TF-IDF)": ("text", "descriptions"),
    "gene descriptions through MiniLM": ("sentences", "descriptions"),
    "neighbourhoods in a network": ("network", "network"),
    "a published LPS response": ("response", "lps_response"),
    "genes with similar responses in this dataset": ("coresponse", ""),
}
_ORGANISM_HELP = (
    "The organism whose genes the pack describes, from the case of its symbols: Stat1 is mouse,"
    " STAT1 human. Runs on a dataset of another organism do not read it. If its symbols do not show"
    " the organism, runs on any dataset do."
)


def offer() -> None:
    """Say where to build a gene space, on a page that needs one."""
    show_empty(
        "No gene space yet. Build one from a knowledge pack, or import an embedding.",
        lambda: links.to_data("Go to Data", tab="Spaces and leaks"),
    )


def show(context: PageContext) -> None:
    """Show every space with its coverage of the dataset, ways to build and delete one, and the
    knowledge packs."""
    spaces = all_spaces()
    if spaces:
        _show_table(context.dataset, spaces)
    else:
        show_empty("No gene space is here yet: build one below, or import an embedding (Import).")
    if not context.read_only:
        build, delete = st.columns([0.66, 0.34], gap="medium")
        with build:
            _show_build(context)
        with delete:
            _show_delete(context, spaces)
    _show_packs()


def _show_table(dataset: Dataset | None, spaces: list[SpaceRecord]) -> None:
    results.show_table(
        pd.DataFrame([_space_line(dataset, space) for space in spaces]).dropna(
            axis="columns", how="all"
        ),
        "spaces",
        {
            **{
                name: st.column_config.NumberColumn(
                    format="percent", help="Rows of the dataset with vectors in the space."
                )
                for name in ("target gene", "perturbation", "both")
            },
            "matched": st.column_config.TextColumn(
                help=(
                    "How many symbols were found in the same spelling, in another case, or by their"
                    " ortholog. Of several spellings, the alphabetically first is used."
                )
            ),
        },
    )
    for space in spaces:  # too long for a cell
        if space.notes:
            st.caption(as_text(f"{space.name}: {'; '.join(space.notes)}."))


def _space_line(dataset: Dataset | None, space: SpaceRecord) -> dict[str, Any]:
    covered = space_coverage(space.id, dataset.id) if dataset else None
    matched = space_matches(space.id, dataset.id) if dataset else {}
    return {
        "space": space.name,
        "target gene": covered.rows_by_gene if covered else None,
        "perturbation": covered.rows_by_pert if covered else None,
        "both": covered.rows_by_both if covered else None,
        "genes": space.genes,
        "columns": space.columns,
        "matched": ", ".join(f"{n:,} {rule}" for rule, n in matched.items() if n),
        "made from": space.source,
        "made from labels of": space.built_from,
        "sha256": space.sha256[:12],
    }


def _show_build(context: PageContext) -> None:
    st.markdown("**Build a space**")
    kind_side, name_side = st.columns(2)
    title = kind_side.selectbox(
        "From", list(KINDS), label_visibility="collapsed", **bind("build_kind")
    )
    kind, needed = KINDS[title]
    name = name_side.text_input(
        "Name", placeholder="name of the space", label_visibility="collapsed", **bind("build_name")
    )
    options, record = dict[str, Any](), SPACE_SETTINGS.get(kind)
    if record is not None:
        options = show_settings(record, "build_", names_of_rest(record, ()), columns=2)
    if needed and needed not in {pack.kind for pack in all_packs()}:
        st.caption(f"Needs a knowledge pack of {needed.replace('_', ' ')}: import one first.")
        return
    dataset = context.dataset
    if kind == "coresponse":
        st.caption("Made from labels: it is scored only if it is rebuilt for each fold.")
        options |= {"dataset": dataset.name if dataset else "", "of": "gene"}
    if kind == "sentences":
        options["model"] = MINILM
    if not st.button(
        "Build", disabled=not name.strip() or options.get("dataset") == "", type="primary"
    ):
        return
    with explain_errors():
        with st.status("Building …") as status:
            space = actions.embed(
                context.workspace,
                kind,
                name.strip(),
                options,
                say=lambda text: status.update(label=f"{text} …"),
            )

        def link() -> None:  # once the page knows the space
            if dataset is None or space.built_from == dataset.name:
                links.to_changes()  # Neighbours does not offer a space of the dataset's own labels
                return
            wanted = neighbour_controls.link_parameters(dataset, KnnSettings((space.name,)))
            links.to_page(links.NEIGHBOURS, "Open its neighbours", None, **wanted)

        confirm(f"Built {space.name}: {space.genes:,} genes, {space.columns:,} columns.", link)


def _show_delete(context: PageContext, spaces: list[SpaceRecord]) -> None:
    st.markdown("**Delete a space**")
    name = st.selectbox(
        "Space",
        [s.name for s in spaces],
        index=None,
        key="space_gone",
        placeholder="choose",
        label_visibility="collapsed",
    )
    st.caption("Runs made with it stay.")
    if st.button("Delete space", disabled=name is None):
        with explain_errors():
            actions.delete(context.workspace, str(name))
            confirm(f"Deleted {name}.", links.to_changes)


def _show_packs() -> None:
    st.markdown("### Knowledge packs")
    packs = all_packs()
    if not packs:
        show_empty(
            "No knowledge pack yet. Import descriptions, networks, orthologs and more like any file"
            " (Import)."
        )
        return
    table = pd.DataFrame(
        [
            {
                "pack": pack.name,
                "kind": pack.kind.replace("_", " "),
                "organism": pack.organism or None,
                "entries": pack.entries,
                "source": pack.source,
            }
            for pack in packs
        ]
    )
    results.show_table(
        table,
        "knowledge packs",
        {"organism": st.column_config.TextColumn(help=_ORGANISM_HELP)},
    )
