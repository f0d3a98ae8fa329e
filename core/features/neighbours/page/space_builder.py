"""The sources of gene spaces, and building a space on a page that needs it, with progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.base.fields.record import option_of
from core.features.neighbours import spaces
from core.features.neighbours.page.loaders import all_packs
from core.features.neighbours.spaces import SPACE_SETTINGS
from core.store.spaces import PackRecord, SpaceRecord
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.option_controls import names_of_rest
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import show_empty

# Title → kind of space, and kind of knowledge pack that it needs.
KINDS = {
    "words of gene descriptions (TF-IDF)": ("text", "descriptions"),
    "gene descriptions through MiniLM": ("sentences", "descriptions"),
    "neighbourhoods in a network": ("network", "network"),
    "a published LPS response": ("response", "lps_response"),
    "genes with similar responses in this dataset": ("coresponse", ""),
}
# the kinds that need neither a large package nor labels
_IN_PLACE = ("text", "network", "response")


def build(
    context: PageContext,
    kind: str,
    name: str,
    options: dict[str, Any],
    link: Callable[[SpaceRecord], object],
) -> None:
    """Build a space with progress, and rerun the page with a link to it; or show why it cannot be
    built."""
    with explain_errors():
        with st.status("Building …") as status:
            space = spaces.embed(
                context.workspace,
                kind,
                name,
                options,
                say=lambda text: status.update(label=f"{text} …"),
            )
        confirm(
            f"Built {space.name}: {space.genes:,} genes, {space.columns:,} columns.",
            lambda: link(space),
        )


def offer(context: PageContext) -> None:
    """Offer to build a gene space from the existing packs; without such a pack, show what to do
    first."""
    found = {pack.kind: pack for pack in all_packs()}
    kinds = [
        (kind, found[needed])
        for kind, needed in KINDS.values()
        if kind in _IN_PLACE and needed in found
    ]
    if context.read_only or not kinds:
        show_empty(
            "No gene space yet. Build one from a knowledge pack, or import an embedding.",
            lambda: links.to_data("Go to Data", tab="Spaces and leaks"),
        )
        return
    with st.container(border=True):
        st.markdown("Neighbours need a gene space, and there is none yet. Build one now:")
        for kind, pack in kinds:
            _show_button(context, kind, pack)
        links.to_data("More ways to build one", tab="Spaces and leaks")


def settings_of(kind: str) -> list[str]:
    """Return the names of the settings of a kind of space that a form shows."""
    return names_of_rest(SPACE_SETTINGS[kind], ()) if kind in SPACE_SETTINGS else []


def _show_button(context: PageContext, kind: str, pack: PackRecord) -> None:
    label = f"Build “{kind}” from {pack.entries:,} {pack.kind.replace('_', ' ')}"
    if st.button(label, key=f"build-space-{kind}", icon=":material/hub:"):
        options = {
            name: option_of(SPACE_SETTINGS[kind], name).default for name in settings_of(kind)
        }
        build(
            context, kind, kind, options, lambda _: links.to_data("Spaces", tab="Spaces and leaks")
        )
