"""On a row: the findings in its texts, by rule and as the newest finished reading of each kind lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from core.actions.workspace import Workspace
from core.features.arguments.claim_checks import DECIDES
from core.features.arguments.claim_knowledge import NOTHING, ClaimKnowledge, load_knowledge
from core.features.arguments.finding_kinds import FindingKind, kinds
from core.features.arguments.findings import OF_TEXT, by_model, by_rule
from core.store import Cursor, predictions, runs, traces
from core.store.runs import Run
from core.ui.shared import loaders, tables
from core.ui.shared.background import Result, background
from core.ui.shared.shell import draw_until_ready

SPEECHES = ("brief", "rebuttal")


def show(workspace: Workspace, run: Run, pair: str, readings: Sequence[str]) -> None:
    """Show the findings of each kind in an expander; nothing of a kind without one, or that no pack can check."""
    for kind in kinds().values():
        knowledge: ClaimKnowledge | None = NOTHING
        if kind.checks:
            can_check = any(pack.kind in DECIDES for pack in loaders.all_packs())
            knowledge = _knowledge(workspace, run.dataset) if can_check else None
        if knowledge is not None:
            with workspace.store.read() as db:
                rows = findings_of_row(db, run, pair, readings, kind, knowledge)
            if rows:
                with st.expander(f"{kind.name.capitalize()} ({len(rows)})"):
                    tables.show_table(pd.DataFrame(rows).dropna(axis=1, how="all"), f"row-{kind.name}")


def _knowledge(workspace: Workspace, dataset: str) -> ClaimKnowledge | None:
    """Return the packs' knowledge once a thread has read it, so that no row waits for it; the page is drawn again then."""

    def compute(_progress: Callable[[float], object]) -> ClaimKnowledge:
        return load_knowledge(workspace, dataset)

    def ask() -> Result:
        return background().ask(("claim knowledge", dataset, loaders.versions_of([])), compute)

    draw_until_ready(lambda: None, lambda: ask().ready)
    if ask() == Result(ready=True):
        st.caption("The knowledge packs could not be read, so claims are not checked: the log says why.")
    found: ClaimKnowledge | None = ask().value
    return found


def findings_of_row(
    db: Cursor, run: Run, pair: str, readings: Sequence[str], kind: FindingKind, knowledge: ClaimKnowledge
) -> list[dict[str, object]]:
    """Return the findings of a row as rows of a table, with who lists each: "rule", "model" or both.

    One that only answers the question of the row is left out unless a pack decides it.
    """
    found = {}
    if kind.rule is not None:
        row, events = predictions.row(db, run.id, pair), list(enumerate(traces.of_row(db, run.id, pair)))
        speeches = [(seq, event) for seq, event in events if event["kind"] in SPEECHES]
        places = [(pair, row["pert"], row["gene"], seq, event["stage"], event["role"]) for seq, event in speeches]
        texts = pd.DataFrame(places, columns=[*OF_TEXT])
        found["rule"] = by_rule(kind, texts, [event["content"] for _, event in speeches], knowledge)[1]
    newest = next((each for each in readings if runs.find(db, each).spec["options"].get("schema") == kind.schema.text), None)
    if newest is not None:
        found["model"] = by_model(db, kind, newest, knowledge, pair)[1]
    key = ["seq", *kind.schema.key]
    listed = pd.concat([frame.assign(by=by) for by, frame in found.items()]) if found else pd.DataFrame(columns=["by", *key])
    by = listed.groupby(key, sort=False)["by"].agg(", ".join).to_dict()
    once = listed.drop_duplicates(key, keep="last").to_dict("records")
    told = [finding for finding in once if not finding["is_answer"] or finding["pack"]]
    return [{**kind.row(finding), "listed by": by[tuple(finding[name] for name in key)]} for finding in told]
