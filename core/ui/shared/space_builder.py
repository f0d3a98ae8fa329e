"""The sources of gene spaces, and building a space on a page that needs it, with progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.actions import spaces
from core.store.spaces import PackRecord, SpaceRecord
from core.ui.shared import links, loaders, neighbour_controls
from core.ui.shared.confirmation import confirm
from core.ui.shared.shell import PageContext, explain_errors

# Title → kind of space, kind of knowledge pack that it needs, columns (0: as many as the source has).
KINDS = {
    "words of gene descriptions (TF-IDF)": ("text", "descriptions", 200),
    "gene descriptions through MiniLM": ("sentences", "descriptions", 0),
    "neighbourhoods in a network": ("network", "network", 128),
    "a published LPS response": ("response", "lps_response", 0),
    "genes with similar responses in this dataset": ("coresponse", "", 64),
}
_IN_PLACE = ("text", "network", "response")  # the kinds that need neither a large package nor labels


def build(context: PageContext, kind: str, name: str, options: dict[str, Any], link: Callable[[SpaceRecord], object]) -> None:
    """Build a space with progress, and rerun the page with a link to it; or show why it cannot be built."""
    with explain_errors():
        with st.status("Building …") as status:
            space = spaces.embed(context.workspace, kind, name, options, say=lambda text: status.update(label=f"{text} …"))
        confirm(f"Built {space.name}: {space.genes:,} genes, {space.columns:,} columns.", lambda: link(space))
        st.rerun()


def offer(context: PageContext) -> None:
    """Offer to build a gene space from the existing packs; without such a pack, show what to do first."""
    found = {pack.kind: pack for pack in loaders.all_packs()}
    kinds = [(kind, found[needed], columns) for kind, needed, columns in KINDS.values() if kind in _IN_PLACE and needed in found]
    if context.workspace.settings.read_only or not kinds:
        neighbour_controls.show_no_space()
        return
    with st.container(border=True):
        st.markdown("Neighbours need a gene space, and there is none yet. Build one now:")
        for kind, pack, columns in kinds:
            _show_button(context, kind, pack, columns)
        links.to_data("More ways to build one", tab="Spaces and leaks")


def _show_button(context: PageContext, kind: str, pack: PackRecord, columns: int) -> None:
    label = f"Build “{kind}” from {pack.entries:,} {pack.kind.replace('_', ' ')}"
    if st.button(label, key=f"build-space-{kind}", icon=":material/hub:"):
        options = {"columns": columns, "seed": 0} if columns else {}
        build(context, kind, kind, options, lambda _: links.to_data("Spaces", tab="Spaces and leaks"))
