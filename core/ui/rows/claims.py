"""The claims about genes in the briefs of a row, below each brief. The packs are read in the background, so that no row waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.actions.claim_knowledge import ClaimKnowledge, load_knowledge
from core.audit.claim_checks import DECIDES
from core.plots import theme
from core.scoring.row_claims import SPEECHES, RowClaim, claims_of_row
from core.types import Pair
from core.ui.shared import loaders
from core.ui.shared.background import Result, background
from core.ui.shared.loaders import RowDetails
from core.ui.shared.server_workspace import read_workspace
from core.ui.shared.shell import draw_until_ready
from core.ui.shared.widgets import as_text, coloured_text, symbol_text

_SIGNS: Mapping[str, tuple[str, str]] = {
    "supported": ("✓", theme.CHOSEN),
    "contradicted": ("✗", theme.WARNING),
    "not known": ("?", theme.NONE),
}


def find(details: RowDetails) -> Mapping[str, Sequence[RowClaim]]:
    """Return the claims of each brief and rebuttal of a row, by its text; none without a pack that can check them, or before the
    packs are read.
    """
    row, events = details.numbers, details.events
    if not _can_be_checked(events):
        return {}
    known = _ask(str(row["dataset"]))
    if known.value is None:
        return {}
    pair = Pair(row["pair_id"], row["pert"], row["gene"], None, row["split"])
    return claims_of_row(pair, events, details.claims, *known.value)


def wait(details: RowDetails) -> None:
    """Redraw the page once the packs are read if the row has claims to check; show a message if they cannot be read."""
    if not _can_be_checked(details.events):
        return
    dataset = str(details.numbers["dataset"])
    draw_until_ready(lambda: None, lambda: _ask(dataset).ready)
    if _ask(dataset) == Result(ready=True):
        st.caption("The knowledge packs could not be read, so claims are not checked: the log says why.")


def show(claims: Sequence[RowClaim]) -> None:
    """Show the claims of a text, one per line, with their status; leave out answers to the row's question with unknown status."""
    shown = [each for each in claims if not each.is_answer or each.verdict.status != "not known"]
    if shown:
        st.caption("\\\n".join(map(_line, shown)))


def _line(found: RowClaim) -> str:
    status, pack, entry = found.verdict
    sign, colour = _SIGNS[status]
    subject, relation, object_ = found.claim
    known = as_text(f"{status}, {pack}: {entry}" if pack else status)
    more = ["the question of this row"] * found.is_answer + ["by the model alone"] * (found.readers == ("model",))
    return (
        f"{coloured_text(sign, colour)} {symbol_text(subject)} {as_text(relation)} {symbol_text(object_)} · {known}"
        f"{''.join(f' · {each}' for each in more)}"
    )


def _can_be_checked(events: Sequence[Mapping[str, Any]]) -> bool:
    has_speeches = any(event["kind"] in SPEECHES for event in events)
    return has_speeches and any(pack.kind in DECIDES for pack in loaders.all_packs())


def _ask(dataset: str) -> Result:
    def compute(_progress: Callable[[float], object]) -> ClaimKnowledge:
        return load_knowledge(read_workspace(), dataset)

    return background().ask(("claim knowledge", dataset, loaders.versions_of([])), compute)
