"""A row asked again here and now, where the panel starts workers."""

from __future__ import annotations

from core.features.asking.askings import AgainPlan
from core.features.asking.changed_cards import CardChange
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.launch import run_to_end
from core.runs.workspace import Workspace
from core.store import evidence, runs


def make_all(workspace: Workspace, plan: AgainPlan) -> list[str]:
    """Make the runs of a plan, and return their ids."""
    made = []
    for request, spec in plan.arms:
        loader = WorkspaceComponents(workspace, default_dataset(workspace, spec.dataset))
        made.append(run_to_end(workspace, request, spec, components=loader).id)
    return made


def without(workspace: Workspace, run: str, row: str, tool: str) -> tuple[CardChange, ...]:
    """Leave out every card of a tool. run: a name or id."""
    with workspace.store.read() as db:
        cards = evidence.of_row(db, runs.find(db, run).id, row)
    return tuple(CardChange(tool, card["key"]) for card in cards if card["tool"] == tool)
