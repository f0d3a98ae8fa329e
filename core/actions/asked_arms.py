"""Arms that ask the rows of a run again: whether that still asks the same, and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core.actions import launch
from core.actions.workspace import Workspace
from core.engine.request import Expectation, expect, expected_calls
from core.engine.spec import RunSpec
from core.errors import StateError
from core.methods.base import method_named
from core.store.runs import Run


class AsksServer(Protocol):
    """A request that says which model server is asked, and how many calls it waits for."""

    @property
    def endpoint(self) -> str | None:
        """The address; None: that of the settings."""
        ...

    @property
    def concurrency(self) -> int:
        """How many calls at once."""
        ...


def refuse_changed(run: Run, again: RunSpec) -> None:
    """Raises StateError where asking again would not ask the same, since the method, the rows or the packs changed."""
    read = {name: sha256 for name, sha256 in run.spec.get("packs", {}).items() if name in again.packs}
    compared = {
        "its method's version": (run.spec.get("version"), again.version),
        "its method's prompts": (run.spec.get("prompts_sha256", ""), again.prompts_sha256),
        "the rows or labels of its dataset": (run.spec.get("dataset_sha256"), again.dataset_sha256),
        "the knowledge packs": (read, dict(again.packs)),
    }
    changed = [what for what, (before, now) in compared.items() if before != now]
    if changed:
        raise StateError(
            f"run {run.name}: {' and '.join(changed)} changed since it was made, so asking again would ask something else; "
            "expected a run that was made with what is here now"
        )


def cost_of(workspace: Workspace, left: Sequence[RunSpec], first: RunSpec, request: AsksServer) -> Expectation:
    """Returns what the arms that are left will take. first: of any arm."""
    calls = sum(expected_calls(method_named(spec.method), spec.options, len(spec.rows)) for spec in left)
    rate = launch.rate_of(workspace, first.method, first.model)
    return expect(calls, request.concurrency, rate, launch.price_of(workspace, request.endpoint, first.model))
