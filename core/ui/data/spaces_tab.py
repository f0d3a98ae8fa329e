"""The Spaces tab of the Data page: gene spaces and knowledge packs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from core.actions import spaces as actions
from core.store.datasets import Dataset
from core.store.spaces import SpaceRecord
from core.ui.shared import loaders
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty

# Title → kind of space, kind of knowledge pack that it needs, columns (0: as many as the source has).
KINDS = {
    "words of gene descriptions (TF-IDF)": ("text", "descriptions", 200),
    "gene descriptions through MiniLM": ("sentences", "descriptions", 0),
    "neighbourhoods in a network": ("network", "network", 128),
    "a published LPS response": ("response", "lps_response", 0),
    "genes with similar responses in this dataset": ("coresponse", "", 64),
}
SEEDED = "Of a randomized SVD: another seed gives a slightly different space and score, for networks a visibly different one."


def show(context: PageContext) -> None:
    """Show every space with its coverage of the dataset, ways to build and delete one, and the knowledge packs."""
    spaces = loaders.all_spaces()
    if spaces:
        _show_table(context.dataset, spaces)
    else:
        show_empty("No gene space is here yet: build one below, or import an embedding (Import).")
    if not context.workspace.settings.read_only:
        build, delete = st.columns([0.66, 0.34], gap="medium")
        with build:
            _show_build(context)
        with delete:
            _show_delete(context, spaces)
    _show_packs()


def _show_table(dataset: Dataset | None, spaces: list[SpaceRecord]) -> None:
    st.dataframe(
        pd.DataFrame([_space_line(dataset, space) for space in spaces]),
        hide_index=True,
        height="content",
        placeholder="–",
        column_config={
            **{name: st.column_config.NumberColumn(format="localized") for name in ("genes", "columns")},
            **{
                name: st.column_config.NumberColumn(format="percent", help=f"Rows of the dataset whose {what} the space has.")
                for name, what in (("by gene", "target gene"), ("by pert", "perturbation"), ("by both", "gene and perturbation"))
            },
            "matched": st.column_config.TextColumn(help="How many symbols have the same spelling, another case, an ortholog."),
        },
    )
    if dataset is not None:
        several = {space.name: names for space in spaces if (names := loaders.space_matches(space.id, dataset.id)[1])}
        for name, symbols in several.items():
            st.caption(as_text(f"{name}: several spellings match {', '.join(symbols[:5])}; the alphabetically first is used."))


def _space_line(dataset: Dataset | None, space: SpaceRecord) -> dict[str, Any]:
    covered = loaders.space_coverage(space.id, dataset.id) if dataset else None
    matched = loaders.space_matches(space.id, dataset.id)[0] if dataset else {}
    return {
        "space": space.name,
        "genes": space.genes,
        "columns": space.columns,
        "by gene": covered.rows_by_gene if covered else None,
        "by pert": covered.rows_by_pert if covered else None,
        "by both": covered.rows_by_both if covered else None,
        "matched": ", ".join(f"{n:,} {rule}" for rule, n in matched.items() if n),
        "made from": space.source,
        "labels of": space.built_from,
        "notes": "; ".join(space.notes),
        "sha256": space.sha256[:12],
    }


def _show_build(context: PageContext) -> None:
    st.markdown("**Build a space**")
    packs = {pack.kind for pack in loaders.all_packs()}
    kind_side, name_side = st.columns(2)
    title = kind_side.selectbox("From", list(KINDS), key="build_kind", label_visibility="collapsed")
    kind, needed, columns = KINDS[title]
    name = name_side.text_input("Name", placeholder="name of the space", key="build_name", label_visibility="collapsed")
    seed = 0
    if columns:
        left, right = st.columns(2)
        columns = left.number_input("Columns", 1, 2000, columns, key=f"build_columns_{kind}")
        seed = right.number_input("Seed", 0, 10_000, 0, key="build_seed", help=SEEDED)
    if needed and needed not in packs:
        st.caption(f"Needs a knowledge pack of {needed.replace('_', ' ')}: import one first.")
        return
    if kind == "coresponse":
        st.caption("Built from labels: it is never scored on them, unless it is rebuilt for each fold.")
    if st.button("Build", disabled=not name.strip() or (kind == "coresponse" and context.dataset is None), type="primary"):
        options: dict[str, Any] = {"columns": columns, "seed": seed} if columns else {}
        options |= {"model": actions.MINILM} if kind == "sentences" else {}
        options |= {"dataset": context.dataset.name, "of": "gene"} if kind == "coresponse" and context.dataset else {}
        _run_and_rerun(lambda: actions.embed(context.workspace, kind, name.strip(), options), "Building …")


def _show_delete(context: PageContext, spaces: list[SpaceRecord]) -> None:
    st.markdown("**Delete a space**")
    name = st.selectbox(
        "Space", [s.name for s in spaces], index=None, key="space_gone", placeholder="choose", label_visibility="collapsed"
    )
    st.caption("Runs that were made with it are kept.")
    if st.button("Delete space", disabled=name is None):
        _run_and_rerun(lambda: actions.delete(context.workspace, str(name)), "Deleting …")


def _run_and_rerun(action: Callable[[], object], progress: str) -> None:
    """Run an action that changes the spaces, then the page again, so that it shows the change."""
    with explain_errors():
        with st.spinner(progress):
            action()
        st.rerun()


def _show_packs() -> None:
    st.markdown("### Knowledge packs")
    packs = loaders.all_packs()
    if not packs:
        show_empty("No knowledge pack is here: descriptions, networks, orthologs and more are imported like any file (Import).")
        return
    table = pd.DataFrame(
        [{"pack": p.name, "kind": p.kind.replace("_", " "), "entries": p.entries, "source": p.source} for p in packs]
    )
    entries = st.column_config.NumberColumn(format="localized")
    st.dataframe(table, hide_index=True, height="content", column_config={"entries": entries})
