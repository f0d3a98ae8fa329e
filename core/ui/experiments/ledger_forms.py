"""Forms of the ledger: register a hypothesis, record its result, import published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.actions import ledger
from core.actions.ledger import Registration
from core.experiments.decision import DecisionRule
from core.experiments.ledger import LedgerLine
from core.experiments.ledger_words import SEEN
from core.fields.record import make
from core.store.hypotheses import HERE, Entry
from core.ui.shared import links
from core.ui.shared.confirmation import confirm
from core.ui.shared.linked import choose_one
from core.ui.shared.option_controls import show_settings
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text


def show(context: PageContext, lines: Sequence[LedgerLine]) -> None:
    """Show the forms, unless the workspace is read-only."""
    if context.workspace.settings.read_only:
        return
    waiting = {line.registration.first: line.registration for line in lines if line.registration and line.entry.source == HERE}
    with st.expander("Register a hypothesis", key="ledger-register"):
        _show_registration(context)
    with st.expander("Record a result", key="ledger-record"):
        _show_recording(context, waiting)
    with st.expander("Import published results", key="ledger-import", expanded=not lines):
        _show_import(context)


def _show_registration(context: PageContext) -> None:
    if context.dataset is None:
        st.markdown("A hypothesis needs a dataset, and there is none yet: import one on Data.")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.text_input("Name", key="note-ledger-name", max_chars=120)
        claim = st.text_area("Hypothesis", key="note-ledger-claim", placeholder="the claim", height=68)
        prediction = st.text_area(
            "Prediction", key="note-ledger-prediction", placeholder="the prediction if it is true", height=68
        )
    with right:
        rule = make(DecisionRule, show_settings(DecisionRule, "ledger_", columns=2))
        a, b = _choose_runs(context, "planned", optional=True)
    if st.button("Register", type="primary", key="register-hypothesis", disabled=not (name and claim and prediction)):
        wanted = Registration(name, claim, prediction, rule, a, b, context.dataset.name)
        with explain_errors():
            entry = ledger.register(context.workspace, wanted)
            late = f", {SEEN}" if entry.seen_before else ""
            confirm(f"Registered {entry.name}{late}.", _link_to_changes)
            st.rerun()
    st.caption(
        "A registration cannot be changed. A later one of the same name is added to it, but the rule of the first decides."
    )


def _choose_runs(context: PageContext, name: str, *, optional: bool = False) -> tuple[str, str]:
    """Show the choice of two runs of the dataset, as ids; "" if not chosen."""
    titles = {run.id: run.name for run in context.runs}
    words = "not made yet" if optional else "choose a run"
    sides = (("a", "Baseline run"), ("b", "Run that should beat it"))
    a, b = (
        choose_one(column.selectbox, f"ledger_{name}_{side}", title, titles, index=None, placeholder=words) or ""
        for column, (side, title) in zip(st.columns(2), sides, strict=True)
    )
    return a, b


def _show_recording(context: PageContext, waiting: Mapping[str, Entry]) -> None:
    if not waiting:
        st.markdown("No hypothesis is registered here yet.")
        return
    titles = {key: f"{entry.name} ({entry.dataset})" for key, entry in waiting.items()}
    chosen = choose_one(st.selectbox, "ledger_of", "Hypothesis", titles, index=None, placeholder="choose one")
    if chosen is None:
        return
    registration = waiting[chosen]
    if registration.benchmark is not None:
        st.markdown(
            as_text(f"The benchmark {registration.benchmark} records the result when it is done. Start or resume it there.")
        )
        links.to_page(links.EXPERIMENTS, "Benchmark", tab="Benchmark", benchmark=registration.benchmark)
        return
    has_runs = registration.name_a is not None and registration.name_b is not None
    if has_runs:
        st.markdown(as_text(f"It was registered for {registration.name_b} against {registration.name_a}."))
        a, b = "", ""
    else:
        a, b = _choose_runs(context, "compared")
    st.caption("The result is computed from the two runs.")
    if st.button("Record result", type="primary", key="record-result", disabled=not (has_runs or (a and b))):
        with explain_errors():
            with st.spinner("Comparing …"):
                entry = ledger.record_result(context.workspace, registration.first, a, b)
            late = f", {SEEN}" if entry.seen_before else ""
            confirm(f"{entry.name}: {entry.verdict}{late}.", _link_to_changes)
            st.rerun()


def _show_import(context: PageContext) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("The nine steps of the challenge's published entry, with their public scores and paired z.")
        if st.button("Import the published ladder", key="import-ladder", icon=":material/stairs:"):
            with explain_errors():
                _say_imported(ledger.import_published_ladder(context.workspace))
    with right:
        file = st.file_uploader("A CSV file of hypotheses with their results", ["csv"], key="upload-ledger")
        if st.button("Import file", key="import-ledger-file", disabled=file is None) and file is not None:
            with explain_errors():
                _say_imported(ledger.import_file(context.workspace, file.getvalue(), file.name))


def _say_imported(added: Sequence[Entry]) -> None:
    words = (
        f"Imported {len(added)} entries, published elsewhere." if added else "Nothing new: every line is in the ledger already."
    )
    confirm(words, _link_to_changes)
    st.rerun()


def _link_to_changes() -> None:
    links.to_data("Changes", tab="History")
