"""Ledger: every hypothesis with its verdict, the scores over time, and how to add to it."""

from __future__ import annotations

import streamlit as st

from core.base.fields.record import make
from core.features.experiments import ledger
from core.features.experiments.decision import DecisionRule
from core.features.experiments.ledger_result import LATE
from core.features.experiments.ledger_table import HERE, Entry
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.linked import choose_one
from core.ui.option_controls import show_settings
from core.ui.results import show_result
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import show_empty


def show(context: PageContext) -> None:
    """Show the ledger of the workspace for all datasets, and the forms that add to it."""
    result = ledger.list_ledger(context.workspace)
    can_write = not context.workspace.settings.read_only
    if result.hypotheses:
        show_result(result, "", "ledger")
        st.caption("Lines are only added, never changed or deleted.")
    else:
        how = "register one below before its runs are made, or import the published ladder"
        show_empty(f"No hypothesis is registered yet{f': {how}' if can_write else ''}.")
    if not can_write:
        return
    with st.expander("Register a hypothesis", key="ledger-register"):
        _show_registration(context)
    with st.expander("Record a result", key="ledger-record"):
        entries = [
            line.entry
            for line in result.hypotheses
            if line.entry.source == HERE and not line.entry.experiment
        ]
        by_key = {f"{entry.name} ({entry.dataset})": entry for entry in entries}
        titles = {
            key: f"{key}: {entry.name_b} against {entry.name_a}" for key, entry in by_key.items()
        }
        chosen = choose_one(
            st.selectbox, "ledger_of", "Hypothesis", titles, index=None, placeholder="choose one"
        )
        st.caption("The result is computed from the two runs.")
        if (
            st.button("Record result", type="primary", key="record-result", disabled=chosen is None)
            and chosen
        ):
            with explain_errors():
                with st.spinner("Comparing …"):
                    recorded = ledger.record(
                        context.workspace, by_key[chosen].name, str(by_key[chosen].dataset)
                    )
                _confirm(f"{recorded.name}: {recorded.verdict}{_late(recorded)}.")
    with st.expander(
        "Import published results", key="ledger-import", expanded=not result.hypotheses
    ):
        st.markdown(
            "The nine steps of the challenge's published entry, with their public scores and z."
        )
        if st.button("Import the published ladder", key="import-ladder", icon=":material/stairs:"):
            with explain_errors():
                added = ledger.import_published_ladder(context.workspace)
                words = f"Imported {len(added)} entries, published elsewhere."
                _confirm(words if added else "Every line is in the ledger already.")
        st.caption("`perturbdesk ledger import FILE` imports what others published.")


def _show_registration(context: PageContext) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.text_input("Name", key="note-ledger-name", max_chars=120)
        claim = st.text_area(
            "Hypothesis", key="note-ledger-claim", placeholder="the claim", height=68
        )
        prediction = st.text_area("Prediction", key="note-ledger-prediction", height=68)
    with right:
        rule = make(DecisionRule, show_settings(DecisionRule, "ledger_", columns=2))
        titles = {run.id: run.name for run in context.runs}
        base = choose_one(st.selectbox, "ledger_base", "Baseline run", titles, index=None)
        tested = st.text_input(
            "Run that should beat it",
            key="note-ledger-tested",
            placeholder="its name, also if it is to come",
        )
    can_add = bool(name and claim and prediction and base and tested)
    if st.button("Register", type="primary", key="register-hypothesis", disabled=not can_add):
        with explain_errors():
            wanted = ledger.claim(name, claim, prediction)
            entry = ledger.register(context.workspace, wanted, rule, (str(base), tested))
            _confirm(f"Registered {entry.name}{_late(entry)}.")
    st.caption("A registration cannot be changed.")


def _late(entry: Entry) -> str:
    return f", {LATE}" if entry.seen_before else ""


def _confirm(words: str) -> None:
    confirm(words, lambda: links.to_data("Changes", tab="History"))
