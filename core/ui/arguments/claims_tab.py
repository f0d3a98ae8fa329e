"""Arguments, tab Claims: statements about genes, such as "X activates Y", checked against the knowledge packs."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from core.actions.claims import BRIEFS, claims_of_run
from core.audit.claim_checks import DECIDES
from core.audit.rules.claims import RIGHT_CLAIM, RULE
from core.scoring.claim_counts import RunClaims
from core.scoring.claim_words import counts_table, describe
from core.store.runs import Run
from core.ui.arguments import choices, rubric_forms
from core.ui.shared import links, loaders, tables
from core.ui.shared.background import Result, background
from core.ui.shared.linked import choose_one
from core.ui.shared.run_choice import method_text
from core.ui.shared.server_workspace import read_workspace
from core.ui.shared.shell import PageContext, draw_until_ready
from core.ui.shared.widgets import as_text, show_empty

_RULES = "rules"
_MOST_SHOWN = 1_000  # claims in the table; the command lists all


def show(context: PageContext, run: Run) -> None:
    """Show the choice of reader and claims, the counts by role, and each claim with its row."""
    if not loaders.text_counts(run.id):
        show_empty(f"This run's method is {as_text(method_text(run.method))}, which writes no texts and makes no claims.")
        return
    read = _choose_reading(run)
    draw_until_ready(lambda: _draw(run, read), lambda: _ask(run, read).ready)
    if BRIEFS in loaders.text_counts(run.id):
        rubric_forms.show_reading(context, run, RULE.rubric)


def _choose_reading(run: Run) -> str | None:
    """Show the choice of the reader; return None for the rules, or the id of a finished reading by a model."""
    finished = choices.finished_readings(run, RULE.rubric)
    titles = {_RULES: "rules"} | {each.id: f"{each.model or 'a model'}: {each.name}" for each in finished}
    chosen = choose_one(st.selectbox, "claims_reader", "Read by", titles, _RULES) if finished else None
    return None if chosen == _RULES else chosen


def _ask(run: Run, reading: str | None) -> Result:
    def compute(_progress: Callable[[float], object]) -> RunClaims:
        return claims_of_run(read_workspace(), run.id, "model" if reading else "rule", reading)

    return background().ask(("claims", run.id, reading, loaders.label_version(run.id)), compute)


def _draw(run: Run, reading: str | None) -> None:
    found = _ask(run, reading)
    if not found.ready:
        st.caption("Reading the texts. Some thousand texts take some seconds.")
    elif found.value is None:
        st.error("The texts could not be read: the log says why.")
    else:
        _show(run, found.value)


def _show(run: Run, found: RunClaims) -> None:
    st.markdown(as_text(" ".join(describe(found))))
    labelled = (("Label briefs", RULE.name, found.rates), ("Label claims", RIGHT_CLAIM.name, found.precision))
    with st.container(horizontal=True):
        for label, rubric, rates in labelled:
            if rates is not None:
                links.to_page(links.ARGUMENTS, label, dataset=run.dataset, run=run.id, tab="Label", rubric=rubric)
    number = st.column_config.NumberColumn
    tables.show_table(
        pd.DataFrame(counts_table(found)),
        "claims by role",
        {name: number(name, format="localized", help=help_) for name, help_ in _COUNTED.items()},
    )
    if found.worth is not None:
        st.caption(as_text(found.worth.sentence))
    claims = found.claims[~found.claims["is_answer"]]
    if claims.empty:
        return
    shown = claims.head(_MOST_SHOWN)
    st.caption(f"{len(shown):,} of {len(claims):,} claims. Claims that only answer their own row's question are left out.")
    row = [links.page_address("rows", dataset=run.dataset, run=run.id, row=pair_id) for pair_id in shown["pair_id"]]
    known = (shown["pack"] + ": " + shown["entry"]).where(shown["pack"] != "", "")
    table = shown[["subject", "relation", "object", "status"]].assign(known=known, role=shown["role"], row=row)
    if found.reading is not None:
        table = table.assign(quote=shown["quote"])
    help_ = "; ".join(f"{kind}: {decides}" for kind, decides in DECIDES.items())
    columns = {
        "known": st.column_config.TextColumn("pack entry", help=help_),
        "row": st.column_config.LinkColumn("row", display_text=r"row=([^&]+)"),
    }
    tables.show_table(table, "claims", columns)


_COUNTED = {
    "texts": "Texts of the role.",
    "claiming": "Texts that claim something.",
    "answers": "Claims that the row's perturbation acts on its gene: the question itself. No other column counts them.",
    "supported": "Claims that a pack lists.",
    "contradicted": "Claims whose opposite a pack lists.",
    "not known": "Claims about pairs that no pack lists.",
}
