"""Ledger: every hypothesis with its verdict, the scores over time, and how to add to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.actions.workspace import Workspace
from core.base.result import fields_of
from core.features.experiments import ledger
from core.features.experiments.decision import DecisionRule
from core.features.experiments.ledger_result import LATE, LedgerResult
from core.fields.record import make
from core.store.hypotheses import HERE, Entry
from core.ui.shared import links, tables
from core.ui.shared.confirmation import confirm
from core.ui.shared.linked import choose_one
from core.ui.shared.option_controls import show_settings
from core.ui.shared.results import show_result
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty


def show(context: PageContext) -> None:
    """Show the ledger of the workspace for all datasets, and the forms that add to it."""
    result = ledger.list_ledger(context.workspace)
    can_write = not context.workspace.settings.read_only
    if result.hypotheses:
        show_result(result, "", "ledger")
        _show_entry(result)
        st.caption("Lines are only added, never changed or deleted.")
    else:
        how = "register one below before its runs are made, or import the published ladder"
        show_empty(f"No hypothesis is registered yet{f': {how}' if can_write else ''}.")
    if not can_write:
        return
    with st.expander("Register a hypothesis", key="ledger-register"):
        _show_registration(context)
    with st.expander("Record a result", key="ledger-record"):
        _show_recording(context, result)
    with st.expander("Import published results", key="ledger-import", expanded=not result.hypotheses):
        _show_import(context.workspace)


def _show_entry(result: LedgerResult) -> None:
    """Show one hypothesis in full."""
    entries = {line.entry.id: line.entry for line in result.hypotheses}
    titles = {key: entry.name for key, entry in entries.items()}
    chosen = choose_one(st.selectbox, "hypothesis", "In full", titles, index=None, placeholder="choose a hypothesis")
    if chosen is None:
        return
    st.markdown(as_text(entries[chosen].hypothesis))
    known = {name: value for name, value in fields_of(entries[chosen]).items() if value is not None}
    rows = [{"what": name.replace("_", " "), "as registered": str(value)} for name, value in known.items()]
    tables.show_table(pd.DataFrame(rows), "ledger-entry")


def _show_registration(context: PageContext) -> None:
    if context.dataset is None:
        st.markdown("A hypothesis needs a dataset, and there is none yet: import one on Data.")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.text_input("Name", key="note-ledger-name", max_chars=120)
        claim = st.text_area("Hypothesis", key="note-ledger-claim", placeholder="the claim", height=68)
        prediction = st.text_area("Prediction", key="note-ledger-prediction", height=68)
    with right:
        rule = make(DecisionRule, show_settings(DecisionRule, "ledger_", columns=2))
        pair = _choose_runs(context, "planned", "not made yet")
    can_add = bool(name and claim and prediction)
    if st.button("Register", type="primary", key="register-hypothesis", disabled=not can_add):
        with explain_errors():
            wanted = ledger.claim(name, claim, prediction, context.dataset.name)
            entry = ledger.register(context.workspace, wanted, rule, pair)
            _confirm(f"Registered {entry.name}{_late(entry)}.")
    st.caption("A registration cannot be changed; of several of one name, the first decides.")


def _choose_runs(context: PageContext, name: str, placeholder: str) -> tuple[str, str]:
    """Show the choice of two runs of the dataset, as ids; "" if not chosen."""
    titles = {run.id: run.name for run in context.runs}
    columns = st.columns(2)

    about: dict[str, Any] = {"titles": titles, "index": None, "placeholder": placeholder}
    a = choose_one(columns[0].selectbox, f"ledger_{name}_a", "Baseline run", **about)
    b = choose_one(columns[1].selectbox, f"ledger_{name}_b", "Run that should beat it", **about)
    return a or "", b or ""


def _show_recording(context: PageContext, result: LedgerResult) -> None:
    registered = {
        line.registration.first: line.registration
        for line in result.hypotheses
        if line.registration and line.entry.source == HERE and not line.registration.benchmark
    }
    if not registered:
        st.markdown("No hypothesis is registered here yet. Experiments record theirs by themselves.")
        return
    titles = {key: f"{entry.name} ({entry.dataset})" for key, entry in registered.items()}
    about = {"index": None, "placeholder": "choose one"}
    chosen = choose_one(st.selectbox, "ledger_of", "Hypothesis", titles, **about)
    if chosen is None:
        return
    entry, pair = registered[chosen], ("", "")
    has_runs = entry.name_a is not None and entry.name_b is not None
    if has_runs:
        st.markdown(as_text(f"It was registered for {entry.name_b} against {entry.name_a}."))
    else:
        pair = _choose_runs(context, "compared", "choose a run")
    st.caption("The result is computed from the two runs.")
    can_record = has_runs or all(pair)
    if st.button("Record result", type="primary", key="record-result", disabled=not can_record):
        with explain_errors():
            with st.spinner("Comparing …"):
                recorded = ledger.record(context.workspace, entry.first, pair)
            _confirm(f"{recorded.name}: {recorded.verdict}{_late(recorded)}.")


def _show_import(workspace: Workspace) -> None:
    left, right = st.columns(2, gap="medium")
    left.markdown("The nine steps of the challenge's published entry, with their public scores and z.")
    if left.button("Import the published ladder", key="import-ladder", icon=":material/stairs:"):
        _import(lambda: ledger.import_published_ladder(workspace))
    about = "A CSV file of hypotheses with their results"
    file = right.file_uploader(about, ["csv"], key="upload-ledger")
    if right.button("Import file", key="import-ledger-file", disabled=file is None) and file:
        _import(lambda: ledger.import_file(workspace, file.getvalue(), file.name))


def _import(act: Callable[[], Sequence[Entry]]) -> None:
    with explain_errors():
        added = act()
        _confirm(
            f"Imported {len(added)} entries, published elsewhere."
            if added
            else "Nothing new: every line is in the ledger already."
        )


def _late(entry: Entry) -> str:
    return f", {LATE}" if entry.seen_before else ""


def _confirm(words: str) -> None:
    confirm(words, lambda: links.to_data("Changes", tab="History"))
    st.rerun()
