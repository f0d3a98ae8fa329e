"""The claims of a run's texts, found by rules or read by a model, and checked against the knowledge packs of the workspace."""

from __future__ import annotations

from core.actions import readings
from core.actions.claim_knowledge import load_knowledge
from core.actions.workspace import Workspace
from core.audit.rules.claims import RULE
from core.scoring.claim_counts import (
    RunClaims,
    count_claims,
    load_model_claims,
    read_by_rules,
    with_precision,
    with_rates,
    with_worth,
)
from core.scoring.run_texts import load_texts
from core.store import runs

BRIEFS = "brief"


def claims_of_run(workspace: Workspace, run: str, judge: readings.Judge = "rule", reading: str | None = None) -> RunClaims:
    """Return the claims of a run's texts: of its briefs, or for rules of the first kind that it has.

    reading: a finished reading by a model, its name or id; by default the newest. Raise what `load_texts` and `load_knowledge`
    do; for a model InputError for a reading of something else, NotFound if none is finished.
    """
    with workspace.store.read() as db:
        of = runs.find_predicting(db, run)
        chosen = readings.find_reading(workspace, db, RULE.rubric, of, reading) if judge == "model" else None
        loaded = load_texts(db, run, BRIEFS if chosen else "")
    symbols, knowledge = load_knowledge(workspace, loaded.run.dataset)
    if chosen is None:
        found = count_claims(read_by_rules(loaded, symbols), knowledge)
    else:
        with workspace.store.read() as db:
            found = load_model_claims(db, loaded, chosen, symbols, knowledge)
    with workspace.store.read() as db:
        found = with_precision(db, with_worth(db, found))
        return with_rates(db, found) if loaded.kind == BRIEFS else found
